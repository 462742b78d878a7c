//! Suspending the program: the dashboard gives the terminal back first and takes it again afterwards; in between somebody else
//! lets go of everything shared, stops the process, and says when it goes on.

use tokio::sync::{mpsc, oneshot};

/// How the program is suspended.
#[derive(Debug)]
pub struct Suspension {
    /// Whoever wants it suspended from outside: `kill -TSTP`.
    pub wanted: mpsc::UnboundedReceiver<()>,
    /// Whoever carries it out.
    pub orders: mpsc::UnboundedSender<Order>,
    /// Why a key can't do it, if it can't: there is no shell to come back to.
    pub refusal: Option<&'static str>,
}

/// Suspend the program, and say when it goes on.
#[derive(Debug)]
pub struct Order {
    /// Whether to suspend what was started together with it too, as a terminal does at ^Z.
    pub everybody: bool,
    /// Answered when the program goes on.
    pub continued: oneshot::Sender<()>,
}

impl Suspension {
    /// Has the program suspended; resolves when it goes on.
    pub async fn carry_out(&self, everybody: bool) {
        let (continued, goes_on) = oneshot::channel();
        if self.orders.send(Order { everybody, continued }).is_ok() {
            // If whoever carries it out is gone, nobody suspends anything.
            goes_on.await.ok();
        }
    }

    /// Resolves when it is wanted from outside; never if that can't happen any more.
    pub async fn wanted(this: &mut Option<Self>) {
        if let Some(suspension) = this
            && suspension.wanted.recv().await.is_some()
        {
            return;
        }
        std::future::pending().await
    }
}
