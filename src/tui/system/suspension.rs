//! Suspension of the program. The dashboard restores the terminal before and takes it over afterwards. In between, the
//! receiver of the order releases all shared resources, stops the process, and reports when the process continues.

use tokio::sync::{mpsc, oneshot};

/// The channels by which the program is suspended.
#[derive(Debug)]
pub struct Suspension {
    /// Requests from outside: `kill -TSTP`.
    pub suspension_requested: mpsc::UnboundedReceiver<()>,
    /// Orders to the task that suspends the program.
    pub orders: mpsc::UnboundedSender<SuspendOrder>,
    /// Why a key can't suspend the program, if it can't: there is no shell to return to.
    pub refusal: Option<&'static str>,
}

/// What a suspension stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SuspendScope {
    /// This process, as `kill -TSTP` does.
    Process,
    /// The whole process group, as a terminal does at ^Z.
    ProcessGroup,
}

/// An order to suspend the program.
#[derive(Debug)]
pub struct SuspendOrder {
    /// What is stopped.
    pub scope: SuspendScope,
    /// Signals that the program continues.
    pub continued: oneshot::Sender<()>,
}

impl Suspension {
    /// Suspends the program. Resolves when the program continues.
    pub async fn suspend(&self, scope: SuspendScope) {
        let (continued, goes_on) = oneshot::channel();
        if self.orders.send(SuspendOrder { scope, continued }).is_ok() {
            // Without a receiver nothing is suspended.
            goes_on.await.ok();
        }
    }

    /// Resolves at a request from outside; never if no request can come any more.
    pub async fn suspension_requested(this: &mut Option<Self>) {
        if let Some(suspension) = this
            && suspension.suspension_requested.recv().await.is_some()
        {
            return;
        }
        std::future::pending().await
    }
}
