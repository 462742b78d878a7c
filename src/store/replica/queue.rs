//! The queue of a replica's operations, which go to the log first and from there into this store.
//!
//! The team's session receives from this queue.

use std::{sync::Arc, thread::JoinHandle};

use tokio::sync::{mpsc::UnboundedSender, oneshot, watch};

use crate::{
    domain::{
        batch::Batch,
        ids::TransactionKey,
        operation::{Envelope, Stamp},
        team::TeamStatus,
    },
    store::{error::Result, operations::OperationResult, writer::Receipt},
};

pub(crate) enum LogWrite {
    /// Appends an operation.
    Operation(Box<Envelope>),
    /// Appends a batch to track, of any size.
    Batch {
        /// The profile that polls the transactions.
        profile: String,
        batch: Box<dyn Batch>,
        /// The time and the author.
        stamp: Stamp,
    },
    /// Appends nothing. Tells the team which transaction this process has open.
    Open(Option<TransactionKey>),
    /// Appends nothing. Reads the body of an answer from an entry of the log.
    ReadBody {
        entry: u64,
        /// The transaction that the answer is about.
        transaction: TransactionKey,
        /// The digest of the body, if it is known.
        digest: Option<i64>,
    },
    /// Appends nothing. The answer confirms that all earlier writes are appended and applied.
    Flush,
}

impl LogWrite {
    /// Whether only a poller makes this write.
    pub(crate) fn is_written_by_poller(&self) -> bool {
        match self {
            Self::Operation(envelope) => envelope.operation.is_written_by_poller(),
            Self::Batch { .. } | Self::Open(_) | Self::ReadBody { .. } | Self::Flush => false,
        }
    }
}

/// A write with the channel for its result.
pub(crate) struct Submission {
    pub(crate) write: LogWrite,
    /// Takes the result after the write was applied to this store.
    pub(crate) reply: oneshot::Sender<Result<OperationResult>>,
}

/// The queue to the log, and its state. Dropping the last handle waits for the submitted writes.
#[derive(Clone)]
pub(crate) struct LogQueue {
    session: Arc<SessionThread>,
    status: watch::Receiver<TeamStatus>,
}

struct SessionThread {
    queue: Option<UnboundedSender<Submission>>,
    thread: Option<JoinHandle<()>>,
}

impl LogQueue {
    /// Creates a queue whose other end `thread` serves until the queue ends.
    pub(crate) fn new(
        queue: UnboundedSender<Submission>,
        thread: JoinHandle<()>,
        status: watch::Receiver<TeamStatus>,
    ) -> Self {
        let session = SessionThread { queue: Some(queue), thread: Some(thread) };
        Self { session: Arc::new(session), status }
    }

    /// The state of the team's store.
    pub(crate) fn status(&self) -> watch::Receiver<TeamStatus> {
        self.status.clone()
    }

    /// Submits a write to the session. The receipt of an operation or a batch resolves once the write was
    /// applied to this store.
    pub(in crate::store) fn submit(&self, write: LogWrite) -> Receipt {
        let (reply, result) = oneshot::channel();
        // If the session has ended, the reply is dropped, and the receipt returns `Closed`.
        if let Some(queue) = &self.session.queue {
            queue.send(Submission { write, reply }).ok();
        }
        Receipt::from_log(result)
    }
}

impl Drop for SessionThread {
    fn drop(&mut self) {
        self.queue = None;
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the session with the team's store panicked");
        }
    }
}
