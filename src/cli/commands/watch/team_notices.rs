//! The notices of a watch about its team's store: the loss of entries in the database, and the absence of a polling
//! machine.
//!
//! The module must never print, nor return a notice twice.

use std::future::ready;

use futures_util::stream::{self, Stream, StreamExt};
use tokio::sync::watch;

use crate::{
    clock::Clock,
    domain::{
        team::{NOBODY_POLLS, TeamStatus},
        text,
    },
    runtime::team_store::wait_until_unpolled,
};

/// Returns a line for each notice; none for a store of one machine. A loss that is known already counts as reported. The
/// absence of a poller is reported again only after a machine has polled.
pub(super) fn team_notices(
    team: Option<watch::Receiver<TeamStatus>>,
    profiles: &[String],
    clock: &Clock,
) -> impl Stream<Item = String> {
    stream::iter(team).flat_map(move |status| {
        let known = status.borrow().loss.clone();
        let losses = stream::unfold((status.clone(), known), |(mut status, known)| async move {
            let loss = status.wait_for(|now| now.loss != known).await.ok()?.loss.clone();
            Some((loss.as_deref().map(text::clean), (status, loss)))
        });
        let absences = stream::unfold((status, false), move |(mut status, is_reported)| async move {
            if is_reported {
                let is_polled = |now: &TeamStatus| !profiles.iter().any(|profile| now.is_unpolled(profile));
                status.wait_for(is_polled).await.ok()?;
            }
            wait_until_unpolled(status.clone(), profiles, clock).await;
            Some((Some(NOBODY_POLLS.to_owned()), (status, true)))
        });
        stream::select(losses, absences).filter_map(ready)
    })
}

#[cfg(test)]
mod tests {
    use std::{pin::pin, time::Duration};

    use tokio::time::timeout;

    use super::*;
    use crate::domain::team::{TeamLink, fixtures::member};

    #[tokio::test(start_paused = true)]
    async fn loss_and_lasting_absence_of_a_poller_are_each_reported_once() {
        let polling = || TeamStatus {
            link: TeamLink::Live,
            members: vec![member(1, "Ana", &["default"], Some(3))],
            ..TeamStatus::default()
        };
        let (sender, status) = watch::channel(polling());
        let (profiles, clock) = (["default".to_owned()], Clock::system());
        let mut notices = pin!(team_notices(Some(status), &profiles, &clock));
        let mut within = async |seconds| timeout(Duration::from_secs(seconds), notices.next()).await.ok().flatten();
        assert_eq!(within(100).await, None);
        sender.send_modify(|status| status.members[0].epoch = None);
        assert_eq!(within(14).await, None);
        assert_eq!(within(2).await.as_deref(), Some(NOBODY_POLLS));
        // A poller of another profile doesn't count.
        sender.send_modify(|status| status.members.push(member(2, "Bob", &["other"], Some(1))));
        assert_eq!(within(100).await, None);
        sender.send_modify(|status| status.loss = Some("lost 2".into()));
        assert_eq!((within(1).await.as_deref(), within(100).await), (Some("lost 2"), None));
        sender.send_replace(polling());
        assert_eq!(within(1).await, None);
        sender.send_modify(|status| status.members[0].epoch = None);
        assert_eq!(within(14).await, None);
        assert_eq!((within(2).await.as_deref(), within(100).await), (Some(NOBODY_POLLS), None));
    }
}
