//! The list of alerts: one alert a row, the most severe first, handled alerts last; below, details of the selected
//! alert.
//!
//! ```text
//! tabs          the tabs, with the number of alerts in each
//! rows          severity, rule, for how long, transaction or profile, state, what to do
//! more          the selected alert's message, what to say and what to do in full, and its transaction as far as there is room
//! ```
//!
//! On a wide screen rows and details have frames.

use std::borrow::Cow;

use chrono::{DateTime, Utc};
use ratatui::{
    Frame,
    layout::{Constraint, Layout, Margin, Rect},
    style::Style,
    text::{Line, Span},
};

use super::state::{AlertList, AlertRow, AlertTab, group_of};
use crate::{
    domain::{
        advice,
        alert::{Alert, AlertState, Handling, HandlingKind},
        span, text,
    },
    presentation::{row_text, width},
    tui::{
        command::CommandId,
        draw::{self, DrawContext, labelled_at, put_block, put_lines, span_at},
        screens::detail,
        widgets::{columns, tab},
    },
};

#[derive(Clone, Copy, PartialEq, Eq)]
enum AlertColumn {
    Severity,
    Rule,
    Lasted,
    Count,
    Item,
    Route,
    State,
    When,
    Ticket,
}

/// Each column, its title, its width, and the least width of a pane that shows the column.
const COLUMNS: [(AlertColumn, &str, usize, u16); 9] = [
    (AlertColumn::Severity, "", 2, 0),
    (AlertColumn::Rule, "RULE", 15, 0),
    (AlertColumn::Lasted, "FOR", 4, 0),
    (AlertColumn::Count, "COUNT", 5, 50),
    (AlertColumn::Item, "TRANSFER", 12, 38),
    (AlertColumn::Route, "ROUTE", 11, 60),
    (AlertColumn::State, "STATE", 8, 46),
    (AlertColumn::When, "WHEN", 8, 86),
    (AlertColumn::Ticket, "TICKET", 9, 80),
];
/// The least columns at which a row shows the action.
const WITH_ACTION: u16 = 98;
/// The least rows for details of the selected alert. A body of fewer than twice as many rows has no details.
const MIN_DETAILS: u16 = 6;
/// The least rows for these details on a high screen.
const MIN_DETAILS_ON_HIGH_SCREEN: u16 = 9;
/// The most rows for these details: advice, both ends and the timeline of the transaction need as many.
const MAX_DETAILS: u16 = 22;

/// The areas of the rows and of the details, with their frames if there are any.
struct AlertAreas {
    list: Rect,
    /// Empty on a low screen.
    details: Rect,
    is_framed: bool,
}

impl AlertAreas {
    fn new(context: &DrawContext<'_>, body: Rect) -> Self {
        let is_framed = draw::has_frames(body);
        // The titles, the rows, and an empty row or the end of the frame.
        let needed = u16::try_from(context.model.alert_list.rows().len()).unwrap_or(u16::MAX).saturating_add(2);
        let needed = needed.saturating_add(u16::from(is_framed));
        let least = (body.height * 2 / 5).clamp(MIN_DETAILS, MIN_DETAILS_ON_HIGH_SCREEN);
        let details = if body.height >= 2 * MIN_DETAILS {
            body.height.saturating_sub(needed).clamp(least, MAX_DETAILS)
        } else {
            0
        };
        let [list, details] = Layout::vertical([Constraint::Fill(1), Constraint::Length(details)]).areas(body);
        Self { list, details, is_framed }
    }

    /// Returns the area of titles and rows.
    fn rows(&self) -> Rect {
        if self.is_framed { self.list.inner(Margin::new(1, 1)) } else { self.list }
    }
}

/// Returns the number of alerts that fit into the body.
pub(crate) fn rows_in(context: &DrawContext<'_>, body: Rect) -> usize {
    usize::from(AlertAreas::new(context, body).rows().height.saturating_sub(1))
}

