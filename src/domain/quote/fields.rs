//! A request for a route as a person writes it, on the command line or in the dashboard's form; and the quote in words.
//!
//! A request that the service can only refuse must never pass, and an address must never be shortened.

use chrono::{DateTime, Utc};

use super::{Amount, Quote, QuoteRequest};
use crate::domain::{chains, deadline::Deadline, ids::ChainId, span, text};

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

/// An error in one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuoteFieldError {
    pub field: QuoteField,
    /// The reason and the way out.
    pub reason: String,
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

/// Returns the parsed value of a field; `None` after adding its error.
fn value_or_add_error<T>(
    errors: &mut Vec<QuoteFieldError>,
    field: QuoteField,
    parsed: Result<T, impl ToString>,
) -> Option<T> {
    parsed.map_err(|error| errors.push(QuoteFieldError { field, reason: error.to_string() })).ok()
}

impl QuoteRequest {
    /// Returns the request with a person's values, or all errors in them. `value` returns the text of a field; `None` for
    /// a missing recipient's address, which is then the user's address. With `allows_any_chain`, unknown chain IDs are
    /// accepted.
    ///
    /// # Errors
    /// If the service could only refuse the request.
    pub(crate) fn parse<'a>(
        value: impl Fn(QuoteField) -> Option<&'a str>,
        is_quote_only: bool,
        allows_any_chain: bool,
    ) -> Result<Self, Vec<QuoteFieldError>> {
        let mut errors = Vec::new();
        let text = |field| value(field).unwrap_or_default();
        let chain_of = |errors: &mut Vec<_>, field| {
            value_or_add_error(errors, field, chains::parse(text(field), allows_any_chain))
        };
        let address_of =
            |errors: &mut Vec<_>, field| value_or_add_error(errors, field, address(text(field))).unwrap_or_default();
        let from_chain = chain_of(&mut errors, QuoteField::FromChain);
        let from_token = address_of(&mut errors, QuoteField::FromToken);
        let amount =
            value_or_add_error(&mut errors, QuoteField::FromAmount, Amount::parse(text(QuoteField::FromAmount)));
        let to_chain = chain_of(&mut errors, QuoteField::ToChain);
        let to_token = address_of(&mut errors, QuoteField::ToToken);
        let from_address = address_of(&mut errors, QuoteField::FromAddress);
        let to_address = match value(QuoteField::ToAddress) {
            Some(_) => address_of(&mut errors, QuoteField::ToAddress),
            None => from_address.clone(),
        };
        if let (None, Some(from), Some(to)) = (value(QuoteField::ToAddress), &from_chain, &to_chain)
            && from != to
            && !(has_evm_addresses(from) && has_evm_addresses(to))
        {
            let reason =
                format!("an address on chain {from} isn't one on chain {to}; give the recipient's address there");
            errors.push(QuoteFieldError { field: QuoteField::ToAddress, reason });
        }
        match (from_chain, to_chain, amount) {
            (Some(from_chain), Some(to_chain), Some(from_amount)) if errors.is_empty() => Ok(Self {
                from_address,
                from_chain,
                from_token,
                from_amount,
                to_chain,
                to_token,
                to_address,
                is_quote_only,
            }),
            _ => Err(errors),
        }
    }

    /// Returns a warning for each address that doesn't look like an address of its chain: a refund would be paid to the
    /// user's, the tokens to the recipient's.
    pub fn address_warnings(&self) -> Vec<String> {
        let ends =
            [(&self.from_address, &self.from_chain, "a refund"), (&self.to_address, &self.to_chain, "the transfer")];
        let is_odd = |(address, chain, _): &(&String, &ChainId, _)| {
            let digits = address.strip_prefix("0x").unwrap_or_default();
            let is_evm = digits.len() == 40 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
            is_evm != has_evm_addresses(chain)
        };
        let warn = |(address, chain, payment)| {
            format!("`{address}` doesn't look like an address on chain {chain}; {payment} would be paid to it")
        };
        ends.into_iter().filter(is_odd).map(warn).collect()
    }
}

/// Whether a chain's addresses are those of EVM chains: its ID is a number.
fn has_evm_addresses(chain: &ChainId) -> bool {
    chain.as_str().bytes().all(|byte| byte.is_ascii_digit())
}

