//! Finds the transactions that a command's arguments name: for `untrack` and `delete`.
//!
//! It must never return only some of them: if one can't be found, the command changes nothing.

use color_eyre::eyre::Result;

use crate::{
    cli::context::Context,
    domain::{ids::TransactionKey, transaction::Tracking},
};

/// A named transaction, and whether it is polled.
pub(super) type FoundTransaction = (TransactionKey, Tracking);

/// Returns all named transactions, each once. If one can't be found, prints the reason and returns `None`.
pub(super) fn find_transactions(texts: &[String], cx: &mut Context) -> Result<Option<Vec<FoundTransaction>>> {
    let mut found: Vec<FoundTransaction> = Vec::new();
    for text in texts {
        let Some(tx) = cx.find(text)? else {
            writeln!(cx.err, "nothing was changed")?;
            return Ok(None);
        };
        let key = tx.key();
        if found.iter().all(|(known, _)| *known != key) {
            found.push((key, tx.tracking));
        }
    }
    Ok(Some(found))
}
