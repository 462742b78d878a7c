//! Applies data from the store to the model: changes, pages of the list, counts, a history.
//!
//! Decides which reads follow. Must never move the selection, unless the selected transaction is gone.

use crate::{
    clock::{MonotonicTime, Now},
    domain::{alert::Severity, change::ChangeKind, ids::RowId, transaction::Transaction},
    presentation::{glyphs::Glyphs, row_text},
    store::{Changes, ListPage, ListRow},
    tui::{
        dialogs::{Dialog, quote},
        effect::Effect,
        message::StoreUpdate,
        model::{MessageTone, Model, Overview, Screen},
        screens::{
            alerts,
            detail::history::TransactionHistory,
            list::{state::PageRequest, tab::Tab},
        },
    },
};

/// Applies changes of the store, and requests the reads and notifications that follow.
pub(crate) fn on_store_changed(model: &mut Model, update: StoreUpdate, now: Now) {
    let StoreUpdate { feed, own, other_profiles, mut profile_alerts, notification_errors } = update;
    if let Some(error) = notification_errors.iter().find(|error| !model.notification_errors.contains(error)) {
        model.show_message(MessageTone::Bad, format!("A notification failed: {error}"), now.mono);
    }
    model.notification_errors = notification_errors;
    let quote = quote::update::on_store_changed(model, &feed);
    profile_alerts.retain(|alert| model.setting.shows_profile(&alert.profile));
    profile_alerts.sort_by_key(|alert| alert.rule);
    (model.profile_alerts, model.own, model.other_profiles) = (profile_alerts, own, other_profiles);
    model.stats.is_stale = true;
    // Most polls change nothing, and most of them concern transactions that aren't shown.
    let has_changes = feed.needs_resync
        || feed.has_dropped_polls
        || feed.changes.iter().any(|change| change.kind != ChangeKind::Polled);
    let is_filtered = !model.list.filter_text.is_empty() || matches!(model.list.tab, Tab::Own(_));
    let is_shown = |row: &RowId| is_filtered || model.transactions.contains_key(row);
    let notify = raised_notification(model, &feed);
    let touched = feed.rows(true);
    if !has_changes && !touched.iter().any(is_shown) {
        return model.effects.extend(quote.into_iter().chain(notify));
    }
    forget_deleted(model, &feed, now);
    let has_followed = std::mem::replace(&mut model.follows_store, true);
    let mut known = None;
    if feed.needs_resync {
        model.forget_rows();
        if has_followed {
            known = leave_rows(model, now.mono);
        }
    }
    model.list.mark_stale();
    let reload = model.list.selected.filter(|row| feed.needs_resync || touched.contains(row));
    reload.iter().for_each(|_| model.detail.raw.mark_stale());
    model.effects.extend(reload.map(Effect::LoadHistory));
    if has_changes {
        model.effects.push(Effect::Count);
        alerts::update::mark_stale(model, now.mono);
    }
    model.effects.extend(quote.into_iter().chain(notify).chain(known));
}

/// Returns the notification about raised alerts of severity warning and critical, in the shown profiles.
fn raised_notification(model: &Model, feed: &Changes) -> Option<Effect> {
    let own = feed.changes.iter().filter(|change| model.setting.shows_profile(&change.profile));
    let raised = own.filter_map(|change| {
        let (ChangeKind::AlertRaised { rule, severity } | ChangeKind::AlertFlapping { rule, severity }) = change.kind
        else {
            return None;
        };
        let known = change.transaction.and_then(|row| model.transactions.get(&row));
        let profile_name = || model.setting.shown_name(&change.profile).unwrap_or_default();
        let about = known.map_or_else(profile_name, describe);
        (severity > Severity::Info).then_some((rule, about))
    });
    let raised: Vec<_> = raised.collect();
    (!raised.is_empty()).then_some(Effect::NotifyDesktop(raised))
}

/// Returns a transaction in a few words: hash, route, and ticket or label.
fn describe(tx: &Transaction) -> String {
    let ticket = row_text::ticket_or_label(tx).map_or_else(String::new, |ticket| format!(" {ticket}"));
    format!("{} {}{ticket}", tx.params.transaction_id.short("..."), row_text::route(tx, Glyphs::Ascii))
}

/// Removes the marks of deleted transactions, and leaves the detail of one.
fn forget_deleted(model: &mut Model, feed: &Changes, now: Now) {
    for change in &feed.changes {
        if let ChangeKind::Deleted { row } = change.kind {
            model.marks.forget(RowId(row));
            if model.list.selected == Some(RowId(row)) {
                leave_detail(model, now.mono);
            }
        }
    }
}

