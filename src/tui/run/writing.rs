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
        commands::{self, Desk},
        effect::Work,
        export::ExportOrder,
        model::Setting,
        update::Msg,
    },
};

/// How long what a person has open counts, unless it is said again.
const ATTENTION: Duration = Duration::from_secs(60);

/// What became of a command, for the person.
fn told(outcome: Result<String, StoreError>) -> Msg {
    outcome.map_or_else(|error| Msg::Fault(error.to_string()), Msg::Done)
}

impl Dashboard {
    pub(super) fn import(&mut self, batch: Vec<NewTransaction>, at: DateTime<Utc>) {
        let desk = self.desk(at);
        self.spawn(move || {
            let operation = Operation::Track { profile: desk.profile, transactions: batch };
            let tracked = desk.store.apply(operation, at).wait().and_then(Outcome::tracked);
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
        self.spawn(move || told(commands::pause(&store, &profiles, until, at)));
    }

    pub(super) fn delete(&mut self, rows: Vec<RowId>, at: DateTime<Utc>) {
        let store = self.store.clone();
        self.spawn(move || told(commands::delete(&store, rows, at)));
    }

    /// Says what the person has open.
    pub(super) fn look_at(&self, open: Option<RowId>, at: DateTime<Utc>) {
        let until = at + self.clock.on_the_wall(ATTENTION);
        let dashboard = self.model.setting.process;
        self.store.mark_open(OpenMark { dashboard, open: open.map(|row| (row, until)), at }).detach();
    }

    /// What writing for the person needs.
    fn desk(&self, at: DateTime<Utc>) -> Desk {
        let Setting { profile, keys, .. } = &self.model.setting;
        let whose = self.model.setting.whose(profile);
        Desk { store: self.store.clone(), profile: profile.clone(), whose, at, keys: keys.clone() }
    }

    /// Writes for the person, and says what became of it.
    pub(super) fn write(&mut self, at: DateTime<Utc>, work: fn(&Desk) -> Result<String, StoreError>) {
        let desk = self.desk(at);
        self.spawn(move || told(work(&desk)));
    }

    /// Does what takes as long as the disk does, on the pool, and hands it back with what became of it.
    pub(super) fn work(&mut self, work: Work, at: DateTime<Utc>) {
        let desk = self.desk(at);
        let store = self.store.clone();
        let (shown, zone, leaving) = (self.model.list.listed(), self.model.setting.zone, self.leaving.clone());
        let export = self.export;
        self.spawn(move || {
            let outcome = match work.clone() {
                Work::Edit(edit) => commands::edit(&desk, edit),
                Work::Acknowledge { rows, note } => commands::acknowledge(&desk, rows, note),
                Work::Unacknowledge(rows) => commands::unacknowledge(&desk, rows),
                Work::Snooze { rows, length } => commands::snooze(&desk, rows, length.from(at)),
                Work::SnoozeAlert { alert, length } => {
                    let edit = Edit::Snooze { alerts: vec![alert], until: length.from(at) };
                    commands::edit(&desk, edit)
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
