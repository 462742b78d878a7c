//! The loop's writing for its person: each ends with a message on what became of it.
//!
//! It takes as long as the disk does, and so happens on the pool.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use super::Dashboard;
use crate::{
    domain::{
        ids::RowId,
        operation::{Edit, Operation},
        transaction::NewTransaction,
    },
    store::{OpenMark, Outcome, StoreError},
    tui::{
        effect::{QuoteWork, Work},
        export::ExportOrder,
        model::Setting,
        update::{Msg, QuoteHeard},
        writes::{self, WriteContext},
    },
};

/// How long what a person has open counts, unless it is said again.
const ATTENTION: Duration = Duration::from_secs(60);

/// What became of a command, for the person.
fn told(outcome: Result<String, StoreError>) -> Msg {
    outcome.map_or_else(|error| Msg::Fault(error.to_string()), Msg::Done)
}

impl Dashboard {
    /// Asks for a route, withdraws the request or reads its answer, on the pool. The result comes back as a message.
    pub(super) fn quote(&mut self, work: QuoteWork, at: DateTime<Utc>) {
        let (store, profile) = (self.store.clone(), self.model.setting.profile.clone());
        let details = self.details.clone();
        match work {
            QuoteWork::Ask { request, until } => self.spawn(move || {
                let operation = Operation::AskQuote { profile, request, wanted_until: until };
                let asked = store.apply(operation, at).wait().and_then(Outcome::asked);
                Msg::Quote(QuoteHeard::Asked(until, asked.map_err(|error| error.to_string())))
            }),
            QuoteWork::Read(id) => {
                self.read(&details, move |reader| Ok(Msg::Quote(QuoteHeard::Read(id, reader.quote(id)?.map(Box::new)))))
            }
            QuoteWork::Withdraw { id, until } => self.spawn(move || {
                let withdraw = || {
                    let Some(quote) = details.read(|reader| reader.quote(id))? else { return Ok(None) };
                    // Not with the reader in hand: others wait for that.
                    store.apply(Operation::WithdrawQuote { quote: quote.key(), wanted_until: until }, at).wait()?;
                    details.read(|reader| reader.quote(id))
                };
                withdraw().map_or_else(
                    |error: StoreError| Msg::Fault(error.to_string()),
                    |quote| Msg::Quote(QuoteHeard::Read(id, quote.map(Box::new))),
                )
            }),
        }
    }

    pub(super) fn import(&mut self, batch: Vec<NewTransaction>, at: DateTime<Utc>) {
        let context = self.context(at);
        self.spawn(move || {
            let operation = Operation::Track { profile: context.profile, transactions: batch };
            let tracked = context.store.apply(operation, at).wait().and_then(Outcome::tracked);
            Msg::Imported(tracked.map_err(|error| error.to_string()))
        });
    }

    pub(super) fn poll_now(&mut self, rows: Vec<RowId>, at: DateTime<Utc>) {
        let store = self.store.clone();
        self.spawn(move || {
            let request = || {
                let transactions = store.reader()?.keys(&rows)?;
                store.apply(Operation::RequestPoll { transactions }, at).wait()
            };
            request().map_or_else(|error| Msg::Fault(error.to_string()), |_| Msg::Tick)
        });
    }

    pub(super) fn pause(&mut self, minutes: Option<i64>, at: DateTime<Utc>) {
        let until = minutes.map(|minutes| at + TimeDelta::minutes(minutes));
        let (store, profiles) =
            (self.store.clone(), self.model.setting.profiles().map(str::to_owned).collect::<Vec<_>>());
        self.spawn(move || told(writes::pause(&store, &profiles, until, at)));
    }

    pub(super) fn delete(&mut self, rows: Vec<RowId>, at: DateTime<Utc>) {
        let store = self.store.clone();
        self.spawn(move || told(writes::delete(&store, rows, at)));
    }

    /// Says what the person has open.
    pub(super) fn look_at(&self, open: Option<RowId>, at: DateTime<Utc>) {
        let until = at + self.clock.on_the_wall(ATTENTION);
        let dashboard = self.model.setting.process;
        self.store.mark_open(OpenMark { dashboard, open: open.map(|row| (row, until)), at }).detach();
    }

    /// What writing for the person needs.
    fn context(&self, at: DateTime<Utc>) -> WriteContext {
        let Setting { profile, keys, .. } = &self.model.setting;
        let whose = self.model.setting.whose(profile);
        WriteContext { store: self.store.clone(), profile: profile.clone(), whose, at, keys: keys.clone() }
    }

    /// Writes for the person, and says what became of it.
    pub(super) fn write(&mut self, at: DateTime<Utc>, work: fn(&WriteContext) -> Result<String, StoreError>) {
        let context = self.context(at);
        self.spawn(move || told(work(&context)));
    }

    /// Does what takes as long as the disk does, on the pool, and hands it back with what became of it.
    pub(super) fn work(&mut self, work: Work, at: DateTime<Utc>) {
        let context = self.context(at);
        let store = self.store.clone();
        let (shown, zone, leaving) = (self.model.list.listed(), self.model.setting.zone, self.leaving.clone());
        let export = self.export;
        self.spawn(move || {
            let outcome = match work.clone() {
                Work::Edit(edit) => writes::edit(&context, edit),
                Work::Acknowledge { rows, note } => writes::acknowledge(&context, rows, note),
                Work::Unacknowledge(rows) => writes::unacknowledge(&context, rows),
                Work::Snooze { rows, length } => writes::snooze(&context, rows, length.from(at)),
                Work::SnoozeAlert { alert, length } => {
                    let edit = Edit::Snooze { alerts: vec![alert], until: length.from(at) };
                    writes::edit(&context, edit)
                }
                Work::Export { file, rows } => {
                    let all = || store.reader()?.listing(&shown, at).all();
                    let written = rows.map_or_else(all, Ok).map(|rows| {
                        export(&store, &ExportOrder { file, rows, now: at, zone, leaving })
                            .map_err(|reason| format!("Nothing was written: {reason}"))
                    });
                    return Msg::Worked(work, written.unwrap_or_else(|error| Err(error.to_string())));
                }
            };
            Msg::Worked(work, outcome.map_err(|error| error.to_string()))
        });
    }
}
