//! The quote of a route: the request, the answer, and what to do about a refusal (`service.md` 4.2, 7.3, 8).
//!
//! Plain data, and the only table of resolutions. A request that the service can only refuse must never pass.

pub(crate) mod fields;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{ids::ChainId, observation::RequestFailure};

/// A quote up to this age is returned again instead of spending a request (`service.md` 8, rule 5).
pub(crate) const FRESH: Duration = Duration::from_secs(30);
/// The longest time that a wallet is held back. A larger `retryAfter` is taken for a mistake.
pub(crate) const MAX_WALLET_LIMIT: Duration = Duration::from_secs(24 * 60 * 60);
/// The largest 256-bit number.
const MAX_UINT256: &str = "115792089237316195423570985008687907853269984665640564039457584007913129639935";

/// The body of `POST /v2/route`, exactly as it is serialized (`service.md` 4.2).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QuoteRequest {
    /// The user's address on the source chain, to which a refund is paid.
    pub from_address: String,
    /// The source chain.
    pub from_chain: ChainId,
    /// The source token's address.
    pub from_token: String,
    /// The amount of the source token.
    pub from_amount: Amount,
    /// The destination chain.
    pub to_chain: ChainId,
    /// The destination token's address.
    pub to_token: String,
    /// The recipient's address on the destination chain.
    pub to_address: String,
    /// Whether only a price is wanted: no transaction data, and no limit per wallet.
    #[serde(rename = "quoteOnly")]
    pub is_quote_only: bool,
}

impl QuoteRequest {
    /// Returns the key of a wallet's limit: the address, in lower case for EVM addresses, which compare without case.
    pub fn wallet(&self) -> String {
        let is_evm = self.from_address.starts_with("0x") || self.from_address.starts_with("0X");
        if is_evm { self.from_address.to_ascii_lowercase() } else { self.from_address.clone() }
    }
}

/// An integer amount in the token's smallest unit, as text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct Amount(String);

/// Why a text is not an amount.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AmountError {
    #[error("it is empty; write an integer in the token's smallest unit")]
    Empty,
    /// A character that isn't a digit.
    #[error(
        "`{0}` is not an integer; it counts the token's smallest unit, so 1.5 of a token with 6 decimals is 1500000"
    )]
    NotAnInteger(String),
    #[error("it is 0, so nothing would be sent; give a larger amount")]
    Zero,
    /// More than a 256-bit number can hold.
    #[error("it is larger than a 256-bit number, more than any token has; check it")]
    TooLarge,
}

impl TryFrom<String> for Amount {
    type Error = AmountError;

    fn try_from(text: String) -> Result<Self, AmountError> {
        Self::parse(&text)
    }
}

impl Amount {
    /// Reads an amount: digits only. Leading zeros are removed.
    pub fn parse(text: &str) -> Result<Self, AmountError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(AmountError::Empty);
        }
        if !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(AmountError::NotAnInteger(super::text::clean(text)));
        }
        match text.trim_start_matches('0') {
            "" => Err(AmountError::Zero),
            digits if (digits.len(), digits) > (MAX_UINT256.len(), MAX_UINT256) => Err(AmountError::TooLarge),
            digits => Ok(Self(digits.to_owned())),
        }
    }

    /// Returns the digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The fields of a route that hoptop uses. The stored body keeps all fields as received.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Quote {
    /// `route.quoteId`, which the status endpoint requires.
    pub quote_id: Option<String>,
    /// `estimatedRouteDuration`.
    pub estimate: Option<Duration>,
    /// A sentence for each oddity in the answer.
    pub warnings: Vec<String>,
}

/// The outcome of a request for a route.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum QuoteAnswer {
    /// The service returned a route.
    Route(Quote),
    /// The wallet sent too many requests; recognized by the shape `{error, retryAfter}`, whatever the HTTP status.
    WalletLimited {
        /// `error`.
        message: String,
        /// `retryAfter`, clamped.
        retry_after: Duration,
    },
    /// Any other outcome.
    Failed(RequestFailure),
}

