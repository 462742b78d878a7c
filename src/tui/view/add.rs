//! The dialog for adding and finding: the text, and below it what was found, line by line.

use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
    text::{Line, Span},
    widgets::{Block, Paragraph},
};

use super::Look;
use crate::{
    domain::{text, width},
    intake::Pasted,
    tui::model::add::{AddForm, Found},
};

pub(super) fn draw(look: &Look<'_>, form: &AddForm, pane: Rect, frame: &mut Frame<'_>) {
    let [input, results] = Layout::vertical([Constraint::Length(8), Constraint::Fill(1)]).areas(pane);
    draw_input(look, form, input, frame);
    let columns = usize::from(results.width);
    let mut lines = vec![Line::default()];
    if form.found.is_empty() {
        lines.extend(GUIDE.iter().map(|text| Line::styled(format!(" {text}"), look.theme.dim())));
    } else {
        lines.push(Line::styled(
            width::cut(&format!(" {:<12} {:<13} WHAT", "RESULT", "TX"), columns, ""),
            look.theme.dim(),
        ));
        let room = usize::from(results.height).saturating_sub(2);
        let mut shown = 0;
        for found in &form.found {
            let result = result(look, found, columns);
            if lines.len() + result.len() > room {
                break;
            }
            lines.extend(result);
            shown += 1;
        }
        if form.found.len() > shown {
            lines.push(Line::styled(format!(" and {} more", form.found.len() - shown), look.theme.dim()));
        }
        lines.push(Line::styled(format!(" {}", enter(form)), look.theme.label()));
    }
    frame.render_widget(Paragraph::new(lines), results);
}

/// Where the words on a finding begin.
const INDENT: usize = 28;

const GUIDE: [&str; 5] = [
    "Known ones are found by a hash, a part of one, or an explorer's URL.",
    "To track a new one the service needs four values:",
    "  transactionId,fromChainId,toChainId,quoteId",
    "  for example 0x9f3c...e21b,42161,8453,5f2a90   (chain IDs, not names)",
    "Rows of CSV and JSON objects work too, also many at once.",
];

fn draw_input(look: &Look<'_>, form: &AddForm, pane: Rect, frame: &mut Frame<'_>) {
    let foot = match form.overflows {
        true => Span::styled(" the end was left out: `hoptop import FILE` takes any size ", look.theme.warning()),
        false => Span::styled(" parsed as you type ", look.theme.dim()),
    };
    let block = Block::bordered()
        .border_set(look.theme.border)
        .title(Span::styled(" Add or find: paste a hash, an explorer URL, CSV or JSON ", look.theme.label()))
        .title_bottom(foot);
    let inner = block.inner(pane);
    frame.render_widget(block, pane);
    let height = usize::from(inner.height).max(1);
    let columns = usize::from(inner.width);
    let earlier = form.lines.len().saturating_sub(height - 1);
    let cut = |line: &String| Line::raw(width::cut(&text::clean(line), columns, look.theme.ellipsis));
    let mut lines: Vec<Line<'_>> = form.lines.iter().skip(earlier).map(cut).collect();
    let row = lines.len();
    // The end of the line that is being typed stays in sight.
    let scroll = form.input.visual_scroll(columns.saturating_sub(1));
    let typed: String = form.input.value().chars().filter(|letter| !letter.is_control()).skip(scroll).collect();
    lines.push(Line::raw(width::cut(&typed, columns, "")));
    frame.render_widget(Paragraph::new(lines), inner);
    let column = form.input.visual_cursor().saturating_sub(scroll).min(columns.saturating_sub(1));
    if inner.area() > 0 && row < height {
        frame.set_cursor_position((inner.x + column as u16, inner.y + row as u16));
    }
}

/// One finding: what it is, and what to do about it, on as many lines as that takes.
fn result(look: &Look<'_>, found: &Found, columns: usize) -> Vec<Line<'static>> {
    let (word, style, hash, what) = match (&found.pasted, found.known) {
        (Pasted::Complete(new), known) => {
            let what = format!("{} > {}  quoteId {}", new.told.from_chain, new.told.to_chain, new.told.quote_id);
            let word = if known.is_some() { "known" } else { "ready" };
            (word, look.theme.good(), new.told.transaction_id.short(look.theme.ellipsis), what)
        }
        (Pasted::Hash { hash, .. }, Some(_)) => {
            ("known", look.theme.good(), hash.short(look.theme.ellipsis), "Enter opens it".into())
        }
        (Pasted::Hash { hash, missing, .. }, None) => {
            let what = format!("not tracked; lacks {}", missing.join(", "));
            ("needs more", look.theme.warning(), hash.short(look.theme.ellipsis), what)
        }
        (Pasted::Nothing { line, reason }, _) => {
            ("nothing", look.theme.warning(), format!("line {line}"), reason.clone())
        }
    };
    let head = [format!(" {word:<12} "), width::fit(&hash, 13, look.theme.ellipsis)];
    let wrapped = width::wrap(&what, columns.saturating_sub(INDENT));
    let line = |(index, text): (usize, String)| match (index, &head) {
        (0, [word, hash]) => {
            Line::from(vec![Span::styled(word.clone(), style), Span::raw(hash.clone()), Span::raw(format!(" {text}"))])
        }
        _ => Line::raw(format!("{}{text}", " ".repeat(INDENT))),
    };
    wrapped.into_iter().enumerate().map(line).collect()
}

fn enter(form: &AddForm) -> String {
    let [complete, known, left_out] = [form.complete(), form.known_only(), form.left_out()];
    let rest = match left_out {
        0 => String::new(),
        1 => " One line is left out.".into(),
        many => format!(" {many} lines are left out."),
    };
    match (complete, known) {
        (0, 0) if form.found.iter().any(|found| matches!(found.pasted, Pasted::Hash { .. })) => {
            "Nothing to track yet: add what is missing behind the hash, with commas between.".into()
        }
        (0, 0) => "Nothing to track yet.".into(),
        (0, _) => "Enter opens the known one.".into(),
        (1, _) => format!("Enter tracks it, or updates what differs.{rest}"),
        (many, _) => format!("Enter tracks these {many}, or updates what differs.{rest}"),
    }
}
