//! One transaction: verdict, what to say, what to do; then what the service said of it, and what we saw.
//!
//! The verdict comes first and without a key press; everything that the service sent stands below as it came.

use std::time::Duration;

use ratatui::{
    Frame,
    layout::{Margin, Rect},
    style::Style,
    text::{Line, Span},
    widgets::{Block, Paragraph},
};

use super::{Look, layout::Panes, legs};
use crate::{
    domain::{
        advice::{self, Advice, Situation},
        alert::Severity,
        experience, glance,
        ids::TxHash,
        record::{StatusRecord, Step},
        route::{self, RouteKind},
        span,
        transaction::Transaction,
        width,
    },
    tui::model::Screen,
};

/// What labels a line is this wide, so that what they label lines up.
const LABEL: usize = 10;

/// The part of the pane that holds text: inside the frame if there is one, a column free on either side.
fn inside(panes: &Panes, pane: Rect) -> Rect {
    pane.inner(Margin::new(if panes.split { 2 } else { 1 }, u16::from(panes.split)))
}

pub(super) fn draw(look: &Look<'_>, panes: &Panes, pane: Rect, frame: &mut Frame<'_>) {
    let inner = inside(panes, pane);
    let lines = lines(look, usize::from(inner.width));
    let scroll = match look.model.screen {
        Screen::Detail { scroll } => scroll.min(lines.len().saturating_sub(usize::from(inner.height))),
        Screen::List => 0,
    };
    if panes.split {
        let more = lines.len() > scroll + usize::from(inner.height);
        let hint = match look.model.screen {
            Screen::Detail { .. } if more => " more: j k ^D ^U ",
            Screen::List if more => " more: Enter ",
            _ => "",
        };
        let block = Block::bordered()
            .border_set(look.theme.border)
            .border_style(look.theme.dim())
            .title(Span::styled(" Detail ", look.theme.label()))
            .title_bottom(Span::styled(hint, look.theme.dim()));
        frame.render_widget(block, pane);
    }
    let shown: Vec<Line<'_>> = lines.into_iter().skip(scroll).take(usize::from(inner.height)).collect();
    frame.render_widget(Paragraph::new(shown), inner);
}

pub(super) fn scroll_end(look: &Look<'_>, panes: &Panes, pane: Rect) -> usize {
    let inner = inside(panes, pane);
    lines(look, usize::from(inner.width)).len().saturating_sub(usize::from(inner.height))
}

