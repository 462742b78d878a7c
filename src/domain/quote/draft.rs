//! A request for a route as a person writes it, on the command line or in the dashboard's form; and the quote in words.
//!
//! A request that the service can only refuse must never pass, and an address must never be shortened.

use chrono::{DateTime, Utc};

use super::{Amount, Quote, QuoteRequest};
use crate::domain::{chains, deadline::Deadline, span, text};

macro_rules! parts {
    ($($field:ident $name:literal,)*) => {
        /// A field of a request.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum QuoteField { $(#[doc = concat!("`", $name, "`.")] $field,)* }

        impl QuoteField {
            /// All fields, in the order in which a person writes them.
            pub const ALL: [Self; 7] = [$(Self::$field,)*];

            /// Returns the service's name for the field (`service.md` 4.2).
            pub fn name(self) -> &'static str {
                match self { $(Self::$field => $name,)* }
            }
        }
    };
}

parts! {
    FromChain "fromChain",
    FromToken "fromToken",
    FromAmount "fromAmount",
    ToChain "toChain",
    ToToken "toToken",
    FromAddress "fromAddress",
    ToAddress "toAddress",
}

/// The input of a person, not yet checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QuoteDraft<'a> {
    /// The source chain's ID.
    pub from_chain: &'a str,
    /// The source token's address.
    pub from_token: &'a str,
    /// The amount: an integer in the token's smallest unit.
    pub from_amount: &'a str,
    /// The destination chain's ID.
    pub to_chain: &'a str,
    /// The destination token's address.
    pub to_token: &'a str,
    /// The user's address on the source chain.
    pub from_address: &'a str,
    /// The recipient's address; `None` if it is the user's address.
    pub to_address: Option<&'a str>,
    /// Whether only a price is wanted.
    pub is_quote_only: bool,
}

/// An error in one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuoteFieldError {
    pub field: QuoteField,
    /// The reason and the way out.
    pub reason: String,
}

impl QuoteDraft<'_> {
    /// Returns the request, or all errors in the input. With `allows_any_chain`, unknown chain IDs are accepted.
    ///
    /// # Errors
    /// If the service could only refuse the request.
    pub(crate) fn request(&self, allows_any_chain: bool) -> Result<QuoteRequest, Vec<QuoteFieldError>> {
        let mut errors = Vec::new();
        let mut add_error = |field, reason: String| errors.push(QuoteFieldError { field, reason });
        let chain = |text: &str| chains::parse(text, allows_any_chain).map_err(|error| error.to_string());
        let from_chain = chain(self.from_chain).map_err(|reason| add_error(QuoteField::FromChain, reason)).ok();
        let from_token =
            address(self.from_token).map_err(|reason| add_error(QuoteField::FromToken, reason)).unwrap_or_default();
        let amount =
            Amount::parse(self.from_amount).map_err(|error| add_error(QuoteField::FromAmount, error.to_string())).ok();
        let to_chain = chain(self.to_chain).map_err(|reason| add_error(QuoteField::ToChain, reason)).ok();
        let to_token =
            address(self.to_token).map_err(|reason| add_error(QuoteField::ToToken, reason)).unwrap_or_default();
        let from_address =
            address(self.from_address).map_err(|reason| add_error(QuoteField::FromAddress, reason)).unwrap_or_default();
        let to_address = match self.to_address {
            Some(text) => address(text).map_err(|reason| add_error(QuoteField::ToAddress, reason)).unwrap_or_default(),
            None => from_address.clone(),
        };
        match (from_chain, to_chain, amount) {
            (Some(from_chain), Some(to_chain), Some(from_amount)) if errors.is_empty() => Ok(QuoteRequest {
                from_address,
                from_chain,
                from_token,
                from_amount,
                to_chain,
                to_token,
                to_address,
                is_quote_only: self.is_quote_only,
            }),
            _ => Err(errors),
        }
    }
}

/// Checks an address. Addresses are opaque, but they contain no blanks and must not be cut.
fn address(raw: &str) -> Result<String, String> {
    let clean = text::clean(raw);
    match clean.as_str() {
        "" => Err("it is empty; give the address".into()),
        _ if clean != raw.trim() || clean.contains(' ') => Err(format!("`{clean}` can't be an address; check it")),
        _ => Ok(clean),
    }
}

