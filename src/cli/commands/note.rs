//! `hoptop note`: adds a note to a transaction, or removes one.
//!
//! The command must never replace a note, and never guess which note to remove if several fit.

use std::io::Read;

use clap::Args;
use clap_complete::ArgValueCompleter;
use color_eyre::eyre::{Result, WrapErr};

use crate::{
    cli::{completers, context::Context},
    domain::{operation::Edit, text},
    runtime::exit::Exit,
};

/// The most bytes of a note that are read from standard input.
const INPUT_LIMIT: u64 = 64 << 10;

/// The text below the options in the help.
pub(crate) const EXAMPLES: &str = "\
Examples:
  # Add a note
  hoptop note 0x9f3c41 \"asked the bridge, waiting\"
  # Add what another command prints
  bridge-status 0x9f3c41 | hoptop note 0x9f3c41 -
  # Remove the newest note
  hoptop note 0x9f3c41 --remove
  # Remove the note that contains this text
  hoptop note 0x9f3c41 --remove \"asked the\"
  # Undo it, if it was the last change
  hoptop undo

A note is one line of at most 512 characters: several lines are joined. It is kept with the transaction; `hoptop show` prints it.";

/// The arguments of `hoptop note`.
#[derive(Args, Clone, Debug)]
pub(crate) struct NoteArgs {
    /// A transaction, by its hash, six or more characters of it, a URL with it, a ticket, a quote or request ID, or the
    /// address of the sender
    #[arg(value_name = "TX", add = ArgValueCompleter::new(completers::transactions))]
    pub transaction: String,
    /// The note, `-` to read it from standard input; with --remove, a part of the note to remove
    #[arg(value_name = "TEXT", required_unless_present = "remove")]
    pub text: Option<String>,
    /// Remove the note that contains TEXT, or the newest note
    #[arg(long)]
    pub remove: bool,
}

impl NoteArgs {
    /// Whether the note is read from standard input.
    pub(crate) fn reads_input(&self) -> bool {
        !self.remove && self.text.as_deref() == Some("-")
    }
}

/// Adds or removes the note. A note `-` is read from `input`, which is `None` if commands are typed on standard input.
pub(crate) fn note(args: &NoteArgs, input: Option<&mut dyn Read>, cx: &mut Context) -> Result<Exit> {
    // Looked up first, so that nobody types a note for a transaction that isn't tracked.
    let Some(tx) = cx.find(&args.transaction)? else {
        writeln!(cx.err, "nothing was changed")?;
        return Ok(Exit::Error);
    };
    let text = match (args.reads_input(), input) {
        (false, _) => args.text.clone(),
        (true, Some(input)) => Some(read_text(input)?),
        (true, None) => {
            writeln!(cx.err, "commands are typed on standard input, so a note can't be read from it: give the text")?;
            return Ok(Exit::Usage);
        }
    };
    let is_cut = text.as_deref().is_some_and(text::is_cut);
    let text = text.as_deref().map(text::clean_or_none);
    if text == Some(None) {
        writeln!(cx.err, "the note is empty")?;
        return Ok(Exit::Usage);
    }
    let (hash, transactions) = (&tx.params.transaction_id, vec![tx.key()]);
    if !args.remove {
        if cx.edit(Edit::AddNote { transactions, text: text.flatten().unwrap_or_default() })? == 0 {
            writeln!(cx.err, "no note was added: {hash} no longer exists")?;
            return Ok(Exit::Error);
        }
        writeln!(cx.out, "added a note to {hash}")?;
        if is_cut {
            writeln!(cx.err, "warning: the note: {}", text::cut_warning())?;
        }
        return Ok(Exit::Success);
    }
    let note = match note_to_remove(&tx.notes, text.flatten().as_deref()) {
        Ok(note) => note.to_owned(),
        Err(reason) => {
            writeln!(cx.err, "{hash}: {reason}; nothing was changed")?;
            return Ok(Exit::Error);
        }
    };
    let removed = format!("removed the note from {hash}: {}", text::clean(&note));
    match cx.edit(Edit::RemoveNote { transactions, text: note })? {
        0 => writeln!(cx.out, "no change: the note is already removed")?,
        _ => writeln!(cx.out, "{removed}")?,
    }
    Ok(Exit::Success)
}