/// The answer to one request for a route.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QuoteObservation {
    /// The outcome.
    pub answer: QuoteAnswer,
    /// The HTTP status, if there was an answer.
    pub http_status: Option<u16>,
    /// The body as received, without the integrator ID.
    pub body: Option<String>,
}

impl QuoteObservation {
    /// Returns the observation of a request that failed before the service answered.
    pub(crate) fn failed(failure: RequestFailure) -> Self {
        Self { answer: QuoteAnswer::Failed(failure), http_status: None, body: None }
    }
}

impl QuoteAnswer {
    /// Returns the failure; `None` for a route or a wallet limit.
    pub fn failure(&self) -> Option<&RequestFailure> {
        match self {
            Self::Failed(failure) => Some(failure),
            Self::Route(_) | Self::WalletLimited { .. } => None,
        }
    }

    /// Returns why there is no route, in the service's words; `None` if there is a route.
    pub fn refusal(&self) -> Option<String> {
        match self {
            Self::Route(_) => None,
            Self::WalletLimited { message, .. } => Some(message.clone()),
            // Without the hint of the failure's own text: the resolution says what to do.
            Self::Failed(RequestFailure::Server { status, message }) => {
                Some(format!("the service answered HTTP {status}: {message}"))
            }
            Self::Failed(failure) => Some(failure.one_line()),
        }
    }

    /// Returns what to do about the answer; `None` for a route.
    pub fn resolution(&self) -> Option<&'static str> {
        match self {
            Self::Route(_) => None,
            Self::WalletLimited { .. } => Some("wait that long; pricing alone (quoteOnly) isn't limited"),
            Self::Failed(failure) => Some(resolution(failure)),
        }
    }
}

const CHECK_TOKENS: &str = "use a token on the service's whitelist; check fromToken and toToken";
const CHECK_CHAINS: &str = "use a chain that the service supports; check fromChain and toChain";

/// Words that must all occur in a message in lower case, and what to do then. The first match counts: a message about
/// an unsupported token may name its chain as well (`service.md` 7.3).
const RESOLUTIONS: &[(&[&str], &str)] = &[
    (&["unsupported chain"], CHECK_CHAINS),
    (&["unsupported token"], CHECK_TOKENS),
    (&["no route"], "check chains and tokens; there may also be too little liquidity for this amount"),
    (&["amount too low"], "increase fromAmount"),
    (&["amount too high"], "decrease fromAmount"),
    (&["unsupported", "token"], CHECK_TOKENS),
    (&["not supported", "token"], CHECK_TOKENS),
    (&["whitelist"], CHECK_TOKENS),
    (&["unsupported", "chain"], CHECK_CHAINS),
    (&["not supported", "chain"], CHECK_CHAINS),
];

