//! The top of the screen: the ID, the poller's health, the saved views with their counts, the time; a banner; the
//! filter.

use std::collections::BTreeSet;

use ratatui::{
    Frame,
    layout::Rect,
    style::Modifier,
    text::{Line, Span},
    widgets::Clear,
};
use tui_input::Input;

use crate::{
    domain::{advice, alert::Severity, poller::PollerHealth, span, team::TeamLink, text},
    presentation::{row_text, width},
    tui::{
        command::CommandId,
        dialogs::{Dialog, filter::state::FilterLine},
        draw::{DrawContext, put_lines},
        model::Screen,
        screens::list::tab::Tab,
        widgets::{field, tab},
    },
};

/// The text before the filter.
const PROMPT: &str = " / ";
/// The columns that a long filter leaves for the number of rows that it shows.
const COUNT: usize = 26;
/// The gap between the filter and its error.
const GAP: &str = "   ";

/// Whether the header of a screen of this width has room for the numbers of alerts.
pub(crate) fn is_wide(width: u16) -> bool {
    width >= 100
}

/// Returns the header's line, for a screen of this width.
pub(crate) fn line(context: &DrawContext<'_>, width: u16) -> Line<'static> {
    // The numbers of critical alerts and warnings, and all views, come before whole titles.
    let long = is_wide(width).then(|| build_line(context, width, true));
    match long {
        Some((line, true)) => line,
        Some((_, false)) | None => build_line(context, width, false).0,
    }
}

/// Returns the header's line, and whether it has all saved views, and the numbers of critical alerts and warnings. With
/// `is_long`, the views have their whole titles, and the team its number of machines.
fn build_line(context: &DrawContext<'_>, width: u16, is_long: bool) -> (Line<'static>, bool) {
    let wide = is_wide(width);
    let theme = context.theme;
    let mut spans = vec![Span::styled(" hoptop ", theme.accent())];
    // An ID that is too short to be shown is the ellipsis alone.
    if let Some(id) = context.model.setting.shown_id.as_ref().filter(|id| *id != "…") {
        let id = id.replace('…', theme.ellipsis);
        spans.push(Span::styled(if wide { format!(" id {id} ") } else { format!("{id} ") }, theme.dim()));
    }
    spans.push(health(context));
    spans.push(Span::raw(" "));
    let before_tabs = spans.len();
    let list = &context.model.list;
    // Alerts, charts and log are no part of the open view.
    let is_list = match context.model.screen {
        Screen::List | Screen::Detail => true,
        Screen::Alerts | Screen::Stats | Screen::Log => false,
    };
    for (tab, count) in Tab::BUILT_IN.into_iter().zip(list.counts) {
        let is_open = tab == list.tab;
        // If not all titles fit, only the open view's title is shown.
        if !is_open && width < 72 {
            continue;
        }
        let (long, short) = context.model.view_state.titles(tab);
        let title = format!("{} {} {count}", tab.number(), if is_long { long } else { short });
        // A wide screen has the numbers of alerts before the views.
        let needs_somebody = !is_open && tab == Tab::Attention && count > 0 && !wide;
        spans.push(match needs_somebody {
            true => Span::styled(format!(" {title} "), theme.critical()),
            false => tab::title(theme, &title, is_open && is_list),
        });
    }
    let team = context.model.team.as_ref().filter(|team| is_long && team.link == TeamLink::Live);
    if let Some(team) = team {
        spans.push(Span::styled(format!("  TEAM {} online", team.online_count()), theme.dim()));
    }
    let local = context.now.wall.with_timezone(&context.model.setting.zone);
    let mut time = local.format(if wide { "%H:%M:%S %:z " } else { "%H:%M:%S " }).to_string().replace("+00:00", "UTC");
    let mut badges = if wide { alert_badges(context) } else { Vec::new() };
    let used = |spans: &[Span<'_>]| spans.iter().map(|span| width::display_width(&span.content)).sum::<usize>();
    let room = |spans: &[Span<'_>]| usize::from(width).saturating_sub(used(spans));
    // The open view is always shown; others while the firing alerts and the time have room.
    let firing_count = context.model.overview.alerts.iter().filter(|count| **count > 0).count();
    let firing: usize = badges.iter().take(firing_count).map(|badge| width::display_width(&badge.content)).sum();
    let mut lacks_views = false;
    for (own, view) in context.model.view_state.own_views() {
        let tab = Tab::Own(own);
        let title = format!("{} {}", tab.number(), view.name);
        let is_open = tab == list.tab;
        if is_open || firing + width::display_width(&time) + width::display_width(&title) + 2 < room(&spans) {
            spans.push(tab::title(theme, &title, is_open && is_list));
        } else {
            lacks_views = true;
        }
    }
    let room = room(&spans);
    // In a team the number of machines is shown before that of warnings.
    let pressing = context.model.overview.alerts.iter().take(if team.is_some() { 1 } else { 2 });
    let pressing_count = pressing.filter(|count| **count > 0).count().max(usize::from(firing_count > 0));
    let pressing_count = pressing_count.min(badges.len());
    while !badges.is_empty() && used(&badges) + 1 + width::display_width(&time) >= room {
        badges.pop();
    }
    let lacks_alerts = badges.len() < pressing_count;
    // The time goes last: it is on every screen, the number of alerts only here.
    if let (true, Some(first)) =
        (lacks_alerts && badges.is_empty() && !is_long, alert_badges(context).into_iter().next())
        && width::display_width(&first.content) + 1 < room
    {
        badges.push(first);
        time.clear();
    }
    if room > width::display_width(&time) {
        let gap = room - used(&badges) - usize::from(!badges.is_empty()) - width::display_width(&time);
        spans.push(Span::raw(" ".repeat(gap)));
        spans.push(Span::styled(time, theme.dim()));
        // What needs somebody comes first.
        if !badges.is_empty() {
            badges.push(Span::raw(" "));
        }
        spans.splice(before_tabs..before_tabs, badges);
    }
    (Line::from(spans), !lacks_alerts && !lacks_views)
}

/// Returns the numbers of firing alerts by severity, and of handled alerts.
fn alert_badges(context: &DrawContext<'_>) -> Vec<Span<'static>> {
    let overview = &context.model.overview;
    let firing = Severity::ALL.into_iter().zip(overview.alerts).filter(|(_, count)| *count > 0);
    let mut badges: Vec<Span<'static>> = firing
        .map(|(severity, count)| {
            let text = format!(" {} {count} ", row_text::mark(Some(severity)));
            // Only badges that need somebody at once are filled.
            let style = context.theme.severity(severity);
            let is_urgent = severity == Severity::Critical;
            Span::styled(text, if is_urgent { style.add_modifier(Modifier::REVERSED) } else { style })
        })
        .collect();
    if overview.handled > 0 {
        badges.push(Span::styled(format!(" {} handled ", overview.handled), context.theme.dim()));
    }
    badges
}

fn health(context: &DrawContext<'_>) -> Span<'static> {
    let is_paused = context.model.own.paused_until(context.now.wall).is_some();
    if context.model.setting.is_demo && !is_paused {
        return Span::styled("DEMO ", context.theme.info());
    }
    match context.model.live_poller(context.now.wall).map(|report| report.health) {
        Some(PollerHealth::Live | PollerHealth::Paused) if is_paused => {
            Span::styled("PAUSED ", context.theme.warning())
        }
        Some(PollerHealth::Live | PollerHealth::Paused) => Span::styled("LIVE ", context.theme.good()),
        Some(
            health @ (PollerHealth::Throttled
            | PollerHealth::Unreachable
            | PollerHealth::Unauthorized
            | PollerHealth::Stopped
            | PollerHealth::Waiting
            | PollerHealth::Unknown),
        ) => Span::styled(format!("{} ", health.name().to_uppercase()), context.theme.critical()),
        None => Span::styled("NOT POLLING ", context.theme.warning()),
    }
}

/// Returns the most severe problem that affects the whole profile or the store, and the action.
pub(crate) fn banner(context: &DrawContext<'_>, width: u16) -> Line<'static> {
    let team = context.model.team.as_ref().map(|team| &team.link);
    let zone = context.model.setting.zone;
    let banner = match (&context.model.store_fault, context.model.profile_alert()) {
        (Some(_), _) if let Some(TeamLink::Away { reason, since }) = team => {
            let since = span::clock_time(*since, context.now.wall, zone);
            let reason = text::clean(reason);
            format!(" TEAM'S STORE UNREACHABLE since {since}: read-only, polling stopped here ({reason}) ")
        }
        (Some(_), _) if let Some(TeamLink::Refused { reason }) = team => {
            format!(" TEAM'S STORE: {} ", text::clean(reason))
        }
        // Trouble with the store comes first: while nothing can be stored, the shown data is out of date.
        (Some(store_fault), _) => format!(" STORE: {store_fault} "),
        // The action comes first, because a narrow screen cuts off the end.
        (None, Some(alert)) => {
            let rule = alert.rule;
            let firing = context.model.profile_alerts.iter().filter(|alert| alert.handling.is_none());
            let profiles: BTreeSet<&str> = firing.map(|alert| alert.profile.as_str()).collect();
            let setting = &context.model.setting;
            let name = || setting.shown_name(&alert.profile).unwrap_or_default();
            let prefix = match profiles.len() {
                ..=1 => setting.profile_prefix(&alert.profile),
                2 => format!("{} and 1 more profile: ", name()),
                all => format!("{} and {} more profiles: ", name(), all - 1),
            };
            let name = rule.label().to_uppercase();
            format!(" {prefix}{name}: {} ({}) ", advice::profile_action(rule), alert.message)
        }
        (None, None) => return Line::default(),
    };
    Line::styled(width::cut(&banner, usize::from(width), context.theme.ellipsis), context.theme.banner())
}

/// Returns the filter's line: the text or the error, and how many transactions are shown and hidden.
pub(crate) fn filter(context: &DrawContext<'_>, width: u16) -> Line<'static> {
    let list = &context.model.list;
    let typing = matches!(context.model.dialog, Dialog::Filter(_));
    let mut spans = vec![Span::styled(PROMPT, if typing { context.theme.key() } else { context.theme.dim() })];
    if let Dialog::Filter(line) = &context.model.dialog
        && let Some((typed, _)) = scrolled(&line.input, width)
    {
        spans.push(Span::raw(typed));
        return Line::from(spans);
    }
    match &list.filter_error {
        Some(error) => {
            let (before, wrong, after) = split(&list.filter_text, error.at.start, error.at.end);
            spans.extend([Span::raw(before), Span::styled(wrong, context.theme.wrong()), Span::raw(after)]);
            if error_below(context, usize::from(width)).is_none() {
                spans.push(Span::styled(format!("{GAP}{}", error.message), context.theme.warning()));
            }
        }
        None if list.filter_text.is_empty()
            && !typing
            && context.model.temporary_view.is_some()
            && context.model.marks.is_empty() =>
        {
            let back = format!("all transactions are shown; {} returns to your view", context.key(CommandId::Clear));
            spans.push(Span::styled(back, context.theme.dim()));
        }
        None if list.filter_text.is_empty() && !typing && matches!(list.tab, Tab::Own(_)) => {
            let view = context.model.view_state.base_filter(list.tab);
            spans.push(Span::styled(format!("{view}  (saved view)"), context.theme.dim()));
        }
        None if list.filter_text.is_empty() && !typing => {
            let hint = match width {
                90.. => "hash, ticket, chain or any text; or terms such as is:overdue, status:ongoing, age>30m",
                _ => "hash, ticket, chain or any text; or terms: is:overdue, age>30m",
            };
            spans.push(Span::styled(hint, context.theme.dim()));
        }
        None => match &context.model.dialog {
            Dialog::Filter(line) => spans.extend(typed_filter(context, line)),
            _ => {
                // What the filter hides is always counted.
                let room = usize::from(width).saturating_sub(PROMPT.len() + COUNT.min(usize::from(width) / 3));
                let own = width::cut(&list.filter_text, room, context.theme.ellipsis);
                let room = room - width::display_width(&own);
                spans.push(Span::raw(own));
                // A view of one's own isn't counted, so that its filter is named.
                if let Tab::Own(_) = list.tab {
                    let view = format!("  within {}", context.model.view_state.base_filter(list.tab));
                    spans.push(Span::styled(width::cut(&view, room, context.theme.ellipsis), context.theme.dim()));
                }
            }
        },
    }
    if list.filter_error.is_none() && !list.filter_text.is_empty() {
        let effect = if context.model.temporary_view.is_some() { "returns to your view" } else { "clears" };
        let clear = || format!("{} {effect}", context.key(CommandId::Clear));
        let clear = if typing { "Enter applies, Esc restores".to_owned() } else { clear() };
        let known = |count: Option<u64>| count.map_or_else(|| "-".to_owned(), |count| count.to_string());
        let short = format!("{} shown ({clear}) ", known(list.total));
        let count = match list.is_view_new {
            true => format!("searching ... ({clear}) "),
            false => match list.hidden() {
                // All of the view matches, or the terms only sort.
                Some(0) => short.clone(),
                None if matches!(list.tab, Tab::Own(_)) => short.clone(),
                hidden => format!("{} shown, {} hidden by filter ({clear}) ", known(list.total), known(hidden)),
            },
        };
        let used: usize = spans.iter().map(|span| width::display_width(&span.content)).sum();
        let room = usize::from(width).saturating_sub(used);
        let numbers = list.hidden().filter(|hidden| *hidden > 0);
        let numbers =
            numbers.map_or_else(String::new, |hidden| format!("{} shown, {hidden} hidden ", known(list.total)));
        let fitting = [count, numbers, short, format!("{} shown ", known(list.total))];
        if let Some(count) = fitting.iter().find(|count| !count.is_empty() && width::display_width(count) < room) {
            spans.push(Span::styled(format!("{count:>room$}"), context.theme.info()));
        }
    }
    Line::from(spans)
}

/// Returns the typed text and the order that stays; before anything is typed, how to recall the previous filter.
fn typed_filter(context: &DrawContext<'_>, line: &FilterLine) -> [Span<'static>; 2] {
    let typed = line.input.value().to_owned();
    let dim = match line.suggestion() {
        Some(offered) => format!("  Up: {offered}"),
        None => line.filter_text().strip_prefix(&typed).unwrap_or_default().to_owned(),
    };
    [Span::raw(typed), Span::styled(dim, context.theme.dim())]
}

/// Returns the filter's error, if the error doesn't fit beside the filter.
fn error_below<'a>(context: &DrawContext<'a>, columns: usize) -> Option<&'a str> {
    let list = &context.model.list;
    let message = list.filter_error.as_ref()?.message.as_str();
    let needed = [PROMPT, &list.filter_text, GAP, message].into_iter().map(width::display_width).sum::<usize>();
    (needed > columns).then_some(message)
}

/// Draws the filter's error below the filter, over the list, if the error doesn't fit beside the filter.
pub(crate) fn draw_error(context: &DrawContext<'_>, below: Rect, frame: &mut Frame<'_>) {
    let Some(message) = error_below(context, usize::from(below.width)) else { return };
    let lines = width::wrap(message, usize::from(below.width).saturating_sub(width::display_width(PROMPT) + 1).max(1));
    let height = u16::try_from(lines.len()).unwrap_or(u16::MAX).min(below.height);
    let pane = Rect { height, ..below };
    let indented =
        |line| Line::styled(format!("{}{line}", " ".repeat(width::display_width(PROMPT))), context.theme.warning());
    frame.render_widget(Clear, pane);
    put_lines(lines.into_iter().map(indented), pane, frame);
}

fn split(text: &str, start: usize, end: usize) -> (String, String, String) {
    let piece = |from: usize, to: usize| text.get(from..to).unwrap_or_default().to_owned();
    (piece(0, start), piece(start, end), piece(end, text.len()))
}

/// Returns the part of the typed filter around the cursor, and the cursor's column in it, if the filter is longer than the
/// line.
fn scrolled(input: &Input, width: u16) -> Option<(String, usize)> {
    let room = usize::from(width).saturating_sub(width::display_width(PROMPT));
    (width::display_width(input.value()) >= room).then(|| field::window(input, room))
}

pub(crate) fn place_cursor(frame: &mut Frame<'_>, row: Rect, input: &Input) {
    let column = scrolled(input, row.width).map_or_else(|| input.visual_cursor(), |(_, column)| column);
    field::place_cursor(width::display_width(PROMPT) + column, row, frame);
}