/// Where in the list and in its own lines the opened transaction is, in the filter's place.
pub(super) fn position(look: &Look<'_>, panes: &Panes) -> Line<'static> {
    let list = &look.model.list;
    let (place, count) = list.standing();
    let scroll =
        match (look.model.screen, panes.detail.map(|pane| (scroll_end(look, panes, pane), inside(panes, pane)))) {
            (Screen::Detail { scroll }, Some((end, inner))) if end > 0 => {
                let (first, height) = (scroll.min(end) + 1, usize::from(inner.height));
                format!("   lines {first} to {} of {}: j k scroll", first + height - 1, end + height)
            }
            _ => String::new(),
        };
    Line::styled(format!(" > {place} of {count} in {}{scroll}", list.tab.titles().0), look.theme.dim())
}

/// Verdict, SAY and DO of the selected one, for the bottom of a small screen's list.
pub(super) fn preview(look: &Look<'_>, pane: Rect) -> Vec<Line<'static>> {
    let columns = usize::from(pane.width);
    let rule = Line::styled(look.theme.border.horizontal_top.repeat(columns), look.theme.dim());
    let Some(tx) = look.model.selected() else { return vec![rule] };
    let advice = advice::advise(tx, look.now.wall, look.model.setting.zone);
    // A column free on either side, as in the detail.
    let text_columns = columns.saturating_sub(2);
    let room = usize::from(pane.height).saturating_sub(2);
    let say = labelled("SAY", advice.say.as_deref().unwrap_or("(nothing)"), text_columns, look.theme.label());
    let act = labelled("DO", &advice.act, text_columns, look.theme.label());
    let rows_for_act = act.len().min(room.saturating_sub(say.len()).max(1));
    let mut lines = vec![rule, verdict(look, tx, &advice, text_columns)];
    lines.extend(first(look, say, room.saturating_sub(rows_for_act), text_columns));
    lines.extend(first(look, act, rows_for_act, text_columns));
    for line in lines.iter_mut().skip(1) {
        line.spans.insert(0, Span::raw(" "));
    }
    lines
}

/// The first so many lines, marked as cut if there are more.
fn first(look: &Look<'_>, mut lines: Vec<Line<'static>>, rows: usize, columns: usize) -> Vec<Line<'static>> {
    if lines.len() > rows {
        lines.truncate(rows);
        if let Some(span) = lines.last_mut().and_then(|line| line.spans.last_mut()) {
            let room = columns.saturating_sub(LABEL + width::of(look.theme.ellipsis));
            span.content = format!("{}{}", width::cut(&span.content, room, ""), look.theme.ellipsis).into();
        }
    }
    lines
}

fn lines(look: &Look<'_>, columns: usize) -> Vec<Line<'static>> {
    let Some(tx) = look.model.selected() else {
        return vec![Line::styled(" Select a transaction.", look.theme.dim())];
    };
    let mut lines = top(look, tx, columns);
    lines.push(Line::default());
    lines.extend(legs::lines(look, tx, columns));
    lines.push(Line::default());
    lines.extend(progress(look, tx, columns));
    lines.extend(steps(look, tx, columns));
    lines.extend(links(look, tx, columns));
    lines.extend(facts(look, tx, columns));
    lines.extend(history(look, columns));
    lines
}

fn top(look: &Look<'_>, tx: &Transaction, columns: usize) -> Vec<Line<'static>> {
    let advice = advice::advise(tx, look.now.wall, look.model.setting.zone);
    let hash_room = columns.saturating_sub(40).max(18);
    let hash = width::cut_middle(tx.told.transaction_id.as_str(), hash_room, look.theme.ellipsis);
    let ticket = tx.told.ticket.as_deref().unwrap_or("");
    let title = format!("{hash}  {} > {}  {ticket}", tx.from_name(), tx.to_name());
    let mut lines = vec![Line::styled(width::cut(&title, columns, look.theme.ellipsis), look.theme.label())];
    lines.push(verdict(look, tx, &advice, columns));
    lines.extend(limit(look, tx, columns));
    if let Some(say) = &advice.say {
        lines.extend(labelled("SAY", say, columns, look.theme.label()));
    }
    lines.extend(labelled("DO", &advice.act, columns, look.theme.label()));
    lines
}

fn verdict(look: &Look<'_>, tx: &Transaction, advice: &Advice, columns: usize) -> Line<'static> {
    let style = match advice.situation {
        Situation::Alert(rule) => look.theme.severity(rule.severity()),
        Situation::Completed => look.theme.good(),
        Situation::Unconfirmed => look.theme.warning(),
        _ => Style::new(),
    };
    let checked = match tx.learned.last_checked_at {
        Some(at) => format!("  checked {} ago", span::short(span::between(at, look.now.wall))),
        None => "  never checked".into(),
    };
    let room = columns.saturating_sub(LABEL);
    let verdict = width::cut(&advice.verdict, room, look.theme.ellipsis);
    let rest = room.saturating_sub(width::of(&verdict));
    // Half of a time says nothing.
    let checked = if width::of(&checked) <= rest { checked } else { String::new() };
    Line::from(vec![
        Span::styled(format!("{:<LABEL$}", "VERDICT"), look.theme.label()),
        Span::styled(verdict, style.patch(look.theme.label())),
        Span::styled(checked, look.theme.dim()),
    ])
}

fn limit(look: &Look<'_>, tx: &Transaction, columns: usize) -> Vec<Line<'static>> {
    let deadline = tx.deadline();
    if !tx.is_waiting() {
        return Vec::new();
    }
    let zone = look.model.setting.zone;
    let since = if deadline.from_first_seen { "first seen" } else { "submitted" };
    let text = format!(
        "Running for {}, {since} {}; limit {}: {}.",
        span::long(tx.age(look.now.wall)),
        span::clock_time(deadline.submitted, look.now.wall, zone),
        span::clock_time(deadline.at, look.now.wall, zone),
        deadline.basis(),
    );
    labelled("", &text, columns, look.theme.dim())
}

/// A label in front, the text wrapped beside it.
pub(super) fn labelled(label: &str, text: &str, columns: usize, style: Style) -> Vec<Line<'static>> {
    let wrapped = width::wrap(text, columns.saturating_sub(LABEL));
    let mut label = format!("{label:<LABEL$}");
    let text_style = if label.trim().is_empty() { style } else { Style::new() };
    let mut lines = Vec::new();
    for line in wrapped {
        lines.push(Line::from(vec![Span::styled(label, style), Span::styled(line, text_style)]));
        label = " ".repeat(LABEL);
    }
    lines
}

/// Labelled lines, those without a text left out.
fn table(
    facts: impl IntoIterator<Item = (&'static str, Option<String>)>,
    columns: usize,
    style: Style,
) -> Vec<Line<'static>> {
    let filled = facts.into_iter().filter_map(|(label, text)| Some((label, text?)));
    filled.flat_map(|(label, text)| labelled(label, &text, columns, style)).collect()
}

/// How far it is, in the service's words and in ours.
fn progress(look: &Look<'_>, tx: &Transaction, columns: usize) -> Vec<Line<'static>> {
    let learned = &tx.learned;
    let record = learned.record.as_ref();
    let status = glance::status(learned.status.as_ref());
    let bridge = record.and_then(|record| said(record.bridge_status.as_deref()));
    let bridge = bridge.map_or_else(String::new, |said| format!(", bridge says: {said}"));
    let history = look.model.history.as_ref().filter(|(row, _)| *row == tx.id);
    let until = learned.settled_at.unwrap_or(look.now.wall);
    let facts = [
        ("status", Some(format!("{status}{bridge}"))),
        ("service", learned.message.clone()),
        ("error", record.map(|record| record.error.clone().unwrap_or_else(|| "none".into()))),
        ("last try", learned.last_error.as_ref().map(|error| last_try(tx, error))),
        ("timeSpent", record.map(time_spent)),
        ("observed", history.and_then(|(_, history)| history.observed(until))),
        ("indexing", experience::indexing_sentence(tx)),
        ("forecast", history.and_then(|(_, history)| history.past.sentence(tx, look.now.wall))),
    ];
    table(facts, columns, look.theme.dim())
}

fn facts(look: &Look<'_>, tx: &Transaction, columns: usize) -> Vec<Line<'static>> {
    let record = tx.learned.record.as_ref();
    let joined = |parts: &[String], between| Some(parts.join(between)).filter(|text| !text.is_empty());
    let alerts = look.model.alerts_of(tx.id).iter();
    let alerts: Vec<_> =
        alerts.map(|alert| format!("{} {}", glance::mark(Some(alert.rule.severity())), alert.rule)).collect();
    let facts = [
        ("hash", Some(tx.told.transaction_id.to_string())),
        ("quoteId", Some(tx.told.quote_id.clone())),
        ("requestId", tx.request_id().map(str::to_owned)),
        ("refund to", tx.told.from_address.clone()),
        ("gas", record.and_then(|record| said(record.gas_status.as_deref()))),
        ("type", route_words(tx)),
        ("id", own_id(tx)),
        ("integrator", record.and_then(|record| record.integrator.clone())),
        ("labels", joined(&tx.labels, ", ")),
        ("notes", joined(&tx.notes, " / ")),
        ("alerts", joined(&alerts, ", ")),
        ("warning", route::contradiction(tx)),
        ("warning", record.and_then(|record| joined(&record.warnings, "; "))),
        ("other", record.and_then(|record| joined(&others(record), "; "))),
    ];
    let mut lines = vec![Line::default(), heading(look, "FACTS", "")];
    lines.extend(table(facts, columns, look.theme.dim()));
    lines
}

/// What the service said, if it said anything.
fn said(text: Option<&str>) -> Option<String> {
    text.filter(|text| !text.is_empty()).map(str::to_owned)
}

/// The last failure, and whether anybody has to do something about it.
fn last_try(tx: &Transaction, error: &str) -> String {
    if tx.wants_polling() { format!("{error} (hoptop asks again)") } else { error.to_owned() }
}

/// The kind of the route, and whether it carries a message; as far as either is known.
fn route_words(tx: &Transaction) -> Option<String> {
    let kind = route::kind(tx).map(RouteKind::words);
    let gmp = tx.learned.record.as_ref().and_then(|record| record.is_gmp);
    let gmp = gmp.map(|gmp| if gmp { "general message passing (GMP)" } else { "not GMP" });
    let parts: Vec<_> = [kind, gmp].into_iter().flatten().collect();
    Some(parts.join(", ")).filter(|words| !words.is_empty())
}

/// The record's `id`, where it isn't just the hash.
fn own_id(tx: &Transaction) -> Option<String> {
    let id = tx.learned.record.as_ref()?.id.clone()?;
    (TxHash::new(id.clone()).key() != tx.told.transaction_id.key()).then_some(id)
}

/// What the service said that nobody documents: events' logs, and keys.
fn others(record: &StatusRecord) -> Vec<String> {
    let logs = [("source", &record.from), ("destination", &record.to)].into_iter();
    let logs = logs.filter(|(_, side)| !side.call_event_log.is_empty());
    let logs = logs.map(|(end, side)| format!("{end} event log {}", side.call_event_log.join(" ")));
    logs.chain(record.other.iter().map(|(key, value)| format!("{key} = {value}"))).collect()
}

fn time_spent(record: &StatusRecord) -> String {
    let times = record.time_spent_words();
    times.map_or_else(|| "none reported".into(), |times| format!("{times} (as reported; unit not documented)"))
}

fn steps(look: &Look<'_>, tx: &Transaction, columns: usize) -> Vec<Line<'static>> {
    let steps = tx.learned.record.as_ref().map_or(&[][..], |record| &record.steps);
    let mut lines = vec![Line::default(), heading(look, "STEPS", "routeStatus, in the order of the service")];
    if steps.is_empty() {
        lines.push(Line::styled("  none yet", look.theme.dim()));
    }
    let name = |step: &Step| step.chain_id.as_ref().map_or("-".to_owned(), |id| route::name_of(tx, id));
    lines.extend(steps.iter().enumerate().map(|(index, step)| step_line(look, (index, step), &name(step), columns)));
    lines
}

fn step_line(look: &Look<'_>, (index, step): (usize, &Step), chain: &str, columns: usize) -> Line<'static> {
    let status = step.status.as_deref().unwrap_or("-");
    let style = match status {
        "success" => look.theme.good(),
        "failed" | "error" | "reverted" => look.theme.severity(Severity::Critical),
        _ => Style::new(),
    };
    let room = columns.saturating_sub(4 + 9 + 6 + 14);
    let hash = step.transaction_id.as_ref().map_or("(no hash yet)".to_owned(), ToString::to_string);
    Line::from(vec![
        Span::styled(format!("  {} ", index + 1), look.theme.dim()),
        Span::styled(width::fit(status, 8, look.theme.ellipsis), style),
        Span::raw(" "),
        Span::raw(format!("{} ", width::fit(step.action.as_deref().unwrap_or("-"), 5, look.theme.ellipsis))),
        Span::raw(format!("{} ", width::fit(chain, 13, look.theme.ellipsis))),
        Span::styled(width::cut_middle(&hash, room.min(24), look.theme.ellipsis), look.theme.dim()),
    ])
}

fn links(look: &Look<'_>, tx: &Transaction, columns: usize) -> Vec<Line<'static>> {
    let ends = route::ends(tx);
    let bridge = tx.learned.record.as_ref().and_then(|record| record.bridge_url.as_deref());
    let links = [
        ("source", ends.source.url),
        ("dest", ends.destination.url.or(ends.hop.and_then(|hop| hop.url))),
        ("bridge", bridge.filter(|link| !link.is_empty())),
    ];
    let mut lines = vec![Line::default(), heading(look, "LINKS", "")];
    for (label, link) in links {
        lines.extend(labelled(&format!("  {label}"), link.unwrap_or("(none)"), columns, look.theme.dim()));
    }
    lines
}

fn history(look: &Look<'_>, columns: usize) -> Vec<Line<'static>> {
    let selected = look.model.list.selected;
    let Some((_, history)) = look.model.history.as_ref().filter(|(row, _)| Some(*row) == selected) else {
        return Vec::new();
    };
    let mut lines = vec![Line::default(), heading(look, "HISTORY", "as this program saw it, the newest first")];
    for entry in &history.entries {
        let local = entry.at.with_timezone(&look.model.setting.zone);
        let day = span::between(entry.at, look.now.wall) > Duration::from_secs(12 * 60 * 60);
        let time = local.format(if day { "%m-%d %H:%M" } else { "%H:%M:%S" });
        let text = format!("  {time}  {}", entry.text);
        lines.push(Line::styled(width::cut(&text, columns, look.theme.ellipsis), look.theme.dim()));
    }
    lines
}

fn heading(look: &Look<'_>, title: &str, remark: &str) -> Line<'static> {
    Line::from(vec![
        Span::styled(format!("{title}  "), look.theme.label()),
        Span::styled(remark.to_owned(), look.theme.dim()),
    ])
}
