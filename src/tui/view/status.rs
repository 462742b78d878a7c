//! The bottom of the screen: one line on the polling of each profile, the team, the keys.
//!
//! The polling line must never be reassuring beside an old answer: an obstacle replaces the budget's use.

use std::{iter, time::Duration};

use ratatui::{
    Frame,
    layout::Rect,
    text::{Line, Span},
    widgets::Clear,
};

use super::{header, layout};
use crate::{
    domain::{
        alert::{Rule, Severity},
        need,
        poller::{PollerHealth, PollerReport, UNRESPONSIVE},
        polling::{Freshness, PollingObstacle, PollingVerdict},
        span,
        team::{TeamLink, TeamMember},
        text,
    },
    presentation::{row_text, width},
    tui::{
        command::CommandId,
        dialogs::Dialog,
        draw::{DrawContext, put_lines, span_at},
        model::{MessageTone, Screen, polling::BudgetUse},
        screens::list::view::marks,
        widgets::progress_bar::ProgressBar,
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
            let columns = message_beside(context, pane).map_or(columns, |message| columns - usize::from(message.width));
            let counts = alert_counts(context);
            let mut lines = polling_lines(context, columns, counts.iter().map(Span::width).sum());
            lines.extend(team(context, columns));
            push_at_end(&mut lines, counts, columns);
            // A pane with fewer rows than lines keeps the keys.
            lines.truncate(usize::from(height) - 1);
            lines.push(keys(context, columns));
            lines
        }
    }
}

/// Returns the place of the status message at the end of the polling line, if both fit there.
fn message_beside(context: &DrawContext<'_>, pane: Rect) -> Option<Rect> {
    let message = context.model.status_message.as_ref().filter(|message| !message.text.contains('\n'))?;
    let columns = u16::try_from(width::display_width(&message.text) + 2).ok()?;
    let is_only_line = pane.height == 2 && context.model.other_profiles.is_empty();
    let of = context.model.budgets(context.now.wall).next().filter(|_| is_only_line)?;
    let polling: usize = verdict_spans(context, &of, &verdict(context, &of), LABEL).iter().map(Span::width).sum();
    let fits = polling + usize::from(columns) <= usize::from(pane.width);
    fits.then(|| Rect { x: pane.right() - columns, width: columns, height: 1, ..pane })
}

/// Draws the status message, if there is one: at the end of the polling line, else above the line of keys. There it
/// covers the polling line first, then more lines of the status, and at most two rows of the body.
pub(crate) fn draw_status_message(context: &DrawContext<'_>, body: Rect, pane: Rect, frame: &mut Frame<'_>) {
    // The rows of the body that the message may cover: none if a dialog is drawn there.
    let covered =
        if matches!(context.model.dialog, Dialog::None | Dialog::Filter(_) | Dialog::Find { .. }) { 2 } else { 0 };
    let Some(message) = &context.model.status_message else { return };
    let style = match message.tone {
        MessageTone::Good => context.theme.good(),
        MessageTone::Bad => context.theme.critical(),
    };
    if let Some(area) = message_beside(context, pane) {
        let text = message.text.replace('…', context.theme.ellipsis);
        return put_lines([Line::styled(format!(" {text}"), style)], area, frame);
    }
    let bottom = if pane.height > 1 { pane.bottom() - 1 } else { pane.bottom() };
    let top = pane.y.saturating_sub(covered).max(body.y).min(bottom);
    let columns = usize::from(pane.width).saturating_sub(2);
    let mut lines = width::wrap(&message.text.replace('…', context.theme.ellipsis), columns);
    let room = usize::from(bottom - top);
    if lines.len() > room {
        lines.truncate(room);
        lines.last_mut().into_iter().for_each(|last| {
            let room = columns.saturating_sub(width::display_width(context.theme.ellipsis));
            *last = format!("{}{}", width::cut(last, room, ""), context.theme.ellipsis);
        });
    }
    let height = u16::try_from(lines.len()).unwrap_or(u16::MAX).min(bottom - top);
    let area = Rect { y: bottom - height, height, ..pane };
    frame.render_widget(Clear, area);
    put_lines(lines.into_iter().map(|line| Line::styled(format!(" {line}"), style)), area, frame);
}

