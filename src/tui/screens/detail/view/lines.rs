//! Labelled lines, headings and times, which all tabs use.

use std::time::Duration;

use chrono::{DateTime, Utc};
use ratatui::{
    style::Style,
    text::{Line, Span},
};

use crate::{
    domain::span,
    presentation::width,
    tui::draw::{DrawContext, labelled_at},
};

/// The columns of a label.
pub(super) const LABEL: usize = 10;

/// Returns a label and a text, which is wrapped beside the label.
pub(super) fn labelled(label: &str, text: &str, columns: usize, style: Style) -> Vec<Line<'static>> {
    labelled_at(LABEL, label, text, columns, style)
}

/// Returns labelled lines; labels without a text are left out. The texts start after the longest label and a space, at
/// the earliest at [`LABEL`].
pub(super) fn table(
    facts: impl IntoIterator<Item = (&'static str, Option<String>)>,
    columns: usize,
    style: Style,
) -> Vec<Line<'static>> {
    let filled: Vec<_> = facts.into_iter().filter_map(|(label, text)| Some((label, text?))).collect();
    let at = filled.iter().map(|(label, _)| width::display_width(label) + 1).fold(LABEL, usize::max);
    filled.iter().flat_map(|(label, text)| labelled_at(at, label, text, columns, style)).collect()
}

/// Returns a moment in the person's time zone: the time; the date too if the moment is more than 12 hours ago.
pub(super) fn time(context: &DrawContext<'_>, at: DateTime<Utc>) -> String {
    let is_old = span::between(at, context.now.wall) > Duration::from_secs(12 * 60 * 60);
    let local = at.with_timezone(&context.model.setting.zone);
    local.format(if is_old { "%m-%d %H:%M" } else { "%H:%M:%S" }).to_string()
}

/// Returns the line that is shown until a part of the transaction is loaded.
pub(super) fn reading(context: &DrawContext<'_>) -> Line<'static> {
    Line::styled(format!("Reading{}", context.theme.ellipsis), context.theme.dim())
}

/// Returns a title and a remark, which is cut at the end of the line.
pub(super) fn heading(context: &DrawContext<'_>, title: &str, remark: &str, columns: usize) -> Line<'static> {
    let remark = width::cut(remark, columns.saturating_sub(width::display_width(title) + 2), context.theme.ellipsis);
    Line::from(vec![
        Span::styled(format!("{title}  "), context.theme.label()),
        Span::styled(remark, context.theme.dim()),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_space_follows_the_longest_label_and_the_texts_are_aligned() {
        let facts = [("id", Some("7".to_owned())), ("integrator", Some("...demo".to_owned())), ("labels", None)];
        let text: Vec<_> = table(facts, 40, Style::new()).iter().map(ToString::to_string).collect();
        assert_eq!(text, ["id         7", "integrator ...demo"]);
        let text: Vec<_> =
            table([("id", Some("7".to_owned()))], 40, Style::new()).iter().map(ToString::to_string).collect();
        assert_eq!(text, ["id        7"]);
    }
}