/// Returns the row of tabs, which is shown in place of the filter.
pub(crate) fn tabs(context: &DrawContext<'_>, columns: u16) -> Line<'static> {
    let list = &context.model.alert_list;
    let mut line = Line::from(Span::styled(" Alerts  ", context.theme.label()));
    let mut used = width::display_width(" Alerts  ");
    for tab in AlertTab::ALL {
        let title = format!("{} {}", tab.title(), list.count(tab));
        used += width::display_width(&title) + 2;
        // A number that is cut would be another number.
        let title = if used > usize::from(columns) { tab.title().to_owned() } else { title };
        line.push_span(tab::title(context.theme, &title, tab == list.tab));
    }
    let cut = list.page.as_ref().and_then(|page| match list.tab {
        AlertTab::All | AlertTab::Firing | AlertTab::Acknowledged | AlertTab::Snoozed => {
            page.has_more_active.then_some("most severe")
        }
        AlertTab::Resolved => page.has_more_resolved.then_some("newest"),
    });
    if let Some(kept) = cut {
        let text = format!("  only the {} {kept} are shown", AlertList::MAX_ALERTS);
        line.push_span(Span::styled(text, context.theme.warning()));
    }
    let [previous, next] = [CommandId::PrevState, CommandId::NextState].map(|id| context.key(id));
    let hint = format!("switch tab: {previous} and {next} ");
    let room = usize::from(columns).saturating_sub(line.width());
    if room > width::display_width(&hint) {
        line.push_span(Span::styled(format!("{hint:>room$}"), context.theme.dim()));
    }
    line
}

/// Returns the tab at a column of the row of tabs.
pub(crate) fn tab_at(context: &DrawContext<'_>, columns: u16, column: usize) -> Option<AlertTab> {
    let index = span_at(&tabs(context, columns), column)?;
    // The tabs follow the title of the screen.
    AlertTab::ALL.get(index.checked_sub(1)?).copied()
}

pub(crate) fn draw(context: &DrawContext<'_>, body: Rect, frame: &mut Frame<'_>) {
    let areas = AlertAreas::new(context, body);
    let pane = areas.rows();
    let list = &context.model.alert_list;
    let rows = list.rows();
    let columns = shown_columns(context, &rows, pane.width);
    let mut lines = vec![titles(context, &columns, pane.width)];
    let shown = rows.iter().enumerate().skip(list.top).take(rows_in(context, body));
    lines.extend(shown.map(|(index, row)| {
        let before = index.checked_sub(1).and_then(|before| rows.get(before)).map(|row| &row.alert);
        line(context, &DrawnAlert::new(context, row, before), &columns, pane.width)
    }));
    if list.count(list.tab) == 0 {
        lines.push(Line::styled(format!(" {}", empty(context)), context.theme.dim()));
    }
    put_lines(lines, pane, frame);
    if areas.is_framed {
        let position =
            list.position().map_or_else(String::new, |position| format!(" {} of {} ", position + 1, rows.len()));
        let title = format!(" {} {} ", list.tab.title(), list.count(list.tab));
        let block = context.dim_block(title).title_bottom(Span::styled(position, context.theme.dim()));
        put_block(block, areas.list, frame);
        let details = put_block(context.dim_block(" Selected alert "), areas.details, frame);
        put_lines(selected_details(context, details), details, frame);
    } else if !areas.details.is_empty() {
        let below = Rect { y: areas.details.y + 1, height: areas.details.height - 1, ..areas.details };
        let rule = context.theme.border.horizontal_top.repeat(usize::from(body.width));
        put_lines([Line::styled(rule, context.theme.dim())], areas.details, frame);
        put_lines(selected_details(context, below), below, frame);
    }
}

fn empty(context: &DrawContext<'_>) -> String {
    let list = &context.model.alert_list;
    let hint = |id, verb: &str| format!("No alerts here. Press {} to {verb} an alert.", context.key(id));
    let text = match (&list.page, list.tab) {
        (None, _) => return format!("Reading the store{}", context.theme.ellipsis),
        (_, AlertTab::All) => "No active alerts.",
        (_, AlertTab::Firing) => "No firing alerts: all active alerts are acknowledged or snoozed.",
        (_, AlertTab::Acknowledged) => return hint(CommandId::Acknowledge, "acknowledge"),
        (_, AlertTab::Snoozed) => return hint(CommandId::Snooze, "snooze"),
        (_, AlertTab::Resolved) => "No alerts were resolved in the last 24 hours.",
    };
    text.to_owned()
}

/// Returns the columns of the rows. While every alert fires, the state's columns would be the same in each row, so the
/// action has their room. Costs O(n) in the rows.
fn shown_columns(context: &DrawContext<'_>, rows: &[&AlertRow], width: u16) -> Vec<(AlertColumn, &'static str, usize)> {
    let fires = |row: &&AlertRow| row.alert.state(context.now.wall) == AlertState::Firing && !row.alert.is_flapping;
    let all_fire = rows.iter().all(fires);
    let is_redundant = |column| all_fire && matches!(column, AlertColumn::State | AlertColumn::When);
    let shown = COLUMNS.iter().filter(|(column, .., from)| width >= *from && !is_redundant(*column));
    shown.map(|(column, title, columns, _)| (*column, *title, *columns)).collect()
}

fn titles(context: &DrawContext<'_>, columns: &[(AlertColumn, &'static str, usize)], width: u16) -> Line<'static> {
    let mut text = String::from(" ");
    for (_, title, columns) in columns {
        text.push_str(&format!("{title:<columns$} "));
    }
    if width >= WITH_ACTION {
        text.push_str("WHAT TO DO");
    }
    Line::styled(text, context.theme.dim())
}