impl Quote {
    /// Returns the facts about the quote for a person, as names and texts. `now` is the assumed submission time.
    pub fn facts(&self, request: &QuoteRequest, now: DateTime<Utc>) -> Vec<(&'static str, String)> {
        let estimate = self.estimate.map(|estimate| format!("{} s ({})", estimate.as_secs_f64(), span::long(estimate)));
        let none = || "(not given)".to_owned();
        let basis = Deadline::new(Some(now), now, self.estimate).basis();
        let support_after = match basis.split_once("; ") {
            Some((wait, remark)) => format!("{wait} after sending; {remark}"),
            None => format!("{basis} after sending"),
        };
        let kind = if request.is_quote_only { "pricing only (quoteOnly)" } else { "with transaction data" };
        vec![
            ("quoteId", self.quote_id.clone().unwrap_or_else(none)),
            ("estimate", estimate.unwrap_or_else(none)),
            ("support after", support_after),
            ("refund to", format!("{}, if it is an intents route that fails", request.from_address)),
            ("kind", kind.to_owned()),
        ]
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::domain::fixtures;

    fn valid(field: QuoteField) -> Option<&'static str> {
        match field {
            QuoteField::FromChain => Some("42161"),
            QuoteField::FromToken => Some("0xaf88"),
            QuoteField::FromAmount => Some("25"),
            QuoteField::ToChain => Some("8453"),
            QuoteField::ToToken => Some("0x8335"),
            QuoteField::FromAddress => Some("0xabc"),
            QuoteField::ToAddress => None,
        }
    }

    #[test]
    fn all_errors_are_returned_at_once_in_the_order_of_the_form() {
        let request = QuoteRequest::parse(valid, true, false).unwrap();
        assert_eq!((request.to_address.as_str(), request.from_amount.as_str()), ("0xabc", "25"));
        let wrong = |field| match field {
            QuoteField::FromChain => Some("base"),
            QuoteField::FromAmount => Some("1.5"),
            QuoteField::ToToken | QuoteField::ToAddress => Some(""),
            other => valid(other),
        };
        let errors = QuoteRequest::parse(wrong, true, false).unwrap_err();
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
        let table = [
            ("1", wallet, false),
            ("1", "nonsense", true),
            ("1", "0xabc", true),
            ("osmosis-1", "osmo1", false),
            ("osmosis-1", wallet, true),
        ];
        for (chain, address, odd) in table {
            let (from_chain, to_address) = (ChainId::new(chain), wallet.to_owned());
            let request = QuoteRequest { from_chain, to_address, ..fixtures::quote_request(address) };
            assert_eq!(request.address_warnings().len(), usize::from(odd), "{chain} {address}");
            let (to_chain, to_address) = (ChainId::new(chain), address.to_owned());
            let request = QuoteRequest { to_chain, to_address, ..fixtures::quote_request(wallet) };
            assert_eq!(request.address_warnings().len(), usize::from(odd), "to {chain} {address}");
        }
    }

    #[test]
    fn recipient_on_a_chain_with_other_addresses_must_be_given() {
        let to_solana = |recipient| {
            let value = move |field| match field {
                QuoteField::ToChain => Some("solana-mainnet-beta"),
                QuoteField::ToAddress => recipient,
                other => valid(other),
            };
            QuoteRequest::parse(value, true, true).map_err(|errors| errors[0].field)
        };
        assert_eq!(to_solana(None), Err(QuoteField::ToAddress));
        assert_eq!(to_solana(Some("7VFU")).unwrap().to_address, "7VFU");
    }

    #[test]
    fn the_facts_contain_the_quote_and_its_deadline() {
        let quote =
            Quote { quote_id: Some("5f2a".into()), estimate: Some(Duration::from_secs(900)), ..Quote::default() };
        let facts = quote.facts(&QuoteRequest::parse(valid, true, false).unwrap(), DateTime::UNIX_EPOCH);
        assert_eq!(facts[0], ("quoteId", "5f2a".into()));
        assert_eq!((facts[1].1.as_str(), facts[2].1.as_str()), ("900 s (15m)", "30m = 2 x est. 15m after sending"));
    }
}
