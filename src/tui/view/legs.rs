//! The two ends of a transfer side by side: source and destination, and how it goes between them.

use ratatui::text::{Line, Span};

use super::Look;
use crate::domain::{chains, ids::ChainId, record::ChainSide, transaction::Transaction, width};

/// Between the two ends.
const ARROW: &str = " --> ";

pub(super) fn lines(look: &Look<'_>, tx: &Transaction, columns: usize) -> Vec<Line<'static>> {
    let record = tx.learned.record.as_ref();
    let from = side(
        record.map(|record| &record.from),
        &tx.told.from_chain,
        &tx.from_name(),
        Some(tx.told.transaction_id.as_str()),
    );
    let to_side = record.map(|record| &record.to);
    let to = side(to_side, &tx.told.to_chain, &tx.to_name(), None);
    let half = columns.saturating_sub(ARROW.len()) / 2;
    let mut lines = vec![Line::styled(
        format!("{}{}DESTINATION", width::fit("SOURCE", half, ""), " ".repeat(ARROW.len())),
        look.theme.label(),
    )];
    for (index, (left, right)) in from.into_iter().zip(to).enumerate() {
        let between = if index == 1 { ARROW } else { "     " };
        let cut = |text: &str| width::fit(&width::cut_middle(text, half, look.theme.ellipsis), half, "");
        lines.push(Line::from(vec![
            Span::raw(cut(&left)),
            Span::styled(between, look.theme.info()),
            Span::raw(cut(&right)),
        ]));
    }
    if let Some(hop) = to_side.and_then(|side| side.chain_id.as_ref()).filter(|id| **id != tx.told.to_chain) {
        let name = chains::find(hop).map_or_else(|| hop.to_string(), |chain| chain.name.clone());
        lines.push(Line::styled(
            format!("the service names {name} as the destination: an intermediate hop?"),
            look.theme.warning(),
        ));
    }
    lines
}

/// One end in four lines: chain, transaction, block, event.
fn side(side: Option<&ChainSide>, id: &ChainId, name: &str, told: Option<&str>) -> [String; 4] {
    let chain = if name == id.as_str() { name.to_owned() } else { format!("{name} ({id})") };
    let hash = side.and_then(|side| side.transaction_id.as_ref()).map(|hash| hash.as_str());
    let block = side.and_then(|side| side.block_number).map(|number| number.to_string());
    let event = side.and_then(|side| side.call_event_status.as_deref()).filter(|event| !event.is_empty());
    [
        chain,
        format!("tx    {}", hash.or(told).unwrap_or("(none yet)")),
        format!("block {}", block.as_deref().unwrap_or("(none yet)")),
        format!("event {}", event.unwrap_or("(empty)")),
    ]
}
