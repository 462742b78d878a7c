//! `hoptop ack`: acknowledges alerts.
//!
//! The command must never end an acknowledgement: the store does, when the alert rules say so.

use clap::Args;
use clap_complete::ArgValueCompleter;
use color_eyre::eyre::Result;

use crate::{
    cli::{completers, context::Context, handle_alerts::handle_alerts},
    domain::{operation::Edit, text},
    runtime::exit::Exit,
};

/// The arguments of `hoptop ack`.
#[derive(Args, Clone, Debug)]
pub(crate) struct AckArgs {
    /// Alert numbers from `hoptop alerts`, or transactions (all active alerts of each)
    #[arg(value_name = "ALERT", required = true, add = ArgValueCompleter::new(completers::alerts))]
    pub alerts: Vec<String>,
    /// A note on the acknowledgement
    #[arg(long)]
    pub note: Option<String>,
}

/// Acknowledges all named alerts, or none if one of them can't be found.
pub(crate) fn ack(args: &AckArgs, cx: &mut Context) -> Result<Exit> {
    if args.note.as_deref().is_some_and(text::is_cut) {
        writeln!(cx.err, "warning: the note: {}", text::cut_warning())?;
    }
    let note = args.note.as_deref().and_then(text::clean_or_none);
    handle_alerts(&args.alerts, |alerts| Edit::Acknowledge { alerts, note }, "acknowledged", cx)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        cli::{
            commands::{
                alerts::{self, AlertsArgs},
                undo,
            },
            context::testing::CommandFixture,
        },
        domain::{fixtures, status::RouterStatus},
    };

    #[test]
    fn acknowledgement_ends_when_the_status_changes() {
        let mut fixture = CommandFixture::new();
        let row = fixture.track(fixtures::new(1));
        fixture.observe(row, fixtures::says(RouterStatus::NeedsGas), 10);
        let ack_args = |alert: &str| AckArgs { alerts: vec![alert.into()], note: Some("asked".into()) };
        let (_, err, exit) = fixture.run(|cx| ack(&ack_args("9"), cx).unwrap());
        assert!(err.starts_with("no active alert has the number 9") && exit == Exit::Error, "{err}");
        let (out, ..) = fixture.run(|cx| ack(&ack_args(&format!("0x{:064x}", 1)), cx).unwrap());
        assert_eq!(out, "1 acknowledged\n");
        let acked = crate::domain::filter::Filter::parse("is:acked").unwrap();
        let count = |fixture: &CommandFixture| {
            fixture.store.reader().unwrap().listing(&acked, chrono::DateTime::UNIX_EPOCH).count().unwrap()
        };
        assert_eq!(count(&fixture), 1);
        let (out, ..) = fixture.run(|cx| alerts::alerts(&AlertsArgs::default(), cx).unwrap());
        assert!(out.contains("needs_gas") && out.contains("ago: asked"), "{out}");
        let (out, ..) = fixture.run(|cx| undo::undo(&Default::default(), cx).unwrap());
        assert_eq!((out.as_str(), count(&fixture)), ("undone: acknowledge 1 alert (0x0000…0001)\n", 0));
        fixture.run(|cx| ack(&ack_args("1"), cx).unwrap());
        fixture.observe(row, fixtures::says(RouterStatus::Ongoing), 20);
        assert_eq!(count(&fixture), 0);
    }
}
