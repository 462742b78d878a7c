//! The two ends of a transfer side by side: source and destination, and how it goes between them.

use ratatui::text::{Line, Span};

use super::Look;
use crate::domain::{
    ids::TxHash,
    route::{self, End, Ends},
    transaction::Transaction,
    width,
};

/// Between the two ends.
const ARROW: &str = " --> ";

pub(super) fn lines(look: &Look<'_>, tx: &Transaction, columns: usize) -> Vec<Line<'static>> {
    let Ends { source, destination, hop } = route::ends(tx);
    let (from, to) = (end(&source, &tx.from_name()), end(&destination, &tx.to_name()));
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
    if let Some(hop) = hop {
        let name = route::name_of(tx, hop.chain);
        lines.push(Line::styled(
            format!("the service names {name} as the destination: an intermediate hop?"),
            look.theme.warning(),
        ));
    }
    lines
}

/// One end in four lines: chain, transaction, block, event.
fn end(end: &End<'_>, name: &str) -> [String; 4] {
    let chain = if name == end.chain.as_str() { name.to_owned() } else { format!("{name} ({})", end.chain) };
    let block = end.block_number.map(|number| number.to_string());
    [
        chain,
        format!("tx    {}", end.transaction_id.map_or("(none yet)", TxHash::as_str)),
        format!("block {}", block.as_deref().unwrap_or("(none yet)")),
        format!("event {}", end.call_event_status.filter(|event| !event.is_empty()).unwrap_or("(empty)")),
    ]
}
