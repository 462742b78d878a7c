//! `hoptop untrack`, `delete` and `undo`: stop polling, remove, take back.
//!
//! It must never remove anything that wasn't named as to be removed.

use clap::Args;
use clap_complete::ArgValueCompleter;
use color_eyre::eyre::Result;

use super::{completions, context::Context, exit::Exit};
use crate::{
    domain::{
        operation::{Edit, Operation, TransactionKey},
        text,
        transaction::Tracking,
    },
    store::Reversal,
};

/// For the help.
pub const UNTRACK_EXAMPLES: &str = "\
Examples:
  hoptop untrack 0x9f3c41                          polls it no more; it is kept, with its history
  hoptop undo                                      undoes this

Adding it again resumes it, too.";

/// For the help.
pub const DELETE_EXAMPLES: &str = "\
Examples:
  hoptop delete 0x9f3c41 --yes                     removes it, with its history, notes and alerts

This can't be undone; `hoptop untrack` only stops the polling. Backups that were made before have it as long as they are
kept: the last seven days'.";

/// For the help.
pub const UNDO_EXAMPLES: &str = "\
Examples:
  hoptop undo                                      takes back what was done last: an add or import (it is polled no
                                                   more), an untrack, a note, ticket, label, acknowledgement
                                                   or snooze
  hoptop undo --redo                               does it again

The record of it stays in the history. Where something else happened since, that counts.";

/// Stop polling.
#[derive(Args, Clone, Debug)]
pub struct UntrackArgs {
    /// Hashes, six or more characters of each that no other has, or URLs that contain them
    #[arg(value_name = "TX", required = true, add = ArgValueCompleter::new(completions::transactions))]
    pub transactions: Vec<String>,
}

/// Remove.
#[derive(Args, Clone, Debug)]
pub struct DeleteArgs {
    /// Hashes, six or more characters of each that no other has, or URLs that contain them
    #[arg(value_name = "TX", required = true, add = ArgValueCompleter::new(completions::transactions))]
    pub transactions: Vec<String>,
    /// Really remove them: this can't be taken back
    #[arg(long)]
    pub yes: bool,
}

/// Undo.
#[derive(Args, Clone, Debug, Default)]
pub struct UndoArgs {
    /// Redo the change that was undone last
    #[arg(long)]
    pub redo: bool,
}

/// Stops the polling of all that is named, or of nothing if one isn't there.
pub fn untrack(args: &UntrackArgs, cx: &mut Context) -> Result<Exit> {
    let Some(named) = named(&args.transactions, cx)? else { return Ok(Exit::Error) };
    let edit = Edit::Untrack { transactions: named.iter().map(|(key, _)| key.clone()).collect() };
    cx.store.apply(Operation::Edit { profile: cx.profile.clone(), edit }, cx.now.wall).wait()?;
    for (TransactionKey { hash, .. }, tracking) in &named {
        match tracking {
            Tracking::Untracked => writeln!(cx.out, "{hash} wasn't polled before")?,
            _ => writeln!(cx.out, "{hash} is no longer polled; it is kept (`hoptop undo` undoes this)")?,
        }
    }
    Ok(Exit::Fine)
}

/// Removes all that is named, or nothing if one isn't there or it isn't said twice.
pub fn delete(args: &DeleteArgs, cx: &mut Context) -> Result<Exit> {
    let Some(named) = named(&args.transactions, cx)? else { return Ok(Exit::Error) };
    if !args.yes {
        for (TransactionKey { hash, .. }, _) in &named {
            writeln!(cx.err, "{hash} would be removed, with its history, notes and alerts")?;
        }
        writeln!(cx.err, "nothing was removed: say so with --yes; `hoptop untrack` only stops the polling")?;
        return Ok(Exit::Usage);
    }
    let transactions = named.into_iter().map(|(key, _)| key).collect();
    let count = cx.store.apply(Operation::Delete { transactions }, cx.now.wall).wait()?.changed()?;
    writeln!(cx.out, "{count} removed")?;
    Ok(Exit::Fine)
}

