//! The chain's own answer about a transaction: requests the answer, and corrects a source chain that the answer shows
//! to be wrong.
//!
//! Nothing here asks a chain: the poller does, if the settings name a node.

use crate::{
    clock::MonotonicTime,
    domain::{advice, operation::Edit},
    tui::{
        command::CommandId,
        effect::{Effect, Write},
        model::{MessageTone, Model},
        update::actions,
    },
};

/// The most transactions that one key asks about.
const MAX_TRANSACTIONS: usize = 50;

/// Requests that the chains are asked about the marked transactions, or else the selected one.
pub(crate) fn ask(model: &mut Model, now: MonotonicTime) {
    if !model.setting.asks_chains {
        let how = "No chain can be asked yet: add [chains.42161] with rpc = \"https://...\" to the config file.";
        return actions::refuse(model, how, now);
    }
    let rows = actions::targets(model, now);
    match rows.len() {
        0 => return,
        1 => model.show_message(MessageTone::Good, "Asking the chain itself; the answer appears as CHAIN.", now),
        count if count > MAX_TRANSACTIONS => {
            let text = format!("Not asked: at most {MAX_TRANSACTIONS} transactions at once.");
            return actions::refuse(model, text, now);
        }
        count => model.show_message(MessageTone::Good, format!("Asking the chains about {count} transactions."), now),
    }
    model.effects.push(Effect::AskChain(rows))
}

/// Corrects the source chain of the selected transaction to the chain on which it was found.
pub(crate) fn correct_source(model: &mut Model, now: MonotonicTime) {
    let Some(row) = model.list.selected else { return };
    let found = model.transactions.get(&row).and_then(|tx| advice::found_elsewhere(tx).cloned());
    match found {
        Some(chain) => {
            model.effects.push(Effect::Write(Write::Edit(Edit::CorrectSource { transactions: vec![row], chain })))
        }
        None => {
            let ask = model.setting.keys.shown(CommandId::AskChain);
            actions::refuse(model, format!("Not found on another chain so far; {ask} asks the chains."), now)
        }
    }
}
