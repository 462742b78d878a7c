//! The notices of a watch about its team's store: the loss of entries in the database, and the absence of a polling
//! machine.
//!
//! The module must never print, nor return a notice twice.

use std::pin::pin;

use tokio::sync::watch;

use crate::{
    clock::{Clock, MonotonicTime},
    domain::{
        team::{NOBODY_POLLS, TeamStatus},
        text,
    },
    runtime::team_store::UNPOLLED_REPORT_DELAY,
};

/// The notices of one watch.
pub(super) struct TeamNotices {
    /// The state of the team's store; `None` for a store of one machine, which has no notices.
    status: Option<watch::Receiver<TeamStatus>>,
    profiles: Vec<String>,
    loss: Option<String>,
    absence: PollingAbsence,
}

/// Since when no machine polls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PollingAbsence {
    No,
    Since(MonotonicTime),
    Reported,
}

impl TeamNotices {
    /// Creates the notices. A loss that is known already counts as reported.
    pub(super) fn new(status: Option<watch::Receiver<TeamStatus>>, profiles: Vec<String>) -> Self {
        let loss = status.as_ref().and_then(|status| status.borrow().loss.clone());
        Self { status, profiles, loss, absence: PollingAbsence::No }
    }

    /// Returns a line for each notice that is new.
    pub(super) fn update(&mut self, now: MonotonicTime) -> Vec<String> {
        let Some(status) = self.status.as_mut().map(watch::Receiver::borrow_and_update) else { return Vec::new() };
        let mut lines = Vec::new();
        if status.loss != self.loss {
            self.loss.clone_from(&status.loss);
            lines.extend(status.loss.as_deref().map(text::clean));
        }
        self.absence = match (self.profiles.iter().any(|profile| status.is_unpolled(profile)), self.absence) {
            (false, _) => PollingAbsence::No,
            (true, PollingAbsence::No) => PollingAbsence::Since(now),
            (true, PollingAbsence::Since(since)) if now.since(since) >= UNPOLLED_REPORT_DELAY => {
                lines.push(NOBODY_POLLS.to_owned());
                PollingAbsence::Reported
            }
            (true, known) => known,
        };
        lines
    }

    /// Waits until [`TeamNotices::update`] may have something to say.
    pub(super) async fn wait(&mut self, clock: &Clock) {
        let Self { status, profiles, loss, absence } = self;
        let Some(status) = status else { return std::future::pending().await };
        let due = pin!(async {
            match *absence {
                PollingAbsence::Since(since) => clock.sleep_until(since + UNPOLLED_REPORT_DELAY).await,
                PollingAbsence::No | PollingAbsence::Reported => std::future::pending().await,
            }
        });
        let was_unpolled = *absence != PollingAbsence::No;
        let changed = status.wait_for(|now| {
            now.loss != *loss || profiles.iter().any(|profile| now.is_unpolled(profile)) != was_unpolled
        });
        tokio::select! {
            changed = changed => {
                if changed.is_err() {
                    std::future::pending().await
                }
            }
            () = due => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::domain::team::{TeamLink, fixtures::member};

    #[test]
    fn loss_and_lasting_absence_of_a_poller_are_each_reported_once() {
        let polling = || TeamStatus {
            link: TeamLink::Live,
            members: vec![member(1, "Ana", &["default"], Some(3))],
            ..TeamStatus::default()
        };
        let (sender, status) = watch::channel(polling());
        let mut notices = TeamNotices::new(Some(status), vec!["default".into()]);
        let at = |seconds| MonotonicTime::default() + Duration::from_secs(seconds);
        assert_eq!(notices.update(at(0)), Vec::<String>::new());
        sender.send_modify(|status| status.members[0].epoch = None);
        let counts: Vec<usize> = [1, 15, 16, 17, 99].map(|second| notices.update(at(second)).len()).into();
        assert_eq!(counts, [0, 0, 1, 0, 0]);
        // A poller of another profile doesn't count.
        sender.send_modify(|status| status.members.push(member(2, "Bob", &["other"], Some(1))));
        assert_eq!(notices.update(at(100)), Vec::<String>::new());
        sender.send_modify(|status| status.loss = Some("lost 2".into()));
        assert_eq!((notices.update(at(101)), notices.update(at(102))), (vec!["lost 2".to_owned()], vec![]));
        sender.send_replace(polling());
        assert_eq!(notices.update(at(103)), Vec::<String>::new());
        sender.send_modify(|status| status.members.clear());
        assert_eq!((notices.update(at(104)), notices.update(at(204))), (vec![], vec![]));
    }
}
