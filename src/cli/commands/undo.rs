//! `hoptop undo`: undoes the last change, or redoes it.
//!
//! The command must never remove a line of the history: the change and its reversal both stay.

use clap::Args;
use color_eyre::eyre::Result;

use crate::{
    cli::context::Context,
    domain::{operation::Operation, text},
    runtime::exit::Exit,
    store::Reversal,
};

/// The text below the options in the help.
pub(crate) const EXAMPLES: &str = "\
Examples:
  # Undo the last change: an add or import (polling stops), an untrack, note,
  # ticket, label or corrected source chain, an acknowledgement or snooze, or
  # its end
  hoptop undo
  # Redo the change that was undone last
  hoptop undo --redo

The history keeps the change and its reversal. An undo never overwrites a later change. \
A deletion can't be undone: after one, undo concerns the change before it. If you set your name ([me] \
name, or HOPTOP_NAME), undo and redo concern your own changes only.";

/// The arguments of `hoptop undo`.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct UndoArgs {
    /// Redo the change that was undone last
    #[arg(long)]
    pub redo: bool,
}

/// Undoes the last change, or redoes the change that was undone last.
pub(crate) fn undo(args: &UndoArgs, cx: &mut Context) -> Result<Exit> {
    let profile = cx.profile.clone();
    let (operation, done) = match args.redo {
        true => (Operation::Redo { profile }, "redone"),
        false => (Operation::Undo { profile }, "undone"),
    };
    let reversal = cx.store.apply(operation, cx.now.wall).wait()?.reversed()?;
    let Some(Reversal { summary, about, done: count, left, .. }) = reversal else {
        let reason = if args.redo {
            "nothing to redo: nothing was undone, or another change followed"
        } else {
            "nothing to undo"
        };
        writeln!(cx.err, "{reason} (profile {})", text::clean(&cx.profile))?;
        return Ok(Exit::Error);
    };
    if count == 0 {
        writeln!(cx.err, "not {done}: {} ({})", Reversal::SKIP_REASON, text::clean(&summary))?;
        return Ok(Exit::Error);
    }
    let about = about.map_or_else(String::new, |hash| format!(" ({})", text::clean(&hash.short(cx.ellipsis))));
    writeln!(cx.out, "{done}: {}{about}", text::clean(&summary))?;
    if left > 0 {
        writeln!(cx.err, "{left} not {done}: {}", Reversal::SKIP_REASON)?;
    }
    Ok(Exit::Success)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        cli::context::testing::{CommandFixture, at},
        domain::{fixtures, operation::LocalEdit, transaction::Tracking},
        store::testing,
    };

    #[test]
    fn last_change_is_undone_and_redone() {
        let mut fixture = CommandFixture::new();
        let row = fixture.track(fixtures::new(1));
        testing::edit(&fixture.store, "default", LocalEdit::Untrack { transactions: vec![row] }, at(30));
        let (out, ..) = fixture.run(|cx| undo(&UndoArgs::default(), cx).unwrap());
        assert_eq!(out, "undone: stop polling (0x0000…0001)\n");
        assert_eq!(fixture.transactions()[0].tracking, Tracking::Active);
        let (out, ..) = fixture.run(|cx| undo(&UndoArgs { redo: true }, cx).unwrap());
        assert_eq!(out, "redone: stop polling (0x0000…0001)\n");
        assert_eq!(fixture.transactions()[0].tracking, Tracking::Untracked);
        let (_, err, exit) = fixture.run(|cx| undo(&UndoArgs { redo: true }, cx).unwrap());
        assert_eq!(exit, Exit::Error);
        assert!(err.starts_with("nothing to redo"), "{err}");
    }
}
