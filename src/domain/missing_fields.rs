//! The reply that asks a user or an integrator for the missing fields of a transfer (`service.md` 4.1).
//!
//! It must ask for missing fields only, in words for a person without knowledge of the service.

use super::ids::TxHash;

/// The fields that the service requires, each with a description for people.
const QUESTIONS: [(&str, &str); 4] = [
    ("transactionId", "the hash of the transaction on the source chain, or a link to it in a block explorer"),
    ("fromChainId", "the source chain: the chain on which the transaction was sent"),
    ("toChainId", "the destination chain: the chain on which the funds should arrive"),
    (
        "quoteId",
        "the quote ID: `route.quoteId` in the response to the route request; the integrator of the service has it",
    ),
];

/// Returns the reply about a transfer that lacks the `missing` fields. `hash` is the transfer's hash, if it is known.
pub(crate) fn write_request(hash: Option<&TxHash>, missing: &[&str]) -> String {
    let about = match hash {
        Some(hash) => format!(" (transaction {hash})"),
        None => String::new(),
    };
    let asked = QUESTIONS.iter().filter(|(field, _)| missing.contains(field));
    let asked: String = asked.map(|(field, question)| format!("- {question} ({field})\n")).collect();
    format!(
        "To look up this transfer{about}, we still need:\n\n{asked}\nWith this information we can check its status.\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reply_asks_for_missing_fields_only() {
        let hash = TxHash::new("0xab");
        assert_eq!(
            write_request(Some(&hash), &["toChainId"]),
            "To look up this transfer (transaction 0xab), we still need:\n\n\
             - the destination chain: the chain on which the funds should arrive (toChainId)\n\n\
             With this information we can check its status.\n"
        );
        let all = write_request(None, &["transactionId", "fromChainId", "toChainId", "quoteId"]);
        assert_eq!(all.lines().filter(|line| line.starts_with("- ")).count(), 4);
    }
}
