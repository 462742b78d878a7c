//! The loop's writes for a person: each ends with a message about its result.
//!
//! The writes block for the disk, so they must run on the pool for blocking work.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use super::{
    dashboard::Dashboard,
    edits::{self, WriteContext},
};
use crate::{
    domain::{
        ids::{RowId, TransactionKey},
        operation::Operation,
        transaction::NewTransaction,
    },
    store::{ImportToUndo, OpenMark, OperationResult, StoreError},
    tui::{
        effect::{QuoteWork, Write},
        export::ExportOrder,
        message::{Msg, QuoteProgress},
        model::DashboardSettings,
    },
};

/// The time for which a transaction counts as open, unless the mark is renewed.
const OPEN_FOR: Duration = Duration::from_secs(60);

/// Returns the message about the result of a command.
fn outcome_message(outcome: Result<String, StoreError>) -> Msg {
    outcome.map_or_else(|error| Msg::Failed(error.to_string()), Msg::Done)
}

impl Dashboard {
    /// Asks for a route, withdraws the request or reads its answer, on the pool. The result comes back as a message.
    pub(super) fn quote(&mut self, work: QuoteWork, at: DateTime<Utc>) {
        let (store, profile) = (self.store.clone(), self.model.setting.profile.clone());
        let details = self.details.clone();
        match work {
            QuoteWork::Ask { request, until } => self.spawn(move || {
                let operation = Operation::RequestQuote { profile, request, wanted_until: until };
                let asked = store.apply(operation, at).wait().and_then(OperationResult::asked);
                Msg::Quote(QuoteProgress::Asked(until, asked.map_err(|error| error.to_string())))
            }),
            QuoteWork::Read(id) => {
                self.query(move |reader| Ok(Msg::Quote(QuoteProgress::Read(id, reader.quote(id)?.map(Box::new)))))
            }
            QuoteWork::Withdraw { id, until } => self.spawn(move || {
                let withdraw = || {
                    let Some(quote) = details.read(|reader| reader.quote(id))? else { return Ok(None) };
                    // The reader must be released before the write: other reads wait for it.
                    store.apply(Operation::WithdrawQuote { quote: quote.key(), wanted_until: until }, at).wait()?;
                    details.read(|reader| reader.quote(id))
                };
                withdraw().map_or_else(
                    |error: StoreError| Msg::Failed(error.to_string()),
                    |quote| Msg::Quote(QuoteProgress::Read(id, quote.map(Box::new))),
                )
            }),
        }
    }

    pub(super) fn import(&mut self, batch: Vec<NewTransaction>, at: DateTime<Utc>) {
        let context = self.context(at);
        self.spawn(move || {
            let operation = Operation::Track { profile: context.profile, transactions: batch };
            let tracked = context.store.apply(operation, at).wait().and_then(OperationResult::tracked);
            Msg::Imported(tracked.map_err(|error| error.to_string()))
        });
    }

    /// Requests something of the poller for these transactions.
    pub(super) fn request(
        &mut self,
        rows: Vec<RowId>,
        at: DateTime<Utc>,
        operation: fn(Vec<TransactionKey>) -> Operation,
    ) {
        let store = self.store.clone();
        self.spawn(move || {
            let request = || {
                let transactions = store.reader()?.keys(&rows)?;
                store.apply(operation(transactions), at).wait()
            };
            request().map_or_else(|error| Msg::Failed(error.to_string()), |_| Msg::Tick)
        });
    }

    pub(super) fn pause(&mut self, minutes: Option<i64>, at: DateTime<Utc>) {
        let until = minutes.map(|minutes| at + TimeDelta::minutes(minutes));
        let profiles: Vec<_> = self.model.setting.profiles().map(str::to_owned).collect();
        let (context, zone) = (self.context(at), self.model.setting.zone);
        self.spawn(move || outcome_message(edits::pause(&context, &profiles, until, zone)));
    }

    pub(super) fn delete(&mut self, rows: Vec<RowId>, at: DateTime<Utc>) {
        let store = self.store.clone();
        self.spawn(move || outcome_message(edits::delete(&store, rows, at)));
    }

    /// Marks a transaction as open, for the poller.
    pub(super) fn mark_open(&self, open: Option<RowId>, at: DateTime<Utc>) {
        let until = at + self.clock.to_wall_duration(OPEN_FOR);
        let dashboard = self.model.setting.process;
        if self.team.is_some() {
            let transaction = open.and_then(|row| self.model.transactions.get(&row));
            self.store.publish_open_transaction(transaction.map(|transaction| transaction.key()));
        }
        self.store.mark_open(OpenMark { dashboard, open: open.map(|row| (row, until)), at }).detach();
    }

    fn context(&self, at: DateTime<Utc>) -> WriteContext {
        let DashboardSettings { profile, keys, .. } = &self.model.setting;
        let profile_prefix = self.model.setting.profile_prefix(profile);
        WriteContext { store: self.store.clone(), profile: profile.clone(), profile_prefix, at, keys: keys.clone() }
    }

    /// Undoes the last edit. If that is an import of several transactions, a person must confirm that import first.
    pub(super) fn undo(&mut self, at: DateTime<Utc>, confirmed: Option<ImportToUndo>) {
        let context = self.context(at);
        self.spawn(move || match edits::last_import(&context) {
            Ok(Some(import)) if import.transactions > 1 && confirmed != Some(import) => Msg::UndoesImport(import),
            Ok(import) if confirmed.is_some() && confirmed != import => {
                Msg::Failed("Nothing was undone: another change was made in the meantime.".into())
            }
            Ok(_) => outcome_message(edits::undo(&context)),
            Err(error) => Msg::Failed(error.to_string()),
        });
    }

    /// Redoes the edit that was undone last.
    pub(super) fn redo(&mut self, at: DateTime<Utc>) {
        let context = self.context(at);
        self.spawn(move || outcome_message(edits::redo(&context)));
    }

    /// Performs a write on the pool. The result comes back as a message.
    pub(crate) fn write(&mut self, write: Write, at: DateTime<Utc>) {
        let context = self.context(at);
        let store = self.store.clone();
        let (shown, zone, cancel_flag) =
            (self.model.list.combined_filter(), self.model.setting.zone, self.cancel_flag.clone());
        let export = self.export;
        self.spawn(move || {
            let outcome = match write.clone() {
                Write::Edit(edit) => edits::edit(&context, edit).map_err(|error| error.to_string()),
                Write::Export { file, rows } => {
                    let all = || store.reader()?.listing(&shown, at).all();
                    let written = rows.map_or_else(all, Ok).map(|rows| {
                        export(&store, &ExportOrder { file, rows, now: at, zone, cancel_flag })
                            .map_err(|reason| format!("Nothing was written: {reason}"))
                    });
                    written.unwrap_or_else(|error| Err(error.to_string()))
                }
            };
            Msg::Written(write, outcome)
        });
    }
}
