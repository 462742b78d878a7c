//! The verdict, the limit, SAY and DO of a transaction.
//!
//! These lines are shown above every tab, or below the list on a narrow screen. They must never need a key press.

use ratatui::{
    layout::Rect,
    style::{Modifier, Style},
    text::{Line, Span},
};

use crate::{
    domain::{
        advice::{self, Advice, Situation},
        alert::{Alert, AlertState, Rule},
        forecast::Quantile,
        handled::{self, action_sentence},
        span, text,
        transaction::Transaction,
    },
    presentation::{row_text, width},
    tui::{
        draw::{DrawContext, labelled_at},
        screens::list::view::marks::people_viewing,
    },
};

/// The columns of the labels ALERT, OPEN, CHAIN, SAY and DO.
const ADVICE_LABEL: usize = 6;

/// Returns hash, route and ticket; with several profiles, first the profile.
pub(crate) fn title(context: &DrawContext<'_>, tx: &Transaction, columns: usize) -> Line<'static> {
    let ticket = tx.params.ticket.as_deref().unwrap_or("");
    let profile_prefix = context.model.setting.profile_prefix(&tx.profile);
    let rest = format!("  {} {} {}  {ticket}", tx.from_name(), context.theme.glyphs().arrow(), tx.to_name());
    // The hash has the room that the rest leaves, but keeps its ends.
    let rest_columns = width::display_width(&profile_prefix) + width::display_width(rest.trim_end());
    let hash_room = columns.saturating_sub(rest_columns).max(13);
    let hash = width::cut_middle(tx.params.transaction_id.as_str(), hash_room, context.theme.ellipsis);
    let title = format!("{profile_prefix}{hash}{rest}");
    Line::from(Span::styled(width::cut(title.trim_end(), columns, context.theme.ellipsis), context.theme.label()))
}

/// Returns the lines of verdict, limit, handled alerts, SAY and DO, and those of them that don't fit into `room`. What
/// to say and to do comes first.
pub(crate) fn lines(
    context: &DrawContext<'_>,
    tx: &Transaction,
    columns: usize,
    room: usize,
) -> (Vec<Line<'static>>, Vec<Line<'static>>) {
    let advice = advice::advise(tx, context.now.wall, context.model.setting.zone);
    let mut lines = verdict(context, tx, &advice, columns);
    let handled = handled_by(context, context.model.alerts_of(tx.id));
    // Only the service's message names the wrong parameter.
    let refusal = tx.state.last_error.as_deref().filter(|_| tx.is_parked());
    let alerts = handling_text(context, tx).filter(|_| handled.is_none());
    let people = people_here(context, tx);
    let labelled = |label: &str, text: Option<&str>| {
        text.map_or_else(Vec::new, |text| labelled_at(ADVICE_LABEL, label, text, columns, context.theme.label()))
    };
    let paragraphs = [
        limit(context, tx, columns),
        refusal.map_or_else(Vec::new, |message| labelled_at(ADVICE_LABEL, "", message, columns, context.theme.dim())),
        labelled("ALERT", alerts.as_deref()),
        labelled("OPEN", people.as_deref()),
        labelled("CHAIN", advice.chain.as_deref()),
    ];
    let mut advised = labelled("SAY", Some(&advice.say));
    advised.extend(labelled("DO", Some(&act_sentence(handled.as_deref(), &advice.act))));
    let mut rest = Vec::new();
    for paragraph in paragraphs {
        // No partial sentences.
        let fits = rest.is_empty() && lines.len() + paragraph.len() + advised.len() <= room;
        if fits { lines.extend(paragraph) } else { rest.extend(paragraph) }
    }
    lines.extend(advised);
    (lines, rest)
}

/// Returns the number of rows that the verdict itself takes.
pub(crate) fn verdict_rows(context: &DrawContext<'_>, tx: &Transaction, columns: usize) -> usize {
    let advice = advice::advise(tx, context.now.wall, context.model.setting.zone);
    verdict(context, tx, &advice, columns).len()
}

/// Returns the people who handle these alerts; `None` if an alert fires.
pub(crate) fn handled_by(context: &DrawContext<'_>, alerts: &[Alert]) -> Option<String> {
    let (now, zone) = (context.now.wall, context.model.setting.zone);
    handled::handling_sentence(alerts, context.model.setting.author.as_deref(), now, &|at| {
        span::clock_time(at, now, zone)
    })
}

/// Returns what to do, after the sentence about the handling if there is one. The text begins with a capital letter and
/// ends with a full stop.
pub(crate) fn act_sentence(handled: Option<&str>, act: &str) -> String {
    let text = action_sentence(handled, act);
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    let stop = if text.ends_with(['.', ':', '!', '?']) || text.is_empty() { "" } else { "." };
    format!("{first}{}{stop}", letters.as_str())
}

/// Returns the other people of the team who have the transaction open; `None` without any.
fn people_here(context: &DrawContext<'_>, tx: &Transaction) -> Option<String> {
    let mut names: Vec<String> = people_viewing(context, tx).into_iter().map(text::clean).collect();
    names.sort();
    names.dedup();
    match names.as_slice() {
        [] => None,
        [name] => Some(format!("{name} has this open")),
        [names @ .., last] => Some(format!("{} and {last} have this open", names.join(", "))),
    }
}

/// Returns the row number, the verdict, SAY and DO of the selected transaction, for the preview below the list.
pub(crate) fn preview(context: &DrawContext<'_>, pane: Rect) -> Vec<Line<'static>> {
    let columns = usize::from(pane.width);
    let border = context.theme.border.horizontal_top;
    let rule = |text: &str| {
        Line::styled(width::cut(&format!("{text}{}", border.repeat(columns)), columns, ""), context.theme.dim())
    };
    let Some(tx) = context.model.selected() else { return vec![rule("")] };
    let (number, total) = context.model.list.position_text();
    let rule = rule(&format!("{} row {number} of {total} ", border.repeat(2)));
    let advice = advice::advise(tx, context.now.wall, context.model.setting.zone);
    // One empty column on each side, as in the detail.
    let text_columns = columns.saturating_sub(2);
    let room = usize::from(pane.height).saturating_sub(2);
    let say = labelled_at(ADVICE_LABEL, "SAY", &advice.say, text_columns, context.theme.label());
    let handled = handled_by(context, context.model.alerts_of(tx.id));
    let act = act_sentence(handled.as_deref(), &advice.act);
    let act = labelled_at(ADVICE_LABEL, "DO", &act, text_columns, context.theme.label());
    let rows_for_act = act.len().min(room.saturating_sub(say.len()).max(1));
    let mut lines = vec![rule];
    lines.extend(cut_rows(context, verdict(context, tx, &advice, text_columns), 1, text_columns));
    lines.extend(cut_rows(context, say, room.saturating_sub(rows_for_act), text_columns));
    lines.extend(cut_rows(context, act, rows_for_act, text_columns));
    for line in lines.iter_mut().skip(1) {
        line.spans.insert(0, Span::raw(" "));
    }
    lines
}

/// Returns at most `rows` lines; an ellipsis at the end shows that there are more.
fn cut_rows(
    context: &DrawContext<'_>,
    mut lines: Vec<Line<'static>>,
    rows: usize,
    columns: usize,
) -> Vec<Line<'static>> {
    if lines.len() > rows {
        lines.truncate(rows);
        if let Some(span) = lines.last_mut().and_then(|line| line.spans.last_mut()) {
            let room = columns.saturating_sub(ADVICE_LABEL + width::display_width(context.theme.ellipsis));
            span.content = format!("{}{}", width::cut(&span.content, room, ""), context.theme.ellipsis).into();
        }
    }
    lines
}

fn verdict(context: &DrawContext<'_>, tx: &Transaction, advice: &Advice, columns: usize) -> Vec<Line<'static>> {
    let style = match advice.situation {
        Situation::OverdueNotFound => context.theme.severity(Rule::Overdue.severity()),
        Situation::Alert(rule) => context.theme.severity(rule.severity()),
        Situation::Completed => context.theme.good(),
        Situation::DeadlinePassed
        | Situation::RevertedOnSource
        | Situation::DroppedOnSource
        | Situation::WrongSource
        | Situation::UnknownOnChains
        | Situation::MinedNotFound => context.theme.warning(),
        Situation::NotPolledYet
        | Situation::FirstPollFailed
        | Situation::Waiting
        | Situation::Indexing
        | Situation::PendingOnSource
        | Situation::NotFilled
        | Situation::Untracked
        | Situation::RefundWatched
        | Situation::NeedsGasWithoutLink => Style::new(),
    };
    let checked = match tx.state.last_checked_at {
        Some(at) => format!("  checked {} ago", span::short(span::between(at, context.now.wall))),
        None if tx.state.polls > 0 => "  no answer yet".into(),
        None => "  not checked yet".into(),
    };
    let verdict = width::wrap(&advice.verdict, columns).into_iter();
    let mut lines: Vec<Line<'_>> =
        verdict.map(|line| Line::from(Span::styled(line, style.add_modifier(Modifier::BOLD)))).collect();
    if let Some(last) = lines.last_mut() {
        let rest = columns.saturating_sub(last.width());
        // A time that doesn't fit whole is left out.
        let checked = if width::display_width(&checked) <= rest { checked } else { String::new() };
        last.push_span(Span::styled(format!("{checked:>rest$}"), context.theme.dim()));
    }
    lines
}

/// Returns the transaction's handled alerts in words, so that no second person handles these.
fn handling_text(context: &DrawContext<'_>, tx: &Transaction) -> Option<String> {
    let now = context.now.wall;
    let alerts = context.model.alerts_of(tx.id).iter().filter(|alert| alert.state(now) != AlertState::Firing);
    let words: Vec<_> = alerts
        .map(|alert| {
            format!("{} {}", alert.rule.label(), row_text::alert_state(alert, now, context.model.setting.zone))
        })
        .collect();
    (!words.is_empty()).then(|| words.join("; "))
}

fn limit(context: &DrawContext<'_>, tx: &Transaction, columns: usize) -> Vec<Line<'static>> {
    let deadline = tx.deadline();
    if !tx.is_awaited() {
        return Vec::new();
    }
    let zone = context.model.setting.zone;
    let since = match deadline.is_from_first_seen {
        true => "First seen",
        false if tx.is_submission_from_chain() => "Submitted (block time)",
        false => "Submitted",
    };
    let usual = span::nearest(context.model.forecast(tx).quantile(Quantile::P90));
    let text = format!(
        "{since} {}, {} ago. Limit {}: {}. 9 in 10 such transfers take at most {usual}.",
        span::clock_time(deadline.submitted, context.now.wall, zone),
        span::short(tx.age(context.now.wall)),
        span::clock_time(deadline.at, context.now.wall, zone),
        deadline.basis(),
    );
    labelled_at(0, "", &text, columns, context.theme.dim())
}
