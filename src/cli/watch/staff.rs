//! Who works beside a watch, by the settings: the poller, those who tell of alerts, who drops old bodies. Asked to, by SIGHUP, they
//! begin anew with the settings of that moment.
//!
//! It must never go on with settings that are wrong, nor lose an answer or an alert over others.

use std::thread;

use color_eyre::eyre::{Result, WrapErr};
use tokio::sync::{oneshot, watch};

use super::Line;
use crate::{
    cli::{
        self, complain,
        housekeeping::Housekeeping,
        sentence,
        session::{Place, Polling, Running},
        signals::{self, Reload},
        telling,
    },
    clock::Clock,
    config::{self, Environment, Flags, Settings},
    herald::Way,
    poller::Scope,
    process::program,
    store::Store,
};

/// Settings, and what was made of them.
pub(super) struct Staff {
    settings: Settings,
    pub(super) polling: Polling,
    ways: Vec<Way>,
}

impl Staff {
    /// Checks what these settings say. This may run the command that prints the ID.
    pub(super) fn new(settings: Settings) -> Result<Self> {
        let ways = telling::ways(&settings)?;
        Ok(Self { polling: cli::polling(&settings)?, ways, settings })
    }

    /// What those are called who tell of alerts.
    pub(super) fn names(&self) -> Vec<&'static str> {
        telling::names(&self.ways)
    }

    /// The same by the settings of now, for the same profile of the same store. Blocks as long as the ID's command takes.
    fn anew(flags: Flags, before: &Settings) -> Result<Self> {
        let Settings { db, profile, state_dir, .. } = before.clone();
        let flags = Flags { db: Some(db), profile: Some(profile), state_dir: Some(state_dir), ..flags };
        let settings = config::load(flags, &Environment::process())?;
        program::hide(settings.id_variables.clone());
        Self::new(settings)
    }
}

/// What they work with, whatever the settings say.
pub(super) struct Office<'a> {
    pub(super) store: &'a Store,
    pub(super) clock: &'a Clock,
    pub(super) flags: &'a Flags,
    pub(super) reload: Reload,
    /// Says what those are called who tell of alerts.
    pub(super) told_by: watch::Sender<Vec<&'static str>>,
    pub(super) line: Line,
}

/// Has them work until `left` resolves, and waits until they are done.
///
/// # Errors
/// If one of them ends before.
pub(super) async fn serve(mut staff: Staff, mut office: Office<'_>, mut left: oneshot::Receiver<()>) -> Result<()> {
    loop {
        let requests = staff.polling.requests.clone();
        let Some(next) = office.work(staff, &mut left).await? else { return Ok(()) };
        if left.try_recv().is_ok() {
            // It was over while they made room for each other.
            return Ok(());
        }
        staff = next;
        // What was counted is counted on.
        staff.polling.requests = requests;
        office.told_by.send_replace(staff.names());
        office.say("the settings were read anew");
    }
}

impl Office<'_> {
    /// Until others are to take over, who are returned; nobody if it is over.
    async fn work(&mut self, staff: Staff, left: &mut oneshot::Receiver<()>) -> Result<Option<Staff>> {
        let Staff { settings, polling, ways } = staff;
        let _housekeeping = Housekeeping::start(self.store, settings.keep_bodies, self.clock);
        let herald = telling::start(ways, &settings.profile, self.store, self.clock).await?;
        let place = Place::of(&settings, Scope::Everything);
        let mut poller = Running::start(polling, self.store.clone(), self.clock.clone(), place)?;
        let next = tokio::select! {
            biased;
            _ = &mut *left => None,
            fault = poller.fault() => return Err(fault),
            next = self.next(&settings) => Some(next?),
        };
        let stopped = poller.stop().await;
        // Who asks once more doesn't wait for others to be told.
        let (again, _) = signals::listen_where_no_terminal_hangs_up()?;
        tokio::select! {
            () = herald.finish(telling::PATIENCE) => {}
            _ = again => tracing::warn!("a second signal came before all alerts were told"),
        }
        stopped.map(|()| next)
    }

    /// Those who are to take over, once somebody wishes it and the settings of then are right.
    async fn next(&mut self, before: &Settings) -> Result<Staff> {
        loop {
            self.reload.wanted().await;
            let (flags, before) = (self.flags.clone(), before.clone());
            let (sender, read) = oneshot::channel();
            // On a thread of its own: whoever ends meanwhile doesn't wait for the ID's command.
            let read_anew = move || {
                sender.send(Staff::anew(flags, &before)).ok();
            };
            thread::Builder::new().name("settings".into()).spawn(read_anew)?;
            match read.await.wrap_err("the settings could not be read")? {
                Ok(staff) => return Ok(staff),
                Err(wrong) => self.say(&format!("{}; everything goes on as before", sentence(&wrong))),
            }
        }
    }

    /// Says something on standard error.
    fn say(&self, line: &str) {
        tracing::info!("{line}");
        let say = || {
            complain(line);
            Ok(())
        };
        self.line.beside(say).unwrap_or_default();
    }
}