/// A row, with its place in its group.
struct DrawnAlert<'a> {
    row: &'a AlertRow,
    /// The alerts of the group, if the row is the first of several.
    group: Vec<&'a AlertRow>,
    /// Whether the row represents its whole group.
    is_folded: bool,
    /// Whether the row above is of the same group.
    is_continued: bool,
}

impl<'a> DrawnAlert<'a> {
    fn new(context: &'a DrawContext<'_>, row: &'a AlertRow, before: Option<&Alert>) -> Self {
        let list = &context.model.alert_list;
        let is_same = |before: &Alert| group_of(before) == group_of(&row.alert);
        let is_continued = before.is_some_and(is_same) && row.alert.cleared_at.is_none();
        let group = if is_continued { Vec::new() } else { list.group(&row.alert) };
        let group = if group.len() > 1 { group } else { Vec::new() };
        Self { row, is_folded: !group.is_empty() && list.is_folded(&row.alert), group, is_continued }
    }

    /// Returns the value of the row; of a folded group only if all its alerts share it.
    fn shared<T: PartialEq>(&self, value: impl Fn(&AlertRow) -> T) -> Option<T> {
        let own = value(self.row);
        let is_shared = !self.is_folded || self.group.iter().all(|row| value(row) == own);
        is_shared.then_some(own)
    }
}