fn read_text(input: &mut dyn Read) -> Result<String> {
    let mut text = Vec::new();
    input.take(INPUT_LIMIT).read_to_end(&mut text).wrap_err("standard input can't be read")?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// Returns the newest note, or the one note that contains a text. A note that equals the text comes first.
///
/// # Errors
/// The reason why no note is found.
fn note_to_remove<'a>(notes: &'a [String], part: Option<&str>) -> Result<&'a str, String> {
    let Some(part) = part else { return notes.last().map(String::as_str).ok_or_else(|| "it has no note".into()) };
    if let Some(equal) = notes.iter().find(|note| *note == part) {
        return Ok(equal);
    }
    let mut containing: Vec<&str> = notes.iter().map(String::as_str).filter(|note| note.contains(part)).collect();
    containing.dedup();
    match containing[..] {
        [note] => Ok(note),
        [] => Err(format!("no note contains `{part}`")),
        _ => Err(format!("{} notes contain `{part}`; give more of the text", containing.len())),
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;
    use crate::{
        cli::{
            commands::undo,
            context::testing::{CommandFixture, at},
        },
        domain::{fixtures, ids::RowId},
        store::{Store, testing},
    };

    fn run_with(fixture: &mut CommandFixture, args: &NoteArgs) -> (String, String, Exit) {
        let (out, err, exit) = fixture.run(|cx| note(args, Some(&mut "a reply of\nthe bridge\n".as_bytes()), cx));
        (out, err, exit.unwrap())
    }

    /// A standard input during which the transaction is deleted.
    struct DeletingInput(Store, RowId);

    impl Read for DeletingInput {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            testing::delete(&self.0, vec![self.1], at(70));
            Ok(0)
        }
    }

    fn run(fixture: &mut CommandFixture, transaction: &str, text: &str) -> (String, String, Exit) {
        let args = NoteArgs { transaction: transaction.to_owned(), text: Some(text.to_owned()), remove: false };
        run_with(fixture, &args)
    }

    fn remove(fixture: &mut CommandFixture, transaction: &str, text: Option<&str>) -> (String, String, Exit) {
        let args = NoteArgs { transaction: transaction.to_owned(), text: text.map(ToOwned::to_owned), remove: true };
        run_with(fixture, &args)
    }

    #[test]
    fn note_keeps_its_text_without_control_characters_and_is_undone() {
        let mut fixture = CommandFixture::new();
        fixture.track(fixtures::new(1));
        let hash = fixtures::params(1).transaction_id.to_string();
        let done = run(&mut fixture, &hash, "  asked; the\nbridge\u{1b} \"waits\" ");
        assert_eq!(done, (format!("added a note to {hash}\n"), String::new(), Exit::Success));
        run(&mut fixture, "0000000001", "asked again");
        assert_eq!(fixture.transactions()[0].notes, ["asked; the bridge \"waits\"", "asked again"]);
        fixture.run(|cx| undo::undo(&Default::default(), cx).unwrap());
        assert_eq!(fixture.transactions()[0].notes, ["asked; the bridge \"waits\""]);
    }

    #[test]
    fn note_is_read_from_standard_input() {
        let mut fixture = CommandFixture::new();
        fixture.track(fixtures::new(1));
        run(&mut fixture, fixtures::params(1).transaction_id.as_str(), "-");
        assert_eq!(fixture.transactions()[0].notes, ["a reply of the bridge"]);
        let args = NoteArgs { transaction: "0000000001".to_owned(), text: Some("-".to_owned()), remove: false };
        let (_, err, exit) = fixture.run(|cx| note(&args, None, cx));
        assert!(err.contains("give the text") && exit.unwrap() == Exit::Usage, "{err}");
    }

    #[test]
    fn note_that_is_lost_or_cut_is_reported() {
        let mut fixture = CommandFixture::new();
        let row = fixture.track(fixtures::new(1));
        let hash = fixtures::params(1).transaction_id.to_string();
        let (out, err, exit) = run(&mut fixture, &hash, &"word ".repeat(200));
        assert_eq!((out, exit), (format!("added a note to {hash}\n"), Exit::Success));
        assert_eq!(err, "warning: the note: only the first 511 characters are kept\n");
        let mut input = DeletingInput(fixture.store.clone(), row);
        let args = NoteArgs { transaction: hash.clone(), text: Some("-".to_owned()), remove: false };
        let empty = fixture.run(|cx| note(&args, Some(&mut (&b"text"[..]).chain(&mut input)), cx));
        assert_eq!(empty.1, format!("no note was added: {hash} no longer exists\n"));
        assert_eq!(empty.2.unwrap(), Exit::Error);
    }

    #[test]
    fn empty_note_or_unknown_transaction_changes_nothing() {
        let mut fixture = CommandFixture::new();
        fixture.track(fixtures::new(1));
        let hash = fixtures::params(1).transaction_id.to_string();
        assert_eq!(run(&mut fixture, &hash, " \u{200b}"), (String::new(), "the note is empty\n".into(), Exit::Usage));
        let (_, err, exit) = run(&mut fixture, "0xabcdefabcdef", "lost");
        assert!(err.starts_with("`0xabcdefabcdef` is not tracked") && exit == Exit::Error, "{err}");
        assert!(fixture.transactions()[0].notes.is_empty());
    }

    #[test]
    fn removed_note_disappears_and_comes_back_by_undo() {
        let mut fixture = CommandFixture::new();
        fixture.track(fixtures::new(1));
        let hash = fixtures::params(1).transaction_id.to_string();
        for text in ["asked the bridge", "asked the sender", "closed"] {
            run(&mut fixture, &hash, text);
        }
        let notes = |fixture: &CommandFixture| fixture.transactions()[0].notes.clone();
        let (_, err, exit) = remove(&mut fixture, &hash, Some("asked"));
        assert!(err.contains("2 notes contain `asked`") && exit == Exit::Error, "{err}");
        let (_, err, exit) = remove(&mut fixture, &hash, Some("refunded"));
        assert!(err.contains("no note contains `refunded`") && exit == Exit::Error, "{err}");
        assert_eq!(notes(&fixture).len(), 3);
        assert_eq!(remove(&mut fixture, &hash, None).0, format!("removed the note from {hash}: closed\n"));
        assert_eq!(remove(&mut fixture, &hash, Some("bridge")).2, Exit::Success);
        assert_eq!(notes(&fixture), ["asked the sender"]);
        fixture.run(|cx| undo::undo(&Default::default(), cx).unwrap());
        assert_eq!(notes(&fixture), ["asked the bridge", "asked the sender"]);
        fixture.run(|cx| undo::undo(&undo::UndoArgs { redo: true }, cx).unwrap());
        assert_eq!(notes(&fixture), ["asked the sender"]);
        remove(&mut fixture, &hash, None);
        let (_, err, exit) = remove(&mut fixture, &hash, None);
        assert!(err.contains("it has no note") && exit == Exit::Error, "{err}");
    }
}
