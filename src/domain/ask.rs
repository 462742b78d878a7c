//! The reply that asks a user or an integrator for what a transfer can't be looked up without (`service.md` 4.1).
//!
//! It asks for no more than is missing, and in words that a person understands who has never seen the service.

use super::ids::TxHash;

/// What the service requires, with what to ask for and where a person finds it.
const QUESTIONS: [(&str, &str); 4] = [
    ("transactionId", "the hash of the transaction on the source chain, or a link to it in a block explorer"),
    ("fromChainId", "the source chain: the one that the transaction was sent on"),
    ("toChainId", "the destination chain: the one that the funds were to arrive on"),
    (
        "quoteId",
        "the quote ID: `route.quoteId` in the response to the route request; whoever integrated the service has it",
    ),
];

/// The reply about a transfer, as far as its hash is known, that lacks these of the fields that the service requires.
pub fn reply(hash: Option<&TxHash>, missing: &[&str]) -> String {
    let about = match hash {
        Some(hash) => format!(" (transaction {hash})"),
        None => String::new(),
    };
    let asked = QUESTIONS.iter().filter(|(field, _)| missing.contains(field));
    let asked: String = asked.map(|(field, question)| format!("- {question} ({field})\n")).collect();
    format!("To look up this transfer{about} we still need:\n\n{asked}\nWith that we can see where it stands.\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_asks_for_what_is_missing_and_nothing_else() {
        let hash = TxHash::new("0xab");
        assert_eq!(
            reply(Some(&hash), &["toChainId"]),
            "To look up this transfer (transaction 0xab) we still need:\n\n\
             - the destination chain: the one that the funds were to arrive on (toChainId)\n\n\
             With that we can see where it stands.\n"
        );
        let all = reply(None, &["transactionId", "fromChainId", "toChainId", "quoteId"]);
        assert_eq!(all.lines().filter(|line| line.starts_with("- ")).count(), 4);
    }
}