fn compact(context: &DrawContext<'_>, columns: usize) -> Line<'static> {
    let [critical, warning, info] = context.model.overview.alerts;
    let marked = marks::marks_text(context).map_or_else(String::new, |words| format!("  {words}"));
    let [help, filter, add, quit] =
        [CommandId::Help, CommandId::Filter, CommandId::Add, CommandId::QuitRoot].map(|id| context.key(id));
    let keys = format!("{help} help {filter} filter {add} add {quit} quit");
    let text = format!(" !!{critical} !{warning} i{info}{marked}  {keys}");
    Line::raw(width::cut(&text, columns, context.theme.ellipsis))
}

fn label(context: &DrawContext<'_>, text: &str, columns: usize) -> Span<'static> {
    let text = width::fit(&text::clean(text), columns, context.theme.ellipsis);
    Span::styled(format!(" {text} "), context.theme.label())
}

/// Returns the polling line of the active profile and of as many other profiles as fit. The last line says how many
/// profiles have no line. Less important pieces of the first line leave `reserved` columns free.
fn polling_lines(context: &DrawContext<'_>, columns: usize, reserved: usize) -> Vec<Line<'static>> {
    /// The most columns of a profile's name.
    const NAME: usize = 16;
    let others = layout::other_profile_rows(context.model);
    let name =
        context.model.setting.profiles().map(|name| width::display_width(&text::clean(name))).max().unwrap_or_default();
    let name = if context.model.other_profiles.is_empty() { LABEL } else { name.clamp(LABEL, NAME) };
    let shown = context.model.budgets(context.now.wall).take(1 + usize::from(others));
    let reserved = iter::once(reserved).chain(iter::repeat(0));
    let line = |(of, reserved): (BudgetUse<'_>, usize)| polling_line(context, &of, name, columns, reserved);
    let mut lines: Vec<Line<'static>> = shown.zip(reserved).map(line).collect();
    let hidden = context.model.other_profiles.len() - usize::from(others);
    if let Some(last) = lines.last_mut().filter(|_| hidden > 0) {
        last.spans.insert(1, Span::styled(format!("(and {hidden} more)  "), context.theme.dim()));
    }
    lines
}

/// Returns the numbers of firing alerts, if the header has no room for them.
fn alert_counts(context: &DrawContext<'_>) -> Vec<Span<'static>> {
    let alerts = if header::is_wide(context.model.size.0) { [0; 3] } else { context.model.overview.alerts };
    let firing = Severity::ALL.into_iter().zip(alerts).filter(|(_, count)| *count > 0);
    let count = |(severity, count)| {
        let text = format!("{}{count} ", row_text::mark(Some(severity)));
        Span::styled(text, context.theme.severity(severity))
    };
    firing.map(count).collect()
}

/// Appends spans at the right end of the first line that has room for them.
fn push_at_end(lines: &mut [Line<'static>], spans: Vec<Span<'static>>, columns: usize) {
    let needed: usize = spans.iter().map(Span::width).sum();
    let gap = |line: &Line<'_>| columns.saturating_sub(line.width() + needed);
    if let Some(line) = lines.iter_mut().find(|line| gap(line) > 0).filter(|_| needed > 0) {
        line.push_span(Span::raw(" ".repeat(gap(line))));
        line.spans.extend(spans);
    }
}

fn verdict(context: &DrawContext<'_>, of: &BudgetUse<'_>) -> PollingVerdict {
    PollingVerdict::new(of.report, of.paused_until, of.oldest, context.now.wall)
}

/// Returns the beginning of a profile's polling line: what stands in the way, or the use of the budget, and the age of
/// the answers.
fn verdict_spans(
    context: &DrawContext<'_>,
    of: &BudgetUse<'_>,
    verdict: &PollingVerdict,
    label_columns: usize,
) -> Vec<Span<'static>> {
    let name = if context.model.other_profiles.is_empty() { "Polling" } else { of.profile };
    let mut pieces = vec![label(context, name, label_columns)];
    pieces.extend(id_span(context, of));
    match (&verdict.obstacle, of.report) {
        (Some(obstacle), _) => {
            let style = match obstacle {
                PollingObstacle::NoPoller | PollingObstacle::Paused(_) => context.theme.warning(),
                PollingObstacle::Trouble(..) => context.theme.critical(),
            };
            pieces.push(Span::styled(obstacle_text(context, of.profile, *obstacle), style));
        }
        (None, Some(report)) => pieces.extend(budget_use(context, report)),
        (None, None) => {}
    }
    pieces.push(freshness(context, of.oldest, verdict.freshness));
    pieces
}

/// Returns the polling line of a profile: the use of the budget as a gauge, the age of the answers, the obstacle.
/// Pieces that don't fit are left out whole, the least important ones first; all but the verdict leave `reserved` columns
/// free.
fn polling_line(
    context: &DrawContext<'_>,
    of: &BudgetUse<'_>,
    label_columns: usize,
    columns: usize,
    reserved: usize,
) -> Line<'static> {
    /// The least columns of the last error: with fewer, hardly a word of it is left beside its age.
    const MIN_ERROR: usize = 48;
    /// From this age on an error says nothing about the polling.
    const ERROR_SHOWN: Duration = Duration::from_secs(10 * 60);
    let theme = context.theme;
    let verdict = verdict(context, of);
    let mut line = Line::default();
    push_fitting(&mut line, verdict_spans(context, of, &verdict, label_columns), columns);
    let (mut pieces, columns) = (Vec::new(), columns.saturating_sub(reserved));
    let has_error = of.report.is_some_and(|report| report.last_error.is_some());
    let error = of.report.and_then(|report| {
        let age = report.last_error_at.map(|at| span::between(at, context.now.wall));
        let text = report.last_error.as_deref().filter(|_| age.is_none_or(|age| age < ERROR_SHOWN))?;
        let ago = age.map_or_else(String::new, |age| format!(" {} ago", span::short(age)));
        Some(format!("last error{ago}: {}", text::clean(text)))
    });
    if let Some(report) = of.report {
        pieces.extend(poller_owner(context, report));
        if report.throttled > 0 {
            let answers = text::counted(report.throttled, "answer");
            pieces.push(Span::styled(format!("{answers} with HTTP 429   "), theme.warning()));
        }
        if !has_error && verdict.obstacle.is_none() {
            pieces.push(Span::styled("no errors", theme.dim()));
        }
    }
    push_fitting(&mut line, pieces, columns);
    let Some(error) = error else { return line };
    // The log has the whole error.
    let key = context.key(CommandId::Log);
    let hint = format!(" ({key}: log)");
    let room = columns.saturating_sub(line.width() + width::display_width(&hint));
    let shown = match room >= MIN_ERROR {
        true => format!("{}{hint}", width::cut_at_word(&error, room, theme.ellipsis)),
        false => format!("last error: {key} shows the log"),
    };
    if line.width() + width::display_width(&shown) <= columns {
        line.push_span(Span::styled(shown, theme.dim()));
    }
    line
}

fn push_fitting(line: &mut Line<'static>, pieces: Vec<Span<'static>>, columns: usize) {
    for piece in pieces {
        if line.width() + width::display_width(piece.content.trim_end()) <= columns {
            line.push_span(piece);
        }
    }
}

/// Returns the obstacle that keeps the profile from being polled, and the way out.
fn obstacle_text(context: &DrawContext<'_>, profile: &str, obstacle: PollingObstacle) -> String {
    let (model, now, zone) = (context.model, context.now.wall, context.model.setting.zone);
    match obstacle {
        PollingObstacle::Paused(until) => {
            let until = until.with_timezone(&zone).format("%H:%M");
            format!("PAUSED until {until} ({} resumes)   ", context.key(CommandId::Pause))
        }
        PollingObstacle::NoPoller if let Some(team) = &model.team => match &team.link {
            TeamLink::Connecting | TeamLink::CatchingUp | TeamLink::Live => {
                "NOT POLLING: waiting for a machine of the team that may poll (role hoptop_poller)   ".to_owned()
            }
            TeamLink::Away { .. } => "STOPPED here while the team's store is unreachable   ".to_owned(),
            TeamLink::Refused { .. } => "STOPPED here while the team's store can't be used   ".to_owned(),
        },
        PollingObstacle::NoPoller if model.setting.is_polling => "starting   ".to_owned(),
        PollingObstacle::NoPoller => "NOT POLLING: start hoptop without --no-poll   ".to_owned(),
        PollingObstacle::Trouble(PollerHealth::Waiting, _) => format!("WAITING: {UNRESPONSIVE}   "),
        PollingObstacle::Trouble(health, until) => {
            let (health_text, rule) = match health {
                PollerHealth::Unreachable => ("SERVICE UNREACHABLE", Some(Rule::Unreachable)),
                PollerHealth::Unauthorized => ("INTEGRATOR ID REFUSED", Some(Rule::Unauthorized)),
                PollerHealth::Throttled => ("THROTTLED by the service", Some(Rule::Throttled)),
                PollerHealth::Stopped => ("POLLING STOPPED", None),
                PollerHealth::Live | PollerHealth::Paused | PollerHealth::Waiting | PollerHealth::Unknown => {
                    ("POLLING IN AN UNKNOWN STATE", None)
                }
            };
            let alert = model.profile_alerts.iter().find(|alert| alert.profile == profile && Some(alert.rule) == rule);
            let since = alert.map(|alert| format!(" since {}", span::clock_time(alert.raised_at, now, zone)));
            let next = until
                .map_or_else(String::new, |until| format!(", next try in {}", span::long(span::between(now, until))));
            format!("{health_text}{}{next}   ", since.unwrap_or_default())
        }
    }
}

/// Returns the gauge of the requests a second, and whether these are enough.
fn budget_use(context: &DrawContext<'_>, report: &PollerReport) -> Vec<Span<'static>> {
    const GAUGE: usize = 10;
    let theme = context.theme;
    let Some(need) = &report.need else {
        return vec![Span::raw(format!("{:.1} requests/s, on request only   ", report.used))];
    };
    // The limit, not the rate that it allows in practice: the use of ten seconds may be above that rate.
    let allowed = (report.rps * report.share).max(1e-9);
    let style = if need.is_always_short() { theme.warning() } else { theme.good() };
    let (left, right) = theme.glyphs().choose(("▕", "▏"), ("[", "]"));
    let bar = ProgressBar { filled: (report.used / allowed).min(1.0), marks: &[], fill_style: style, scale_end: 1.0 };
    let mut spans = vec![Span::styled(left, theme.dim())];
    spans.extend(bar.spans(GAUGE, theme));
    spans.push(Span::styled(right, theme.dim()));
    spans.push(Span::raw(format!(" {:.1} of {allowed:.1} requests/s   ", report.used)));
    if need.is_always_short() {
        spans.push(Span::styled(format!("budget too small: {:.1}/s needed   ", need.polls), theme.warning()));
    }
    if report.share < 1.0 {
        spans.push(Span::styled(format!("rate cut to {:.0}%   ", report.share * 100.0), theme.warning()));
    }
    spans
}

/// Returns how old the oldest answer is, against the target.
fn freshness(context: &DrawContext<'_>, oldest: Option<Duration>, freshness: Freshness) -> Span<'static> {
    let theme = context.theme;
    let at_most = theme.glyphs().choose("≤", "<=");
    let Some(oldest) = oldest else { return Span::styled("nothing to poll   ", theme.dim()) };
    let style = match freshness {
        Freshness::Fresh => theme.good(),
        Freshness::Late => theme.warning(),
        Freshness::Stale => theme.critical(),
        Freshness::Unanswered(running) => {
            let since = span::long(running);
            return Span::styled(format!("no answer since the start {since} ago   "), theme.critical());
        }
    };
    // On a narrow screen the colour says whether the target is met. Without colours, a missed target is named.
    let is_missed_unseen = theme.good() == theme.warning() && freshness != Freshness::Fresh;
    let has_target = header::is_wide(context.model.size.0) || is_missed_unseen;
    let target = if has_target { format!(" (target {})", seconds(need::TARGET)) } else { String::new() };
    Span::styled(format!("answers {at_most} {} old{target}   ", seconds(oldest)), style)
}

/// Returns which other process polls, if it isn't this one.
fn poller_owner(context: &DrawContext<'_>, report: &PollerReport) -> Option<Span<'static>> {
    let setting = &context.model.setting;
    if report.process == setting.process {
        return None;
    }
    let other = context.model.team.as_ref().and_then(|team| team.poller.as_ref());
    let other = other.map_or_else(|| "another hoptop".to_owned(), machine);
    Some(Span::styled(format!("{other} polls   "), context.theme.dim()))
}

/// Returns the profile's ID, if several profiles are shown. The header shows the ID of a single profile.
fn id_span(context: &DrawContext<'_>, of: &BudgetUse<'_>) -> Option<Span<'static>> {
    let report = of.report.filter(|_| !context.model.other_profiles.is_empty())?;
    let id = text::clean(&report.id).replace('…', context.theme.ellipsis);
    Some(Span::styled(format!("{id}  "), context.theme.dim()))
}

/// Returns a span in seconds; from two minutes on in a larger unit.
fn seconds(span: Duration) -> String {
    if span < Duration::from_secs(120) { format!("{}s", span.as_secs()) } else { span::short(span) }
}

/// Returns the members online, the polling machine, and the lag of this machine; `None` for a store of one machine.
fn team(context: &DrawContext<'_>, columns: usize) -> Option<Line<'static>> {
    let team = context.model.team.as_ref()?;
    let online = format!("{} online", team.online_count());
    let poller = team.poller.as_ref().map(|poller| format!("polled by {}", machine(poller)));
    let poller = poller.unwrap_or_else(|| "no machine is polling".to_owned());
    let behind = match team.behind_since {
        None => "up to date".to_owned(),
        Some(since) => format!("{} behind", span::short(span::between(since, context.now.wall))),
    };
    let text = match &team.link {
        TeamLink::Connecting => "connecting to the team's store".to_owned(),
        TeamLink::CatchingUp => {
            let (applied, head) = (team.applied, team.head);
            let percent = applied.saturating_mul(100).checked_div(head).unwrap_or(100);
            format!("catching up: {applied} of {head} entries ({percent} %); the list can be used meanwhile")
        }
        TeamLink::Live => [online, poller, behind].join(context.theme.separator()),
        TeamLink::Away { since, .. } => {
            let since = span::clock_time(*since, context.now.wall, context.model.setting.zone);
            format!("team's store unreachable since {since}; retrying")
        }
        TeamLink::Refused { .. } => "the team's store can't be used: see above".to_owned(),
    };
    let label = label(context, "Team", LABEL);
    let room = columns.saturating_sub(width::display_width(&label.content));
    Some(Line::from(vec![label, Span::raw(width::cut(&text, room, context.theme.ellipsis))]))
}

/// Returns the name of a member's machine and its person.
fn machine(member: &TeamMember) -> String {
    format!("{} ({})", text::clean(&member.host), text::clean(&member.author))
}

/// Returns a line with as many keys and hints as fit whole.
fn keys(context: &DrawContext<'_>, columns: usize) -> Line<'static> {
    let completion;
    let hints: Vec<(&str, &'static str)> = match &context.model.dialog {
        Dialog::Filter(line) => {
            completion = line.completion();
            match completion.words.as_slice() {
                [] if context.model.list.filter_error.is_some() => vec![("Esc", "restore"), ("Up", "earlier filters")],
                [] => vec![("Enter", "apply"), ("Esc", "restore"), ("Up", "earlier filters")],
                words => iter::once("Tab").chain(words.iter().map(String::as_str)).map(|key| (key, "")).collect(),
            }
        }
        Dialog::CopyMenu(_) => vec![("j k", "move"), ("Enter", "choose"), ("Esc", "close")],
        Dialog::Find { .. } => vec![("Enter", "apply"), ("Esc", "restore")],
        Dialog::Add(form) => form.hints(),
        Dialog::Palette(_) => vec![("Enter", "run"), ("Tab", "complete"), ("Esc", "close")],
        Dialog::Prompt(prompt) => {
            let [_, verb, _] = prompt.texts();
            vec![("Enter", verb), ("Esc", "cancel")]
        }
        Dialog::Quote(form) => form.stage.hints().to_vec(),
        Dialog::Menu(menu) if menu.stays_open() => vec![("j k", "move"), ("Space", "show or hide"), ("Esc", "done")],
        Dialog::Menu(_) => vec![("j k", "move"), ("Enter", "choose"), ("Esc", "cancel")],
        Dialog::Help(page) => {
            let leave = if page.search_text().is_empty() { "close" } else { "clear" };
            vec![("Esc", leave), ("Up Down PgUp PgDn", "scroll")]
        }
        Dialog::None | Dialog::Reply { .. } => {
            command_hints(context).into_iter().map(|(_, key, hint)| (key, hint)).collect()
        }
    };
    let mut line = Line::raw(" ");
    for (key, hint) in hints {
        if line.width() + width::display_width(key) + 1 + width::display_width(hint) <= columns {
            line.push_span(Span::styled(key.to_owned(), context.theme.key()));
            line.push_span(Span::raw(format!(" {hint}  ")));
        }
    }
    line
}

/// Returns the commands of the line of keys, each with its key and its hint: those of the screen, and those that the
/// situation asks for.
fn command_hints<'a>(context: &DrawContext<'a>) -> Vec<(CommandId, &'a str, &'static str)> {
    let (model, keys) = (context.model, &context.model.setting.keys);
    // The commands that the situation asks for, and their index among the hints.
    let (index, situation): (usize, &[(CommandId, &'static str)]) = match (model.screen, &model.dialog) {
        (Screen::List, Dialog::None) if !model.marks.is_empty() => (
            0,
            &[
                (CommandId::Acknowledge, "ack"),
                (CommandId::Note, "note"),
                (CommandId::Ticket, "ticket"),
                (CommandId::Labels, "labels"),
                (CommandId::Untrack, "stop polling"),
                (CommandId::Clear, "unmark"),
            ],
        ),
        (Screen::Detail, Dialog::None) => (2, &[(CommandId::NextTab, "tab")]),
        _ => (0, &[]),
    };
    let is_nothing_tracked = model.is_loaded && model.overview.tabs == [0; 5];
    let can_run = |id: CommandId| !is_nothing_tracked || id.target_kind().is_none();
    let is_usual = |id: CommandId| can_run(id) && situation.iter().all(|(own, _)| *own != id);
    let mut hints: Vec<_> = keys.hints(model.contexts()).filter(|(id, ..)| is_usual(*id)).collect();
    let situation = situation.iter().filter_map(|(id, hint)| Some((*id, keys.first_key(*id)?, *hint)));
    let index = index.min(hints.len());
    hints.splice(index..index, situation);
    hints
}

/// Returns the command of the line of keys at a column of the screen.
pub(crate) fn command_at(context: &DrawContext<'_>, pane: Rect, column: u16) -> Option<CommandId> {
    if !matches!(context.model.dialog, Dialog::None) || pane.height < 2 {
        return None;
    }
    let line = keys(context, usize::from(pane.width));
    let index = span_at(&line, usize::from(column.checked_sub(pane.x)?))?;
    // After the blank at the start, each command is a key and a hint.
    let key = line.spans.get(index.checked_sub(1)? / 2 * 2 + 1)?.content.clone();
    command_hints(context).into_iter().find(|(_, own, _)| *own == key).map(|(id, ..)| id)
}
