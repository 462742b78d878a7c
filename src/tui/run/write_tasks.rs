//! The loop's writes for a person: each ends with a message about its result.
//!
//! The writes block for the disk, so they must run on the pool for blocking work.

use std::{
    sync::{Arc, PoisonError},
    time::Duration,
};

use chrono::{DateTime, Utc};

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
        message::Msg,
    },
};

/// The time for which a transaction counts as open, unless the mark is renewed.
const OPEN_FOR: Duration = Duration::from_secs(60);

impl Dashboard {
    /// Asks for a route, withdraws the request or reads its answer, on the pool. The result comes back as a message.
    pub(super) fn quote(&mut self, work: QuoteWork, at: DateTime<Utc>) {
        let (store, profile) = (self.store.clone(), self.model.setting.profile.clone());
        let details = self.details.clone();
        match work {
            QuoteWork::Ask { request, until } => self.spawn(move || {
                let operation = Operation::RequestQuote { profile, request, wanted_until: until };
                let asked = store.apply(operation, at).wait().and_then(OperationResult::asked);
                Msg::QuoteAsked(until, asked.map_err(|error| error.to_string()))
            }),
            QuoteWork::Read(id) => self.query(move |reader| Ok(Msg::QuoteRead(id, reader.quote(id)?.map(Box::new)))),
            QuoteWork::Withdraw { id, until } => self.spawn_fallible(move || {
                let Some(quote) = details.read(|reader| reader.quote(id))? else { return Ok(Msg::QuoteRead(id, None)) };
                // The reader must be released before the write: other reads wait for it.
                store.apply(Operation::WithdrawQuote { quote: quote.key(), wanted_until: until }, at).wait()?;
                Ok(Msg::QuoteRead(id, details.read(|reader| reader.quote(id))?.map(Box::new)))
            }),
        }
    }

    pub(super) fn import(&mut self, batch: Vec<NewTransaction>, at: DateTime<Utc>) {
        let context = self.context(at);
        self.spawn(move || {
            let operation = Operation::Track { profile: context.setting.profile, transactions: batch };
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
        self.spawn_fallible(move || {
            let transactions = store.reader()?.keys(&rows)?;
            store.apply(operation(transactions), at).wait()?;
            Ok(Msg::Tick)
        });
    }

    /// Performs an edit on the pool. The sentence about its result comes back as a message.
    pub(super) fn edit(
        &mut self,
        at: DateTime<Utc>,
        edit: impl FnOnce(&WriteContext) -> Result<String, StoreError> + Send + 'static,
    ) {
        let context = self.context(at);
        self.spawn_fallible(move || edit(&context).map(Msg::Done));
    }

    /// Marks a transaction as open, for the poller.
    pub(super) fn mark_open(&self, open: Option<RowId>, at: DateTime<Utc>) {
        let until = at + self.clock.to_wall_duration(OPEN_FOR);
        let dashboard = self.model.setting.process;
        let transaction = open.and_then(|row| self.model.transactions.get(&row)).map(|transaction| transaction.key());
        self.store.mark_open(OpenMark { dashboard, open: open.map(|row| (row, until)), at }, transaction).detach();
    }

    fn context(&self, at: DateTime<Utc>) -> WriteContext {
        WriteContext { store: self.store.clone(), setting: self.model.setting.clone(), at }
    }

    /// Undoes the last edit. If that is an import of several transactions, a person must confirm that import first.
    pub(super) fn undo(&mut self, at: DateTime<Utc>, confirmed: Option<ImportToUndo>) {
        let (context, turn) = (self.context(at), Arc::clone(&self.undo_turn));
        self.spawn_fallible(move || {
            // Until the undo before this one is done, the last edit isn't the one that this one reverts.
            let _turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
            Ok(match edits::last_import(&context)? {
                Some(import) if import.transactions > 1 && confirmed != Some(import) => Msg::UndoesImport(import),
                import if confirmed.is_some() && confirmed != import => {
                    Msg::Failed("Nothing was undone: another change was made in the meantime.".into())
                }
                _ => Msg::Done(edits::undo(&context)?),
            })
        });
    }

    /// Performs a write on the pool. The result comes back as a message.
    pub(crate) fn write(&mut self, write: Write, at: DateTime<Utc>) {
        let (context, shown) = (self.context(at), self.model.list.combined_filter());
        let (export, cancel_flag) = (self.export, self.cancel_flag.clone());
        self.spawn(move || {
            let outcome = match write.clone() {
                Write::Edit(edit) => edits::edit(&context, edit).map_err(|error| error.to_string()),
                Write::Export { file, rows } => {
                    let all = || context.store.reader()?.listing(&shown, at).all();
                    rows.map_or_else(all, Ok).map_err(|error| error.to_string()).and_then(|rows| {
                        let order = ExportOrder { file, rows, now: at, zone: context.setting.zone, cancel_flag };
                        export(&context.store, &order).map_err(|reason| format!("Nothing was written: {reason}"))
                    })
                }
            };
            Msg::Written(write, outcome)
        });
    }
}