fn line(
    context: &DrawContext<'_>,
    drawn: &DrawnAlert<'_>,
    columns: &[(AlertColumn, &'static str, usize)],
    columns_of_pane: u16,
) -> Line<'static> {
    let row = drawn.row;
    let selected = context.model.alert_list.selected == Some(row.alert.id);
    let firing = (row.alert.state(context.now.wall) == AlertState::Firing).then(|| row.alert.rule.severity());
    let mut spans = vec![columns::edge(context, if selected { ">" } else { " " }, firing)];
    for (column, _, columns) in columns {
        let (text, style) = cell(context, drawn, *column);
        spans.push(Span::styled(width::fit(&text, *columns, context.theme.ellipsis), style));
        spans.push(Span::raw(" "));
    }
    if columns_of_pane >= WITH_ACTION {
        let used: usize = spans.iter().map(|span| width::display_width(&span.content)).sum();
        let room = usize::from(columns_of_pane).saturating_sub(used);
        let now = context.now.wall;
        let case =
            |row: &AlertRow| (row.transaction.as_ref().map(|tx| advice::situation(tx, now)), row.alert.state(now));
        // Comparing the cases is cheaper than wording each action.
        let text = drawn.shared(case).and_then(|_| drawn.shared(|row| action(context, row)));
        let text =
            text.unwrap_or_else(|| format!("Different actions: {} shows them", context.key(CommandId::FoldRule)));
        spans.push(Span::raw(width::cut_at_word(&text, room, context.theme.ellipsis)));
    }
    columns::severity_row(context, spans, firing, selected, columns_of_pane)
}

fn cell(context: &DrawContext<'_>, drawn: &DrawnAlert<'_>, column: AlertColumn) -> (String, Style) {
    let AlertRow { alert, transaction } = drawn.row;
    let severity = alert.rule.severity();
    let of_transaction = transaction.as_ref();
    let lasted = |row: &AlertRow| row_text::condition_lasted(&row.alert, row.transaction.as_ref(), context.now.wall);
    match column {
        // A row of a folded group shows only facts that all of its alerts share.
        AlertColumn::Lasted if drawn.is_folded => {
            let began = |row: &&AlertRow| advice::condition_began(&row.alert, row.transaction.as_ref()).0;
            let oldest = drawn.group.iter().copied().min_by_key(began);
            (oldest.map_or_else(String::new, lasted), Style::new())
        }
        AlertColumn::Item if drawn.is_folded => (format!("{} alerts", drawn.group.len()), context.theme.label()),
        AlertColumn::Route | AlertColumn::When | AlertColumn::Ticket if drawn.is_folded => {
            (String::new(), Style::new())
        }
        AlertColumn::Count if drawn.group.is_empty() => (String::new(), Style::new()),
        AlertColumn::Count => {
            let glyphs = context.theme.glyphs();
            let mark = if drawn.is_folded { glyphs.choose("▸", "+") } else { glyphs.choose("▾", "-") };
            (format!("{mark} {}", drawn.group.len()), context.theme.label())
        }
        AlertColumn::Rule if drawn.is_continued => (alert.rule.label().into(), context.theme.dim()),
        AlertColumn::Severity => (row_text::mark(Some(severity)).into(), context.theme.severity(severity)),
        AlertColumn::Rule => (alert.rule.label().into(), context.theme.severity(severity)),
        // How long the condition holds, or held.
        AlertColumn::Lasted => (lasted(drawn.row), Style::new()),
        AlertColumn::Item => {
            let about = match of_transaction {
                Some(tx) => tx.params.transaction_id.short(context.theme.ellipsis),
                None if alert.profile == context.model.setting.profile => "the profile".into(),
                None => text::clean(&alert.profile),
            };
            (about, Style::new())
        }
        AlertColumn::Route => {
            (of_transaction.map_or_else(String::new, |tx| row_text::route(tx, context.theme.glyphs())), Style::new())
        }
        AlertColumn::State => {
            let fires = |row: &&AlertRow| row.alert.state(context.now.wall) == AlertState::Firing;
            let mixed = || match drawn.group.iter().any(fires) {
                true => ("firing".to_owned(), Style::new()),
                false => ("handled".to_owned(), context.theme.dim()),
            };
            drawn.shared(|row| state(context, &row.alert)).unwrap_or_else(mixed)
        }
        AlertColumn::When => {
            let text = match (alert.cleared_at, &alert.handling) {
                (Some(cleared), _) => ago(context, cleared),
                (None, None) => "-".into(),
                (None, Some(Handling { at, kind: HandlingKind::Acknowledged(_), .. })) => ago(context, *at),
                (None, Some(Handling { kind: HandlingKind::Snoozed(until), .. })) => match until.moment() {
                    Some(moment) => context.local_time(moment, "%H:%M", "%m-%d"),
                    None => "a change".into(),
                },
            };
            (text, context.theme.dim())
        }
        AlertColumn::Ticket => {
            let ticket = of_transaction.and_then(row_text::ticket_or_label_cell);
            (ticket.map_or_else(|| "-".to_owned(), Cow::into_owned), context.theme.dim())
        }
    }
}

fn ago(context: &DrawContext<'_>, at: DateTime<Utc>) -> String {
    format!("{} ago", span::short(span::between(at, context.now.wall)))
}

fn state(context: &DrawContext<'_>, alert: &Alert) -> (String, Style) {
    match alert.state(context.now.wall) {
        AlertState::Firing if alert.is_flapping => ("flapping".into(), context.theme.warning()),
        AlertState::Firing => ("firing".into(), Style::new()),
        AlertState::Acknowledged => ("acked".into(), context.theme.good()),
        AlertState::Snoozed => ("snoozed".into(), context.theme.dim()),
        AlertState::Cleared => ("resolved".into(), context.theme.good()),
    }
}

fn action(context: &DrawContext<'_>, row: &AlertRow) -> String {
    let act = match &row.transaction {
        Some(tx) => advice::advise(tx, context.now.wall, context.model.setting.zone).act,
        None => advice::profile_action(row.alert.rule).to_owned(),
    };
    let handled = detail::view::handled_by(context, std::slice::from_ref(&row.alert));
    detail::view::act_sentence(handled.filter(|_| row.alert.cleared_at.is_none()).as_deref(), &act)
}

/// Returns the details of the selected alert: message, state, note, action.
fn selected_details(context: &DrawContext<'_>, pane: Rect) -> Vec<Line<'static>> {
    let (columns, rows) = (usize::from(pane.width), usize::from(pane.height));
    let Some(row) = context.model.alert_list.selected_row() else { return Vec::new() };
    let stamp = |at: DateTime<Utc>| at.with_timezone(&context.model.setting.zone).format("%m-%d %H:%M:%S").to_string();
    let (began, may_be_older) = advice::condition_began(&row.alert, row.transaction.as_ref());
    let raised = stamp(began);
    let case = match row.alert.cleared_at {
        None => {
            let since = if may_be_older { "first seen" } else { "since" };
            ("CASE", Some(format!("{} ({since} {raised})", row.alert.message)))
        }
        Some(cleared) => ("WAS", Some(format!("{} (from {raised} to {})", row.alert.message, stamp(cleared)))),
    };
    let handling = row.alert.handling.as_ref().filter(|_| row.alert.cleared_at.is_none());
    let state = handling.map(|_| row_text::alert_state(&row.alert, context.now.wall, context.model.setting.zone));
    let note = row.alert.handling.as_ref().filter(|_| state.is_none()).and_then(Handling::note).map(str::to_owned);
    let tx = row.transaction.as_ref();
    let say = tx.map(|tx| advice::advise(tx, context.now.wall, context.model.setting.zone).say);
    let texts = [case, ("NOW", state), ("NOTE", note), ("SAY", say), ("DO", Some(action(context, row)))];
    let (text_columns, style) = (columns.saturating_sub(1), context.theme.label());
    let mut parts = texts.map(|(label, text)| {
        let labelled = |text: String| labelled_at(6, &format!(" {label}"), &text, text_columns, style);
        (label, text.map(labelled).unwrap_or_default())
    });
    // What to say takes the rows that the others leave.
    let others: usize = parts.iter().filter(|(label, _)| *label != "SAY").map(|(_, lines)| lines.len()).sum();
    for (_, say) in parts.iter_mut().filter(|(label, _)| *label == "SAY") {
        cut_rows(context, say, rows.saturating_sub(others));
    }
    let mut lines: Vec<_> = parts.into_iter().flat_map(|(_, lines)| lines).collect();
    if let Some(tx) = tx {
        let overview = detail::view::overview(context, tx, columns.saturating_sub(2));
        if lines.len() + 1 + overview.len() <= rows {
            lines.push(Line::default());
            lines.extend(overview.into_iter().map(|mut line| {
                line.spans.insert(0, Span::raw(" "));
                line
            }));
        }
    }
    lines
}

/// Keeps at most so many rows of a text; an ellipsis shows that there is more.
fn cut_rows(context: &DrawContext<'_>, lines: &mut Vec<Line<'static>>, rows: usize) {
    if lines.len() > rows {
        lines.truncate(rows);
        if let Some(text) = lines.last_mut().and_then(|line| line.spans.last_mut()) {
            let whole = text.content.rsplit_once(' ').map_or(&*text.content, |(whole, _)| whole);
            text.content = format!("{whole}{}", context.theme.ellipsis).into();
        }
    }
}
