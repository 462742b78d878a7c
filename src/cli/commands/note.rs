//! `hoptop note`: adds a note to a transaction.
//!
//! The command must never replace or remove a note: notes are appended.

use std::slice;

use clap::Args;
use clap_complete::ArgValueCompleter;
use color_eyre::eyre::Result;

use crate::{
    cli::{completers, context::Context},
    domain::{operation::Edit, text},
    runtime::exit::Exit,
};

/// The text below the options in the help.
pub(crate) const EXAMPLES: &str = "\
Examples:
  hoptop note 0x9f3c41 \"asked the bridge, waiting\"
  hoptop undo                                      withdraw it, if it was the last change

A note is one line and is kept with the transaction; `hoptop show` prints it.";

/// The arguments of `hoptop note`.
#[derive(Args, Clone, Debug)]
pub(crate) struct NoteArgs {
    /// A hash, a unique part of a hash (six or more characters), or a URL that contains a hash
    #[arg(value_name = "TX", add = ArgValueCompleter::new(completers::transactions))]
    pub transaction: String,
    /// The note
    #[arg(value_name = "TEXT")]
    pub text: String,
}

/// Adds the note.
pub(crate) fn note(args: &NoteArgs, cx: &mut Context) -> Result<Exit> {
    let Some(text) = text::clean_or_none(&args.text) else {
        writeln!(cx.err, "the note is empty")?;
        return Ok(Exit::Usage);
    };
    let Some(named) = cx.find_all(slice::from_ref(&args.transaction))? else { return Ok(Exit::Error) };
    for (key, _) in named {
        let hash = key.hash.clone();
        match cx.edit(Edit::AddNote { transactions: vec![key], text: text.clone() })? {
            0 => writeln!(cx.out, "no change: {hash} no longer exists")?,
            _ => writeln!(cx.out, "added a note to {hash}")?,
        }
    }
    Ok(Exit::Success)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        cli::{commands::undo, context::testing::CommandFixture},
        domain::fixtures,
    };

    fn run(bench: &mut CommandFixture, transaction: &str, text: &str) -> (String, String, Exit) {
        let args = NoteArgs { transaction: transaction.to_owned(), text: text.to_owned() };
        let (out, err, exit) = bench.run(|cx| note(&args, cx));
        (out, err, exit.unwrap())
    }

    #[test]
    fn note_keeps_its_text_without_control_characters_and_is_undone() {
        let mut bench = CommandFixture::new();
        bench.track(fixtures::new(1));
        let hash = fixtures::params(1).transaction_id.to_string();
        let done = run(&mut bench, &hash, "  asked; the\nbridge\u{1b} \"waits\" ");
        assert_eq!(done, (format!("added a note to {hash}\n"), String::new(), Exit::Success));
        run(&mut bench, "0000000001", "asked again");
        assert_eq!(bench.transactions()[0].notes, ["asked; the bridge \"waits\"", "asked again"]);
        bench.run(|cx| undo::undo(&Default::default(), cx).unwrap());
        assert_eq!(bench.transactions()[0].notes, ["asked; the bridge \"waits\""]);
    }

    #[test]
    fn empty_note_or_unknown_transaction_changes_nothing() {
        let mut bench = CommandFixture::new();
        bench.track(fixtures::new(1));
        let hash = fixtures::params(1).transaction_id.to_string();
        assert_eq!(run(&mut bench, &hash, " \u{200b}"), (String::new(), "the note is empty\n".into(), Exit::Usage));
        let (_, err, exit) = run(&mut bench, "0xabcdefabcdef", "lost");
        assert!(err.starts_with("`0xabcdefabcdef` is not tracked") && exit == Exit::Error, "{err}");
        assert!(bench.transactions()[0].notes.is_empty());
    }
}