/// Undoes the last change, or redoes it.
pub fn undo(args: &UndoArgs, cx: &mut Context) -> Result<Exit> {
    let profile = cx.profile.clone();
    let (operation, done) = match args.redo {
        true => (Operation::Redo { profile }, "redone"),
        false => (Operation::Undo { profile }, "undone"),
    };
    let turned = cx.store.apply(operation, cx.now.wall).wait()?.reversed()?;
    let Some(Reversal { summary, about, done: count, left, .. }) = turned else {
        let what = if args.redo {
            "nothing to redo: nothing was undone, or another change followed"
        } else {
            "nothing to undo"
        };
        writeln!(cx.err, "{what} (profile {})", text::clean(&cx.profile))?;
        return Ok(Exit::Error);
    };
    if count == 0 {
        writeln!(cx.err, "nothing {done}: other changes followed ({})", text::clean(&summary))?;
        return Ok(Exit::Error);
    }
    let about = about.map_or_else(String::new, |hash| format!(" ({})", text::clean(&hash.short(cx.ellipsis))));
    writeln!(cx.out, "{done}: {}{about}", text::clean(&summary))?;
    if left > 0 {
        writeln!(cx.err, "{left} stay as they are, since other changes followed")?;
    }
    Ok(Exit::Fine)
}

type Named = (TransactionKey, Tracking);

/// All that is named, each once. `None` if one of them isn't there, and then the reason has been printed.
fn named(texts: &[String], cx: &mut Context) -> Result<Option<Vec<Named>>> {
    let mut named: Vec<Named> = Vec::new();
    for text in texts {
        let Some(tx) = cx.find(text)? else {
            writeln!(cx.err, "nothing was changed")?;
            return Ok(None);
        };
        let key = tx.key();
        if named.iter().all(|(known, _)| *known != key) {
            named.push((key, tx.tracking));
        }
    }
    Ok(Some(named))
}

#[cfg(test)]
mod tests {
    use super::{super::context::testing::Bench, *};
    use crate::domain::fixtures;

    fn hash(number: i64) -> String {
        fixtures::params(number).transaction_id.to_string()
    }

    fn stop(bench: &mut Bench, numbers: &[i64]) -> (String, String, Exit) {
        let args = UntrackArgs { transactions: numbers.iter().map(|number| hash(*number)).collect() };
        let (out, err, exit) = bench.run(|cx| untrack(&args, cx));
        (out, err, exit.unwrap())
    }

    #[test]
    fn what_is_stopped_is_kept_and_can_be_taken_back() {
        let mut bench = Bench::new();
        bench.track(fixtures::new(1));
        let (out, err, exit) = stop(&mut bench, &[1, 1]);
        assert_eq!((out.lines().count(), err.as_str(), exit), (1, "", Exit::Fine));
        assert_eq!(bench.transactions()[0].tracking, Tracking::Untracked);
        assert!(stop(&mut bench, &[1]).0.ends_with("wasn't polled before\n"));
        let (out, ..) = bench.run(|cx| undo(&UndoArgs::default(), cx).unwrap());
        assert_eq!(out, "undone: stop polling (0x0000…0001)\n");
        assert_eq!(bench.transactions()[0].tracking, Tracking::Active);
        let (out, ..) = bench.run(|cx| undo(&UndoArgs { redo: true }, cx).unwrap());
        assert_eq!(out, "redone: stop polling (0x0000…0001)\n");
        assert_eq!(bench.transactions()[0].tracking, Tracking::Untracked);
        let (_, err, exit) = bench.run(|cx| undo(&UndoArgs { redo: true }, cx).unwrap());
        assert_eq!(exit, Exit::Error);
        assert!(err.starts_with("nothing to redo"), "{err}");
    }

    #[test]
    fn nothing_is_removed_without_a_yes_nor_if_one_is_not_there() {
        let mut bench = Bench::new();
        bench.track(fixtures::new(1));
        let remove = |bench: &mut Bench, number: i64, yes| {
            let args = DeleteArgs { transactions: vec![hash(1), hash(number)], yes };
            bench.run(|cx| delete(&args, cx).unwrap())
        };
        let (_, err, exit) = remove(&mut bench, 1, false);
        assert_eq!((err.lines().count(), exit), (2, Exit::Usage));
        let (_, err, exit) = remove(&mut bench, 2, true);
        assert_eq!(exit, Exit::Error);
        assert!(err.ends_with("nothing was changed\n"), "{err}");
        assert_eq!(bench.transactions().len(), 1);
        let (out, _, exit) = remove(&mut bench, 1, true);
        assert_eq!((out.as_str(), exit), ("1 removed\n", Exit::Fine));
        assert!(bench.transactions().is_empty());
    }
}