impl QuoteRequest {
    /// Returns a warning if the user's address doesn't look like an address of the source chain: a refund would be paid
    /// to it.
    pub fn address_warning(&self) -> Option<String> {
        let is_evm_chain = self.from_chain.as_str().bytes().all(|byte| byte.is_ascii_digit());
        let digits = self.from_address.strip_prefix("0x").unwrap_or_default();
        let is_evm = digits.len() == 40 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        (is_evm_chain && !is_evm).then(|| {
            let (address, chain) = (&self.from_address, &self.from_chain);
            format!("`{address}` doesn't look like an address on chain {chain}; a refund would be paid to it")
        })
    }
}

impl Quote {
    /// Returns the facts about the quote for a person, as names and texts. `now` is the assumed submission time.
    pub fn facts(&self, request: &QuoteRequest, now: DateTime<Utc>) -> Vec<(&'static str, String)> {
        let estimate = self.estimate.map(|estimate| format!("{} s ({})", estimate.as_secs_f64(), span::long(estimate)));
        let none = || "(not given)".to_owned();
        let deadline = Deadline::new(Some(now), now, self.estimate);
        let basis = deadline.basis();
        let (wait, remark) = basis
            .split_once("; ")
            .map_or((basis.as_str(), String::new()), |(wait, remark)| (wait, format!("; {remark}")));
        let kind = if request.is_quote_only { "pricing only (quoteOnly)" } else { "with call data" };
        vec![
            ("quoteId", self.quote_id.clone().unwrap_or_else(none)),
            ("estimate", estimate.unwrap_or_else(none)),
            ("support after", format!("{wait} from sending on{remark}")),
            ("refund to", format!("{}, if it is an intents route that fails", request.from_address)),
            ("kind", kind.to_owned()),
        ]
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::domain::{fixtures, ids::ChainId};

    const VALID: QuoteDraft<'_> = QuoteDraft {
        from_chain: "42161",
        from_token: "0xaf88",
        from_amount: "25",
        to_chain: "8453",
        to_token: "0x8335",
        from_address: "0xabc",
        to_address: None,
        is_quote_only: true,
    };

    #[test]
    fn all_errors_are_returned_at_once_in_the_order_of_the_form() {
        let request = VALID.request(false).unwrap();
        assert_eq!((request.to_address.as_str(), request.from_amount.as_str()), ("0xabc", "25"));
        let draft = QuoteDraft { from_chain: "base", from_amount: "1.5", to_token: "", to_address: Some(""), ..VALID };
        let errors = draft.request(false).unwrap_err();
        let fields: Vec<QuoteField> = errors.iter().map(|error| error.field).collect();
        assert_eq!(fields, [QuoteField::FromChain, QuoteField::FromAmount, QuoteField::ToToken, QuoteField::ToAddress]);
        assert!(errors.iter().any(|error| error.reason.contains("8453")), "{errors:?}");
    }

    #[test]
    fn an_address_is_opaque_and_never_cut() {
        assert_eq!(address(" 0xAb "), Ok("0xAb".into()));
        for wrong in ["", " ", "0x a", "0x\u{200b}a"] {
            assert!(address(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn an_address_unlike_its_chain_gets_a_warning() {
        let wallet = "0xAbc0000000000000000000000000000000000abc";
        let table =
            [("1", wallet, false), ("1", "nonsense", true), ("1", "0xabc", true), ("osmosis-1", "osmo1", false)];
        for (chain, from_address, odd) in table {
            let from_chain = ChainId::new(chain);
            let request = QuoteRequest { from_chain, ..fixtures::quote_request(from_address) };
            assert_eq!(request.address_warning().is_some(), odd, "{chain} {from_address}");
        }
    }

    #[test]
    fn the_facts_contain_the_quote_and_its_deadline() {
        let quote =
            Quote { quote_id: Some("5f2a".into()), estimate: Some(Duration::from_secs(900)), ..Quote::default() };
        let facts = quote.facts(&VALID.request(false).unwrap(), DateTime::UNIX_EPOCH);
        assert_eq!(facts[0], ("quoteId", "5f2a".into()));
        assert_eq!((facts[1].1.as_str(), facts[2].1.as_str()), ("900 s (15m)", "30m = 2 x est. 15m from sending on"));
    }
}