/// Returns what to do about a failure: by its message where the service documents it, else by its kind (`service.md`
/// 7.1 to 7.3).
fn resolution(failure: &RequestFailure) -> &'static str {
    let text = match failure {
        RequestFailure::Rejected(text) | RequestFailure::Server { message: text, .. } => text.to_lowercase(),
        _ => String::new(),
    };
    let fits = |(words, _): &&(&[&str], &str)| words.iter().all(|word| text.contains(word));
    if let Some((_, advice)) = RESOLUTIONS.iter().find(fits) {
        return advice;
    }
    match failure {
        RequestFailure::Rejected(_) => "check the parameters",
        RequestFailure::Unauthorized(_) => {
            "check the integrator ID: where it comes from, and that it belongs to this base URL"
        }
        RequestFailure::Throttled { .. } => {
            "somebody else may use this ID; wait, and check --rps against the ID's limit"
        }
        RequestFailure::Server { status: 300..=499, .. } => "check the base URL",
        RequestFailure::Server { .. } => "the service has trouble; try again later",
        RequestFailure::Unreadable(_) | RequestFailure::OtherTransaction(_) => {
            "report it to the provider; `hoptop quote --json` shows the answer"
        }
        RequestFailure::Transport(_) | RequestFailure::TimedOut(_) => "check the base URL and the network",
        RequestFailure::Local(_) => "end other programs, or raise the limit of open files",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_integers_and_nothing_else() {
        let table = [
            ("25000000", Ok("25000000")),
            (" 007 ", Ok("7")),
            ("", Err("it is empty")),
            ("0", Err("it is 0")),
            ("1.5", Err("`1.5` is not an integer")),
            ("1e18", Err("`1e18` is not an integer")),
            ("-3", Err("`-3` is not an integer")),
            ("0x10", Err("`0x10` is not an integer")),
            ("1_000", Err("`1_000` is not an integer")),
            ("\u{664}", Err("`\u{664}` is not an integer")),
        ];
        for (text, expected) in table {
            match (Amount::parse(text), expected) {
                (Ok(amount), Ok(digits)) => assert_eq!(amount.as_str(), digits),
                (Err(error), Err(start)) => assert!(error.to_string().starts_with(start), "{error}"),
                (read, _) => panic!("{text}: {read:?}"),
            }
        }
        assert_eq!(Amount::parse(MAX_UINT256).unwrap().as_str(), MAX_UINT256);
        for large in [MAX_UINT256.replace("935", "936"), "9".repeat(78), "1".repeat(79)] {
            assert_eq!(Amount::parse(&large), Err(AmountError::TooLarge), "{large}");
        }
        assert!(Amount::parse("1\u{200b}5").is_err() && serde_json::from_str::<Amount>("\"1e9\"").is_err());
    }

    #[test]
    fn each_refusal_has_its_resolution() {
        let rejected = |text: &str| QuoteAnswer::Failed(RequestFailure::Rejected(text.into()));
        let table = [
            (rejected("No route found"), "check chains and tokens"),
            (rejected("Amount too low"), "increase"),
            (rejected("Amount too high"), "decrease"),
            (rejected("Unsupported chain"), "use a chain"),
            (rejected("fromChain: unsupported chain ID"), "use a chain"),
            (rejected("Unsupported token"), "use a token"),
            (rejected("token 0x01 is not supported on chain 8453"), "use a token"),
            (rejected("fromAmount is missing"), "check the parameters"),
            (
                QuoteAnswer::Failed(RequestFailure::Unauthorized("x-integrator-id header is missing".into())),
                "check the integrator ID",
            ),
            (QuoteAnswer::Failed(RequestFailure::Throttled { message: None, retry_after: None }), "somebody else"),
            (
                QuoteAnswer::Failed(RequestFailure::Server { status: 404, message: "Resource not found".into() }),
                "check the base URL",
            ),
            (
                QuoteAnswer::Failed(RequestFailure::Server { status: 500, message: "oops".into() }),
                "the service has trouble",
            ),
            (
                QuoteAnswer::Failed(RequestFailure::Server { status: 404, message: "No route found".into() }),
                "check chains",
            ),
            (QuoteAnswer::WalletLimited { message: "Too many".into(), retry_after: FRESH }, "wait that long"),
        ];
        for (answer, expected) in table {
            let resolution = answer.resolution().unwrap();
            assert!(resolution.starts_with(expected), "{answer:?}: {resolution}");
        }
        assert_eq!(QuoteAnswer::Route(Quote::default()).resolution(), None);
    }

    #[test]
    fn a_request_serializes_to_the_service_s_body() {
        let request = QuoteRequest {
            from_address: "0xAB".into(),
            from_chain: ChainId::new("42161"),
            from_token: "0x1".into(),
            from_amount: Amount::parse("25").unwrap(),
            to_chain: ChainId::new("osmosis-1"),
            to_token: "uosmo".into(),
            to_address: "osmo1".into(),
            is_quote_only: true,
        };
        let body = r#"{"fromAddress":"0xAB","fromChain":"42161","fromToken":"0x1","fromAmount":"25","toChain":"osmosis-1","toToken":"uosmo","toAddress":"osmo1","quoteOnly":true}"#;
        assert_eq!(serde_json::to_string(&request).unwrap(), body);
        assert_eq!(request.wallet(), "0xab");
    }
}
