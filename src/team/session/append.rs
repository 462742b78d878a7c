//! Appends this process's writes to the log, in order, and applies them.
//!
//! It must never answer a write that the replica hasn't applied.

use std::time::Duration;

use tokio::sync::watch;

use super::{
    LogSession, SessionConnection,
    log_lock::lock,
    pending_append::{BodyRequest, MAX_OPERATIONS, PendingAppend},
    report_progress,
    session_error::SessionError,
};
use crate::{
    domain::{
        operation::Envelope,
        team::{LogEntry, LogPosition, TeamStatus},
    },
    store::{LogEntries, LogWrite, OperationResult, Reader, Store, Submission, payload},
    team::error::TeamError,
};

/// How long an answer waits for others, to share their entry.
const GATHER_TIME: Duration = Duration::from_millis(15);

impl LogSession {
    /// Waits a moment for more answers of the service, if there is nothing else to write. One entry for many answers
    /// costs the database and each replica only one transaction.
    pub(super) async fn gather_answers(&mut self, received: &mut Vec<Submission>) {
        let until = self.clock.now().mono + GATHER_TIME;
        let mut known = 0;
        while received.len() < MAX_OPERATIONS && !self.has_ended {
            if !received.iter().skip(known).all(|submission| submission.write.is_written_by_poller()) {
                return;
            }
            known = received.len();
            tokio::select! {
                count = self.queue.recv_many(received, MAX_OPERATIONS - known) => self.has_ended = count == 0,
                () = self.clock.sleep_until(until) => return,
            }
        }
    }

    /// Turns submitted writes into appends: neighbours of the same kind into one.
    pub(super) fn queue_writes(&mut self, received: &mut Vec<Submission>) {
        let mut run: Vec<(Box<Envelope>, _)> = Vec::new();
        for Submission { write, reply } in received.drain(..) {
            match write {
                LogWrite::Operation(envelope) => {
                    let is_written_by_poller = envelope.operation.is_written_by_poller();
                    if run.last().is_some_and(|(last, _)| last.operation.is_written_by_poller() != is_written_by_poller)
                    {
                        self.waiting.extend(PendingAppend::of_operations(&mut run, &self.clock));
                    }
                    run.push((envelope, reply));
                }
                LogWrite::Batch { profile, batch, stamp } => {
                    self.waiting.extend(PendingAppend::of_operations(&mut run, &self.clock));
                    match payload::encode_batch(&profile, batch.as_ref(), &stamp) {
                        Ok(payload) => {
                            self.waiting.push_back(PendingAppend::new(Some(payload), vec![reply], &self.clock))
                        }
                        Err(error) => drop(reply.send(Err(error))),
                    }
                }
                LogWrite::Open(open) => {
                    (self.open, self.is_open_published) = (open, false);
                    reply.send(Ok(OperationResult::Done)).ok();
                }
                LogWrite::ReadBody { entry, transaction, digest } => {
                    self.body_requests.push(BodyRequest { entry, transaction, digest, reply });
                }
                LogWrite::Flush => {
                    self.waiting.extend(PendingAppend::of_operations(&mut run, &self.clock));
                    self.waiting.push_back(PendingAppend::new(None, vec![reply], &self.clock));
                }
            }
        }
        self.waiting.extend(PendingAppend::of_operations(&mut run, &self.clock));
    }

    /// Appends the first waiting writes, applies them, and answers them. After an error they stay the first.
    pub(super) async fn append_first(&mut self, link: &mut SessionConnection) -> Result<(), SessionError> {
        let Some(append) = self.waiting.front_mut() else { return Ok(()) };
        let fence = self.options.fence.as_ref().and_then(|fence| fence.borrow().clone());
        if append.is_written_by_poller && fence.is_none() {
            self.waiting.pop_front().into_iter().for_each(|append| append.fail(&TeamError::Fenced.into()));
            return Ok(());
        }
        let fence = fence.filter(|_| append.is_written_by_poller);
        let _lock = lock(&self.lock_path, &self.clock).await?;
        self.reader.refresh();
        let mut results = Vec::new();
        for (nonce, payload) in &append.entries {
            let seq = match link.database.append(*nonce, payload, fence.as_ref()).await {
                Ok(seq) => seq,
                Err(error) if error.is_transient() => {
                    append.may_be_in_log |= !error.has_rolled_back();
                    return Err(error.into());
                }
                Err(error) => {
                    let error = error.into();
                    self.waiting.pop_front().into_iter().for_each(|append| append.fail(&error));
                    return Ok(());
                }
            };
            // The parts of a write count with the last one.
            append.may_be_in_log |= append.entries.last().is_some_and(|(last, _)| last == nonce);
            let own = LogEntry {
                position: LogPosition { seq, nonce: *nonce },
                author: Some(link.author.clone()),
                payload: payload.to_vec(),
            };
            let kept = (!append.is_written_by_poller).then_some(seq);
            results =
                Self::apply_through(&self.store, &self.reader, link, own, kept, &self.status, self.options.is_light)
                    .await?;
            self.status.send_modify(|status| status.appended += 1);
        }
        if let Some(append) = self.waiting.pop_front() {
            append.complete(results);
        }
        Ok(())
    }

    /// Reads the bodies of answers that this light replica left in the log.
    pub(super) async fn read_bodies(&mut self, link: &SessionConnection) -> Result<(), SessionError> {
        while let Some(BodyRequest { entry, transaction, digest, .. }) = self.body_requests.first() {
            // Number 0 means that only a snapshot has the body.
            let found = match entry.checked_sub(1) {
                Some(before) => link.database.read_entry(before).await?,
                None => None,
            };
            let found = found.filter(|found| found.position.seq == *entry);
            let body = found.map(|found| payload::find_body(&found.payload, transaction, *digest)).transpose();
            let BodyRequest { reply, .. } = self.body_requests.remove(0);
            reply.send(body.map(|body| OperationResult::Body(body.flatten()))).ok();
        }
        Ok(())
    }

    /// Applies the log through an entry that this process appended. Returns the results of its operations.
    async fn apply_through(
        store: &Store,
        reader: &Reader,
        link: &mut SessionConnection,
        own: LogEntry,
        kept: Option<u64>,
        status: &watch::Sender<TeamStatus>,
        is_light: bool,
    ) -> Result<Vec<Result<OperationResult, String>>, SessionError> {
        let seq = own.position.seq;
        link.applied = reader.replica_position(link.team)?.seq;
        while link.applied < seq {
            let page = if link.applied + 1 == seq {
                vec![own.clone()]
            } else {
                link.database.read_entries(link.applied).await?
            };
            let entries = LogEntries { team: link.team, entries: page, own: kept.into_iter().collect(), is_light };
            let applied = store.replicate(entries).await?.replicated()?;
            if applied.position.seq == link.applied {
                return Err(TeamError::connection_lost("the log has a gap").into());
            }
            report_progress(status, link, &applied);
            if let Some((_, results)) = applied.results.into_iter().find(|(number, _)| *number == seq) {
                return Ok(results);
            }
        }
        // Another process of this machine has applied it.
        Ok(Vec::new())
    }
}
