//! Tests of terminal hyperlinks: hashes and links of the detail are links, other text isn't.

use super::*;
use crate::tui::theme::{DisplayOptions, ShippedTheme};

const SOURCE: &str = "https://explorer.example/tx/0x9f3c41";
const BRIDGE: &str = "https://bridge-explorer.example/gmp/0x9f3c41";

fn linking() -> Theme {
    Theme::shipped(ShippedTheme::Default, DisplayOptions { color: true, hyperlinks: true, ..DisplayOptions::default() })
}

/// Returns the letter of a cell, and the cell's link.
fn parts(cell: &Cell) -> (&str, Option<&str>) {
    let linked = cell.symbol().strip_prefix("\x1b]8;id=hoptop").and_then(|rest| {
        let (opened, rest) = rest.split_once("\x1b\\")?;
        Some((rest.strip_suffix("\x1b]8;;\x1b\\")?, Some(opened.split_once(';')?.1)))
    });
    linked.unwrap_or((cell.symbol(), None))
}

/// Returns the linked texts, row by row, each with its link.
fn links(terminal: &Terminal<TestBackend>) -> Vec<(String, String)> {
    let buffer = terminal.backend().buffer();
    let mut found = Vec::new();
    for row in buffer.content.chunks(usize::from(buffer.area.width)) {
        for run in row.chunk_by(|one, other| parts(one).1 == parts(other).1) {
            let text: String = run.iter().map(|cell| parts(cell).0).collect();
            found.extend(parts(&run[0]).1.map(|link| (text, link.to_owned())));
        }
    }
    found
}

#[test]
fn hashes_and_links_of_the_detail_are_links_where_the_config_asks() {
    for size in [SMALL, (120, 36), (60, 50)] {
        let model = detail(size);
        let terminal = drawn(&model, &linking());
        let links = links(&terminal);
        assert!(links.iter().any(|(text, link)| text.starts_with("0x9f3c") && link == SOURCE), "{size:?} {links:?}");
        for (text, link) in &links {
            assert!(text.starts_with("0x9f") || link.contains(text), "{text} is {link}");
        }
        // The shown text stays the same.
        let bare = drawn(&model, &Theme::new(true, false));
        let shown = |terminal: &Terminal<TestBackend>| {
            terminal.backend().buffer().content.iter().map(|cell| parts(cell).0.to_owned()).collect::<String>()
        };
        assert_eq!(shown(&terminal), shown(&bare));
        assert_eq!(self::links(&bare), []);
    }
}

#[test]
fn a_link_that_continues_in_the_next_row_is_one_link() {
    let mut model = detail((60, 50));
    model.apply(Msg::Resize(42, 60), now());
    let links = links(&drawn(&model, &linking()));
    let pieces: String = links.iter().filter(|(_, link)| link == BRIDGE).map(|(text, _)| text.as_str()).collect();
    assert_eq!(pieces, BRIDGE);
}

#[test]
fn the_links_dialog_has_links_and_the_help_over_it_has_none() {
    let mut model = detail((120, 36));
    press(&mut model, &["O"], now());
    let shown = links(&drawn(&model, &linking()));
    assert!(shown.iter().any(|(text, link)| text == BRIDGE && link == BRIDGE), "{shown:?}");
    press(&mut model, &["Esc", "?"], now());
    assert_eq!(links(&drawn(&model, &linking())), []);
}

#[test]
fn a_url_that_may_not_be_opened_is_no_link() {
    for hostile in
        ["javascript:alert(1)", "https://user@evil.example/tx", "https://evil.example/\u{1b}\\x", "file:///etc"]
    {
        let mut tx_with_url = overdue();
        let mut record = StatusRecord::bare(RouterStatus::Ongoing);
        (record.bridge_url, record.from.url) = (Some(hostile.into()), Some(hostile.into()));
        tx_with_url.apply(&tx::answer(StatusOutcome::Record(Box::new(record))), ago(0, 1));
        let mut model = blank((120, 36));
        change_store(&mut model, everything(vec![tx_with_url], Vec::new()), Some(live_report(ago(0, 1))), now());
        press(&mut model, &["Enter"], now());
        assert_eq!(links(&drawn(&model, &linking())), [], "{hostile}");
    }
}
