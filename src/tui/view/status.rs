//! The bottom of the screen: alerts with overdue first, the budget's use and the oldest answer, the poller, the keys.

use std::time::Duration;

use ratatui::{
    Frame,
    layout::Rect,
    text::{Line, Span},
    widgets::Clear,
};

use super::layout;
use crate::{
    domain::{
        advice,
        alert::Severity,
        need,
        poller::{PollerHealth, UNRESPONSIVE},
        span,
        team::{TeamLink, TeamMember},
        text,
    },
    presentation::{row_text, width},
    tui::{
        command::Id,
        dialogs::Dialog,
        draw::{DrawContext, put_lines},
        model::{Screen, Tone, polling::BudgetUse},
        screens::list::view::marks,
    },
};

/// The columns of a line's label.
const LABEL: usize = 7;

/// Returns the lines of the bottom, at most as many as the pane has rows.
pub(crate) fn lines(context: &DrawContext<'_>, pane: Rect) -> Vec<Line<'static>> {
    let columns = usize::from(pane.width);
    match pane.height {
        // Dialogs and other screens show their keys nowhere else.
        0 | 1 if !matches!((context.model.screen, &context.model.dialog), (Screen::List, Dialog::None)) => {
            vec![keys(context, columns)]
        }
        0 | 1 => vec![compact(context, columns)],
        height => {
            let mut lines = vec![alerts(context, columns)];
            lines.extend(budgets(context, columns));
            lines.extend(team(context, columns));
            let rows = 3 + layout::other_profile_rows(context.model) + u16::from(context.model.team.is_some());
            lines.extend((height > rows).then(|| poller(context, columns)));
            lines.push(keys(context, columns));
            lines
        }
    }
}

/// Draws the status message above the line of keys, if there is one. The status message covers the poller's line first, which matters least,
/// then more lines of the status, and at most two rows of the body.
pub(crate) fn draw_status_message(context: &DrawContext<'_>, body: Rect, pane: Rect, frame: &mut Frame<'_>) {
    // The rows of the body that the message may cover: none if a dialog is drawn there.
    let covered =
        if matches!(context.model.dialog, Dialog::None | Dialog::Filter(_) | Dialog::Find { .. }) { 2 } else { 0 };
    let Some(notice) = &context.model.status_message else { return };
    let style = match notice.tone {
        Tone::Good => context.theme.good(),
        Tone::Bad => context.theme.critical(),
    };
    let bottom = if pane.height > 1 { pane.bottom() - 1 } else { pane.bottom() };
    let top = pane.y.saturating_sub(covered).max(body.y).min(bottom);
    let columns = usize::from(pane.width).saturating_sub(2);
    let mut lines = width::wrap(&notice.text.replace('…', context.theme.ellipsis), columns);
    let room = usize::from(bottom - top);
    if lines.len() > room {
        lines.truncate(room);
        lines.last_mut().into_iter().for_each(|last| {
            let room = columns.saturating_sub(width::display_width(context.theme.ellipsis));
            *last = format!("{}{}", width::cut(last, room, ""), context.theme.ellipsis);
        });
    }
    let height = u16::try_from(lines.len()).unwrap_or(u16::MAX).min(bottom - top);
    let place = Rect { y: bottom - height, height, ..pane };
    frame.render_widget(Clear, place);
    put_lines(lines.into_iter().map(|line| Line::styled(format!(" {line}"), style)), place, frame);
}

fn compact(context: &DrawContext<'_>, columns: usize) -> Line<'static> {
    let [critical, warning, info] = context.model.overview.alerts;
    let marked = marks::words(context).map_or_else(String::new, |words| format!("  {words}"));
    let [help, filter, add, quit] = [Id::Help, Id::Filter, Id::Add, Id::QuitRoot].map(|id| context.key(id));
    let keys = format!("{help} help {filter} filter {add} add {quit} quit");
    let text = format!(" !!{critical} !{warning} i{info}{marked}  {keys}");
    Line::raw(width::cut(&text, columns, context.theme.ellipsis))
}

fn label(context: &DrawContext<'_>, text: &str, columns: usize) -> Span<'static> {
    Span::styled(
        format!(" {} ", width::fit(&text::clean(text), columns, context.theme.ellipsis)),
        context.theme.label(),
    )
}

fn alerts(context: &DrawContext<'_>, columns: usize) -> Line<'static> {
    let mut spans = vec![label(context, "ALERTS", LABEL)];
    let severities = [Severity::Critical, Severity::Warning, Severity::Info];
    for (severity, count) in severities.into_iter().zip(context.model.overview.alerts) {
        let style = if count > 0 { context.theme.severity(severity) } else { context.theme.dim() };
        spans.push(Span::styled(format!("{} {count}  ", row_text::mark(Some(severity))), style));
    }
    if context.model.overview.handled > 0 {
        spans.push(Span::styled(format!("{} handled  ", context.model.overview.handled), context.theme.dim()));
    }
    let of_profile = context.model.profile_alert().map(|alert| alert.rule);
    match (of_profile, &context.model.overview.most_urgent) {
        (Some(rule), None) => spans.push(Span::styled(rule.name(), context.theme.severity(rule.severity()))),
        (_, Some((alert, tx))) => {
            let hash = tx.params.transaction_id.short(context.theme.ellipsis);
            let ticket = tx.params.ticket.as_ref().map_or_else(String::new, |ticket| format!(" ({ticket})"));
            let advice = advice::advise(tx, context.now.wall, context.model.setting.zone);
            let what = format!("{hash}{ticket}  {}", advice.verdict);
            let used: usize = spans.iter().map(|span| width::display_width(&span.content)).sum();
            let what = width::cut(&what, columns.saturating_sub(used), context.theme.ellipsis);
            let fires = alert.handling.is_none();
            let style = if fires { context.theme.severity(alert.rule.severity()) } else { context.theme.dim() };
            spans.push(Span::styled(what, style));
        }
        (None, None) => spans.push(Span::styled("nothing needs attention", context.theme.dim())),
    }
    spans.extend(alerts_key_hint(context, &spans, columns));
    Line::from(spans)
}

/// Returns the key that opens the alerts, for the end of the line; nothing if there is no space.
fn alerts_key_hint(context: &DrawContext<'_>, line: &[Span<'_>], columns: usize) -> Vec<Span<'static>> {
    const HINT: &str = " list ";
    let key = context.model.setting.keys.of(Id::Alerts).first().map_or("", String::as_str);
    let used: usize = line.iter().map(|span| width::display_width(&span.content)).sum();
    let needed = width::display_width(key) + width::display_width(HINT);
    if context.model.screen == Screen::Alerts || used + 2 + needed > columns {
        return Vec::new();
    }
    let gap = " ".repeat(columns - used - needed);
    vec![Span::raw(gap), Span::styled(key.to_owned(), context.theme.key()), Span::raw(HINT)]
}

/// Returns the budget lines of the active profile and of as many other profiles as fit. The last line says how many
/// profiles have no line.
fn budgets(context: &DrawContext<'_>, columns: usize) -> Vec<Line<'static>> {
    /// The most columns of a profile's name.
    const NAME: usize = 16;
    let others = layout::other_profile_rows(context.model);
    let name =
        context.model.setting.profiles().map(|name| width::display_width(&text::clean(name))).max().unwrap_or_default();
    let name = if context.model.other_profiles.is_empty() { LABEL } else { name.clamp(LABEL, NAME) };
    let shown = context.model.budgets(context.now.wall).take(1 + usize::from(others));
    let mut lines: Vec<Line<'static>> = shown.map(|of| budget(context, &of, name, columns)).collect();
    let hidden = context.model.other_profiles.len() - usize::from(others);
    if let Some(last) = lines.last_mut().filter(|_| hidden > 0) {
        last.spans.insert(1, Span::styled(format!("(and {hidden} more)  "), context.theme.dim()));
    }
    lines
}

/// Returns the budget line of a profile: the need against the budget, the time of a full sweep, the age of the oldest answer.
/// Pieces that don't fit are left out whole, the least important ones first.
fn budget(context: &DrawContext<'_>, of: &BudgetUse<'_>, label_columns: usize, columns: usize) -> Line<'static> {
    let name = if context.model.other_profiles.is_empty() { "BUDGET" } else { of.profile };
    let oldest = of.oldest.map_or_else(|| "-".into(), seconds);
    let oldest = Span::raw(format!("oldest {oldest}  "));
    let mut pieces = id_span(context, of);
    if let Some(until) = of.paused_until {
        let until = until.with_timezone(&context.model.setting.zone).format("%H:%M");
        let paused = format!("paused until {until} ({} to resume)  ", context.key(Id::Pause));
        pieces.push(Span::styled(paused, context.theme.warning()));
    }
    let report =
        of.report.filter(|report| report.health != PollerHealth::Waiting && !shows_trouble(context, report.health));
    if let Some((report, need)) = report.and_then(|report| Some((report, report.need.as_ref()?))) {
        let style = if need.is_lasting() { context.theme.warning() } else { context.theme.info() };
        let verdict = need.word();
        let full = (need.share().clamp(0.0, 1.0) * 10.0).round() as usize;
        let (sweep, target) = (seconds(need.sweep()), seconds(need::TARGET));
        pieces.push(Span::raw(format!("need {:.2} of {:.2} rps ", need.polls, need.allowed)));
        pieces.push(Span::styled(format!("[{}{}] ", "#".repeat(full), "-".repeat(10 - full)), style));
        pieces.push(Span::styled(format!("sweep {sweep}/{target} {verdict}  "), style));
        if report.share < 1.0 {
            pieces.push(Span::styled(format!("rate cut to {:.0}%  ", report.share * 100.0), context.theme.warning()));
        }
        pieces.push(oldest);
        let style = if report.throttled > 0 { context.theme.warning() } else { context.theme.dim() };
        pieces.push(Span::styled(format!("429s {}  ", report.throttled), style));
        let rest = [
            format!("id limit {}  ", report.rps),
            format!("used {:.2}  ", report.used),
            format!("{} to poll", need.unsettled),
        ];
        pieces.extend(rest.map(|text| Span::styled(text, context.theme.dim())));
    } else if let Some(report) = of.report.filter(|report| shows_trouble(context, report.health)) {
        pieces.push(Span::styled(format!("{}  ", report.health), context.theme.critical()));
        pieces.push(oldest);
        let error = report.last_error.as_deref().map(text::clean).unwrap_or_default();
        let used = label_columns + 2 + pieces.iter().map(|piece| width::display_width(&piece.content)).sum::<usize>();
        pieces.push(Span::raw(width::cut(&error, columns.saturating_sub(used), context.theme.ellipsis)));
    } else {
        pieces.push(Span::styled("not used: no poller is running  ", context.theme.warning()));
        pieces.push(oldest);
    }
    let mut line = Line::from(label(context, name, label_columns));
    for piece in pieces {
        if line.width() + width::display_width(piece.content.trim_end()) <= columns {
            line.push_span(piece);
        }
    }
    line
}

/// Returns the profile's ID, if several profiles are shown. The header shows the ID of a single profile.
fn id_span(context: &DrawContext<'_>, of: &BudgetUse<'_>) -> Vec<Span<'static>> {
    let Some(report) = of.report.filter(|_| !context.model.other_profiles.is_empty()) else { return Vec::new() };
    let id = text::clean(&report.id).replace('…', context.theme.ellipsis);
    vec![Span::styled(format!("{id}  "), context.theme.dim())]
}

/// Whether the budget line shows the poller's trouble: if several profiles are shown, since no other line shows the trouble.
fn shows_trouble(context: &DrawContext<'_>, health: PollerHealth) -> bool {
    !context.model.other_profiles.is_empty() && health.is_trouble()
}

/// Returns a span in seconds; from 1,000 s on in a larger unit.
fn seconds(span: Duration) -> String {
    if span < Duration::from_secs(1_000) { format!("{}s", span.as_secs()) } else { span::short(span) }
}

/// Returns who is online, who polls, and how far this machine is behind; `None` for a store of one machine.
fn team(context: &DrawContext<'_>, columns: usize) -> Option<Line<'static>> {
    let team = context.model.team.as_ref()?;
    let online = format!("{} online", team.online());
    let poller = team
        .poller
        .as_ref()
        .map_or("no machine is polling".to_owned(), |poller| format!("polled by {}", machine(poller)));
    let behind = match team.behind_since {
        None => "up to date".to_owned(),
        Some(since) => format!("{} behind", span::short(span::between(since, context.now.wall))),
    };
    let text = match &team.link {
        TeamLink::Connecting => "connecting to the team's store".to_owned(),
        TeamLink::CatchingUp => {
            let percent = team.applied.saturating_mul(100).checked_div(team.head).unwrap_or(100);
            format!(
                "catching up: {} of {} entries ({percent} %); the list can be used meanwhile",
                team.applied, team.head
            )
        }
        TeamLink::Live => [online, poller, behind].join(context.theme.separator()),
        TeamLink::Away { since, .. } => {
            let since = span::clock_time(*since, context.now.wall, context.model.setting.zone);
            format!("team's store unreachable since {since}; retrying")
        }
        TeamLink::Refused { .. } => "the team's store can't be used: see above".to_owned(),
    };
    let label = label(context, "TEAM", LABEL);
    let room = columns.saturating_sub(width::display_width(&label.content));
    Some(Line::from(vec![label, Span::raw(width::cut(&text, room, context.theme.ellipsis))]))
}

fn team_link<'a>(context: &'a DrawContext<'_>) -> Option<&'a TeamLink> {
    context.model.team.as_ref().map(|team| &team.link)
}

/// Returns the name of a member's machine and its person.
fn machine(member: &TeamMember) -> String {
    format!("{} ({})", text::clean(&member.host), text::clean(&member.author))
}

fn poller(context: &DrawContext<'_>, columns: usize) -> Line<'static> {
    let now = context.now.wall;
    let setting = &context.model.setting;
    let text = match (context.model.paused_until(now), context.model.live_poller(now)) {
        (Some(until), _) => {
            let key = context.key(Id::Pause);
            format!("paused for {} ({key} to resume)", span::long(span::between(now, until)))
        }
        (None, None) if let Some(link) = team_link(context) => match link {
            TeamLink::Connecting | TeamLink::CatchingUp | TeamLink::Live => {
                "no machine is polling: the team is choosing a machine".to_owned()
            }
            TeamLink::Away { .. } | TeamLink::Refused { .. } => {
                "stopped on this machine while the team's store is unreachable".to_owned()
            }
        },
        (None, None) if setting.polls => "starting".to_owned(),
        (None, None) => "off: start hoptop without --no-poll to poll".to_owned(),
        (None, Some(report)) if report.health == PollerHealth::Waiting => {
            format!("waiting: {UNRESPONSIVE}")
        }
        (None, Some(report)) => {
            let resting = report.resting_until.filter(|until| *until > now);
            let rest = resting
                .map_or_else(String::new, |until| format!(", next try in {}", span::long(span::between(now, until))));
            let error = report.last_error.as_deref().unwrap_or("none");
            let other = context.model.team.as_ref().and_then(|team| team.poller.as_ref());
            let other = other.map_or_else(|| "another hoptop".to_owned(), machine);
            let poller_owner = match (report.process == setting.process, setting.polls) {
                (true, _) => String::new(),
                (false, true) => format!(" ({other} polls; this one takes over when it ends)"),
                (false, false) => format!(" ({other} polls)"),
            };
            format!("{}{poller_owner}{rest}   {} requests   last error {error}", report.health, report.requests)
        }
    };
    let text = format!("{}{text}", setting.profile_prefix(&setting.profile));
    let label = label(context, "POLL", LABEL);
    let room = columns.saturating_sub(width::display_width(&label.content));
    Line::from(vec![label, Span::raw(width::cut(&text, room, context.theme.ellipsis))])
}

fn keys(context: &DrawContext<'_>, columns: usize) -> Line<'static> {
    let hints = |hints: &mut dyn Iterator<Item = (&str, &'static str)>| hints_in(context, hints, columns);
    match &context.model.dialog {
        Dialog::Filter(line) => match line.offers().words.as_slice() {
            [] if context.model.list.filter_error.is_some() => {
                hints(&mut [("Esc", "restore"), ("Up", "earlier filters")].into_iter())
            }
            [] => hints(&mut [("Enter", "apply"), ("Esc", "restore"), ("Up", "earlier filters")].into_iter()),
            words => hints(&mut [("Tab", "")].into_iter().chain(words.iter().map(|word| (word.as_str(), "")))),
        },
        Dialog::CopyMenu(_) => hints(&mut [("j k", "move"), ("Enter", "choose"), ("Esc", "close")].into_iter()),
        Dialog::Find { .. } => hints(&mut [("Enter", "apply"), ("Esc", "restore")].into_iter()),
        Dialog::Add(form) => hints(&mut form.hints().into_iter()),
        Dialog::Palette(_) => hints(&mut [("Enter", "run"), ("Tab", "complete"), ("Esc", "close")].into_iter()),
        Dialog::Prompt(prompt) => hints(&mut [("Enter", prompt.verb()), ("Esc", "cancel")].into_iter()),
        Dialog::Quote(form) => hints(&mut form.stage.hints().iter().copied()),
        Dialog::Menu(menu) if menu.stays_open() => {
            hints(&mut [("j k", "move"), ("Space", "show or hide"), ("Esc", "done")].into_iter())
        }
        Dialog::Menu(_) => hints(&mut [("j k", "move"), ("Enter", "choose"), ("Esc", "cancel")].into_iter()),
        Dialog::Help(page) => {
            let leave = if page.search_text().is_empty() { "close" } else { "clear" };
            hints(&mut [("Esc", leave), ("Up Down PgUp PgDn", "scroll")].into_iter())
        }
        Dialog::None | Dialog::Answer { .. } => hints(&mut context.model.setting.keys.hints(context.model.contexts())),
    }
}

/// Returns a line with as many hints as fit whole.
fn hints_in(
    context: &DrawContext<'_>,
    hints: &mut dyn Iterator<Item = (&str, &'static str)>,
    columns: usize,
) -> Line<'static> {
    let mut line = Line::raw(" ");
    for (key, hint) in hints {
        if line.width() + width::display_width(key) + 1 + width::display_width(hint) <= columns {
            line.push_span(Span::styled(key.to_owned(), context.theme.key()));
            line.push_span(Span::raw(format!(" {hint}  ")));
        }
    }
    line
}