/// Leaves the detail and the dialogs that concern a transaction: its row number means another one now. An open add form
/// stays, and the effect that looks its hashes up again is returned.
fn leave_rows(model: &mut Model, now: MonotonicTime) -> Option<Effect> {
    let was_open = model.is_open();
    if was_open {
        model.previous_screen = Screen::List;
        model.screen = if model.screen == Screen::Detail { Screen::List } else { model.screen };
    }
    let mut known = None;
    let was_chosen = match &mut model.dialog {
        Dialog::Prompt(_) | Dialog::Menu(_) | Dialog::CopyMenu(_) | Dialog::Palette(_) | Dialog::Find { .. } => true,
        Dialog::Add(form) => {
            known = Some(Effect::FindKnown(form.forget_rows()));
            false
        }
        // These concern no transaction of the list.
        Dialog::None | Dialog::Filter(_) | Dialog::Help { .. } | Dialog::Reply { .. } | Dialog::Quote(_) => false,
    };
    if was_chosen {
        model.dialog = Dialog::None;
    }
    if was_open || was_chosen {
        let reason = "The team's store was loaded again: select the transaction again.";
        model.show_message(MessageTone::Bad, reason, now);
    }
    model.list.forget_selection();
    model.alert_list.returns_to_alerts = false;
    known
}

/// Leaves the detail, whose transaction was deleted.
fn leave_detail(model: &mut Model, now: MonotonicTime) {
    if model.is_open() {
        model.alert_list.returns_to_alerts = false;
        if model.is_side_screen() {
            model.previous_screen = Screen::List;
        } else {
            model.screen = Screen::List;
            if let Dialog::Find { .. } = model.dialog {
                model.dialog = Dialog::None;
            }
        }
        model.show_message(MessageTone::Bad, "The transaction was deleted.", now);
    }
}

/// Applies a page of the list, or shows the error. A page of another view is ignored: that read may have been
/// cancelled.
pub(crate) fn on_page(model: &mut Model, request: &PageRequest, page: Result<ListPage, String>, now: Now) {
    match page {
        _ if request.view != model.list.view() => return,
        Ok(page) => {
            let before = model.selected().map(|tx| (tx.id, tx.params.transaction_id.short("…")));
            model.apply_page(request, page);
            report_left_view(model, before, now);
        }
        Err(error) => {
            model.should_retry_page = true;
            model.show_message(MessageTone::Bad, error, now.mono);
        }
    }
    let uncounted = model.list.before.is_none() || model.list.total.is_none();
    model.effects.extend(uncounted.then_some(Effect::Count));
}

/// Shows that the selected transaction left the view, so that no command is given for its neighbour by mistake.
fn report_left_view(model: &mut Model, before: Option<(RowId, String)>, now: Now) {
    let left = model.list.left_view.take();
    if let Some((row, hash)) = before
        && left == Some(row)
        && model.screen == Screen::List
        && let Some(selected) = model.selected().map(|tx| tx.params.transaction_id.short("…"))
    {
        model.show_message(MessageTone::Bad, format!("{hash} left this view; {selected} is selected now."), now.mono);
    }
}

/// Applies the counts, or shows the error. An error of another view is ignored: that read may have been cancelled.
pub(crate) fn on_counted(model: &mut Model, view: u64, counted: Result<Overview, String>, now: Now) {
    match counted {
        Ok(overview) => model.apply_overview(overview),
        Err(_) if view != model.list.view() => {}
        Err(error) => {
            model.should_retry_count = true;
            model.show_message(MessageTone::Bad, error, now.mono);
        }
    }
}

/// Applies the history of the selected transaction, and the transaction as it was with it; `None` if it was deleted.
pub(crate) fn on_history(
    model: &mut Model,
    row: RowId,
    (listed, history): (Option<ListRow>, TransactionHistory),
    now: MonotonicTime,
) {
    // Another transaction is selected by now, and its own history is being read.
    if model.list.selected != Some(row) {
        return;
    }
    match listed {
        Some(listed) => model.refresh_transaction(listed),
        None => return leave_detail(model, now),
    }
    model.history = Some((row, history));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::fixtures;

    #[test]
    fn notification_names_the_ticket_if_there_is_one() {
        let mut tx = fixtures::transaction(1);
        assert!(describe(&tx).ends_with(&row_text::route(&tx, Glyphs::Ascii)), "{}", describe(&tx));
        tx.params.ticket = Some("SUP-1".into());
        assert!(describe(&tx).ends_with(" SUP-1"), "{}", describe(&tx));
    }
}
