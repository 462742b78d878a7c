//! `hoptop unack`: ends the acknowledgement or the snooze of alerts.
//!
//! The command must never clear an alert.

use clap::Args;
use clap_complete::ArgValueCompleter;
use color_eyre::eyre::Result;

use crate::{
    cli::{completers, context::Context, handle_alerts::handle_alerts},
    domain::operation::Edit,
    runtime::exit::Exit,
};

/// The arguments of `hoptop unack`.
#[derive(Args, Clone, Debug)]
pub(crate) struct UnackArgs {
    /// Alert numbers from `hoptop alerts`, or transactions (all active alerts of each)
    #[arg(value_name = "ALERT", required = true, add = ArgValueCompleter::new(completers::alerts))]
    pub alerts: Vec<String>,
}

/// Ends the acknowledgement or snooze of all named alerts, or of none if one of them can't be found. The alerts fire
/// again.
pub(crate) fn unack(args: &UnackArgs, cx: &mut Context) -> Result<Exit> {
    handle_alerts(&args.alerts, |alerts| Edit::Unacknowledge { alerts }, "no longer acknowledged or snoozed", cx)
}
