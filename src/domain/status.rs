//! The router status: the values that the service documents, and any other value that it sends (`service.md` 3).
//!
//! An undocumented value must never become a documented value, except the alias of `cases.md` (3).

use std::fmt;

use serde::{Deserialize, Serialize};

/// Defines the statuses: each documented status with its name.
macro_rules! statuses {
    ($($(#[$doc:meta])* $status:ident $name:literal,)*) => {
        /// `routerTransactionStatus`, the simplified status of a transaction (`service.md` 3).
        #[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(from = "String", into = "String")]
        pub enum RouterStatus {
            $($(#[$doc])* $status,)*
            /// Any other value, as received (cleaned). Empty if the field was missing or empty.
            Unknown(String),
        }

        impl RouterStatus {
            /// The documented values.
            pub const DOCUMENTED: [Self; [$($name),*].len()] = [$(Self::$status),*];

            /// Returns the documented name, or `unknown`.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$status => $name,)*
                    Self::Unknown(_) => "unknown",
                }
            }
        }
    };
}

statuses! {
    /// Completed on all chains; the user received the intended funds.
    Success "success",
    /// Bridged routes: the gas price rose on the destination chain and execution is paused.
    NeedsGas "needs_gas",
    /// In progress; nothing is wrong and no action is needed.
    Ongoing "ongoing",
    /// The source side ran and the destination side reverted; the user holds the bridged token on the destination
    /// chain.
    PartialSuccess "partial_success",
    /// No on-chain record can be found yet.
    NotFound "not_found",
    /// A failed intents route: the funds return on the source chain, in about 10 minutes.
    Refund "refund",
}

impl RouterStatus {
    /// Returns the text as received.
    pub fn raw(&self) -> &str {
        match self {
            Self::Unknown(text) => text,
            documented => documented.name(),
        }
    }

    /// Whether this status alone settles a transaction. A refund settles only after it was watched for a while.
    pub fn is_final(&self) -> bool {
        match self {
            Self::Success | Self::PartialSuccess => true,
            Self::NeedsGas | Self::Ongoing | Self::NotFound | Self::Refund | Self::Unknown(_) => false,
        }
    }

    /// Returns the rank of a status in the order by status: statuses that may need action first, completed last. `None`
    /// is a transaction without an answer.
    pub fn sort_rank(status: Option<&Self>) -> u8 {
        match status {
            Some(Self::PartialSuccess) => 0,
            Some(Self::NeedsGas) => 1,
            Some(Self::Unknown(_)) => 2,
            Some(Self::Refund) => 3,
            Some(Self::NotFound) => 4,
            Some(Self::Ongoing) => 5,
            None => 6,
            Some(Self::Success) => 7,
        }
    }

    /// Whether a transaction in this status waits for time alone, so that its deadline applies.
    pub fn is_waiting(&self) -> bool {
        match self {
            Self::Ongoing | Self::NotFound => true,
            Self::Success | Self::NeedsGas | Self::PartialSuccess | Self::Refund | Self::Unknown(_) => false,
        }
    }
}

impl From<String> for RouterStatus {
    fn from(text: String) -> Self {
        match text.as_str() {
            "refunded" => Self::Refund,
            other => Self::DOCUMENTED.into_iter().find(|status| status.name() == other).unwrap_or(Self::Unknown(text)),
        }
    }
}

impl From<RouterStatus> for String {
    fn from(status: RouterStatus) -> Self {
        status.raw().to_owned()
    }
}

impl fmt::Display for RouterStatus {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(text) if text.is_empty() => out.write_str("unknown"),
            status => out.write_str(status.raw()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documented_values_survive_the_round_trip() {
        for status in RouterStatus::DOCUMENTED {
            assert_eq!(RouterStatus::from(String::from(status.clone())), status);
        }
    }

    #[test]
    fn each_status_has_its_own_place_in_the_order() {
        let with_answer = RouterStatus::DOCUMENTED.map(Some).into_iter();
        let all = with_answer.chain([None, Some(RouterStatus::Unknown("settling".into()))]);
        let ranks: Vec<u8> = all.map(|status| RouterStatus::sort_rank(status.as_ref())).collect();
        assert!(ranks.iter().enumerate().all(|(index, rank)| !ranks[..index].contains(rank)), "{ranks:?}");
    }

    #[test]
    fn undocumented_status_is_kept_as_received() {
        for text in ["SUCCESS", "", "failed_on_destination"] {
            assert_eq!(RouterStatus::from(text.to_owned()), RouterStatus::Unknown(text.to_owned()));
        }
        assert_eq!(RouterStatus::from("refunded".to_owned()), RouterStatus::Refund);
    }
}
