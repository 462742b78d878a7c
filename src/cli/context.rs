//! The context of a command: the store, the time, the output streams, and the lookup of a transaction.
//!
//! The module must never use a global: standard output, the clock and the environment are passed in.

use std::{
    collections::{BTreeSet, HashSet},
    io,
};

use chrono::FixedOffset;

use crate::{
    cli::output::json::{JsonList, TransactionView},
    clock::Now,
    domain::{
        advice::Advice,
        ids::{RowId, TransactionKey},
        operation::{Edit, Operation},
        text,
        transaction::{Tracking, Transaction},
    },
    presentation::{glyphs::Glyphs, row_text},
    store::{Reader, Store},
};

/// The values and streams that a command works with.
pub struct Context<'a> {
    /// The store.
    pub store: Store,
    /// The name of the current profile.
    pub profile: String,
    /// The time at which the command runs.
    pub now: Now,
    /// The time zone of printed times.
    pub zone: FixedOffset,
    /// The stream for results.
    pub out: &'a mut dyn io::Write,
    /// The stream for errors, warnings and hints, which scripts don't read.
    pub err: &'a mut dyn io::Write,
    /// The mark of a shortened text: `…`, or `..` with `--ascii`.
    pub ellipsis: &'static str,
    /// Whether `out` is a terminal. Text from outside must be cleaned before it is written to a terminal.
    pub out_is_terminal: bool,
    /// Whether symbols are written as words, for a screen reader.
    pub is_in_words: bool,
}

impl Context<'_> {
    /// Finds the transaction of a `TX` argument: a hash, a unique part of a hash, or a URL that contains a hash. If not
    /// exactly one transaction matches, prints the reason and returns `None`; the command then ends with
    /// [`Exit::Error`](crate::runtime::exit::Exit::Error).
    pub fn find(&mut self, text: &str) -> color_eyre::Result<Option<Transaction>> {
        let mut found = self.store.reader()?.find(text)?;
        match found.len() {
            1 => Ok(found.pop()),
            2.. => self.find_in_profile(text, &found),
            0 => {
                let text = text::clean(text);
                if text.chars().count() < 6 {
                    writeln!(
                        self.err,
                        "`{text}` is no tracked ticket, and too short for a hash; give six or more characters of the hash"
                    )?;
                } else {
                    writeln!(
                        self.err,
                        "`{text}` is not tracked; `hoptop list` shows tracked transactions, `hoptop add` adds one"
                    )?;
                }
                Ok(None)
            }
        }
    }

    /// Returns the match in the current profile if all matches have the same hash. Otherwise prints the matches.
    fn find_in_profile(&mut self, text: &str, found: &[Transaction]) -> color_eyre::Result<Option<Transaction>> {
        let keys: HashSet<_> = found.iter().map(|tx| tx.params.transaction_id.key()).collect();
        let mut own = found.iter().filter(|tx| tx.profile == self.profile);
        let profiles: BTreeSet<_> = found.iter().map(|tx| tx.profile.as_str()).collect();
        if let (1, Some(tx), None) = (keys.len(), own.next(), own.next()) {
            let others: Vec<_> = profiles
                .iter()
                .filter(|profile| **profile != self.profile)
                .map(|profile| text::clean(profile))
                .collect();
            let (own, others) = (text::clean(&self.profile), others.join(", "));
            writeln!(
                self.err,
                "note: this is the transaction of profile {own}; it is also tracked in {others} (see --profile)"
            )?;
            return Ok(Some(tx.clone()));
        }
        let way_out = match (keys.len(), profiles.len() == found.len()) {
            (1, true) => "choose the profile with --profile",
            (1, false) => "give the source chain too, as shown here",
            _ => "give more of the hash",
        };
        writeln!(self.err, "`{}` matches several transactions; {way_out}:", text::clean(text))?;
        for tx in found {
            let (name, route) =
                (tx.params.transaction_id.on_chain(&tx.params.from_chain), row_text::route(tx, Glyphs::Ascii));
            writeln!(self.err, "  {name}  {route}  profile {}", text::clean(&tx.profile))?;
        }
        Ok(None)
    }

    /// Returns all transactions with these names, each once, and whether each is polled. If one can't be found, prints
    /// the reason and returns `None`, so that the command changes nothing.
    pub(crate) fn find_all(&mut self, texts: &[String]) -> color_eyre::Result<Option<Vec<(TransactionKey, Tracking)>>> {
        let mut found: Vec<(TransactionKey, Tracking)> = Vec::new();
        for text in texts {
            let Some(tx) = self.find(text)? else {
                writeln!(self.err, "nothing was changed")?;
                return Ok(None);
            };
            let key = tx.key();
            if found.iter().all(|(known, _)| *known != key) {
                found.push((key, tx.tracking));
            }
        }
        Ok(Some(found))
    }

    /// Applies an edit in the current profile, so that `hoptop undo` can reverse it. Returns the number of changes.
    ///
    /// # Errors
    /// If the store can't be written.
    pub(crate) fn edit(&self, edit: Edit) -> color_eyre::Result<usize> {
        let operation = Operation::Edit { profile: self.profile.clone(), edit };
        Ok(self.store.apply(operation, self.now.wall).wait()?.changed()?)
    }

    /// Prints the transactions of these rows that still exist, as a JSON array with one on each line.
    pub(crate) fn print_json(&mut self, reader: &Reader, rows: &[RowId]) -> color_eyre::Result<()> {
        let mut list = JsonList::begin(self.out);
        reader.for_each_row(rows, |tx, alerts| list.push(&TransactionView::new(tx, alerts, self.now.wall)))?;
        Ok(list.end()?)
    }

    /// Prints a transaction and the advice about it, with this action.
    pub(crate) fn print_advice(&mut self, tx: &Transaction, advice: &Advice, act: &str) -> io::Result<()> {
        let (route, status) =
            (row_text::route(tx, Glyphs::Ascii), row_text::transaction_status_cell(tx, Glyphs::Ascii));
        writeln!(self.out, "{}  {route}  {status}", tx.params.transaction_id)?;
        writeln!(self.out, "  VERDICT  {}", advice.verdict)?;
        if let Some(chain) = &advice.chain {
            writeln!(self.out, "  CHAIN    {chain}")?;
        }
        writeln!(self.out, "  SAY      {}", advice.say)?;
        writeln!(self.out, "  DO       {act}")
    }
}

/// Runs commands in tests, over a store in a temporary folder, and captures their output.
#[cfg(test)]
pub(crate) mod testing {
    use chrono::{DateTime, Offset, TimeDelta, Utc};
    use tempfile::TempDir;

    use super::*;
    use crate::{
        clock::MonotonicTime,
        domain::{observation::Observation, transaction::NewTransaction},
        store::testing,
    };

    pub(crate) struct CommandFixture {
        pub(crate) folder: TempDir,
        pub(crate) store: Store,
        pub(crate) is_terminal: bool,
        pub(crate) is_in_words: bool,
        out: Vec<u8>,
        err: Vec<u8>,
    }

    pub(crate) fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_700_000_000, 0).unwrap() + TimeDelta::seconds(seconds)
    }

    /// Parses the arguments of a command; the first word is its name.
    pub(crate) fn parse<A: clap::Args>(words: &[&str]) -> Result<A, clap::Error> {
        A::from_arg_matches(&A::augment_args(clap::Command::new("hoptop")).try_get_matches_from(words)?)
    }

    impl CommandFixture {
        pub(crate) fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let store = Store::open(&folder.path().join("hoptop.db")).unwrap();
            Self { folder, store, is_terminal: false, is_in_words: false, out: Vec::new(), err: Vec::new() }
        }

        /// Runs a command at second 60, and returns its standard output, its standard error and its result.
        pub(crate) fn run<T>(&mut self, command: impl FnOnce(&mut Context) -> T) -> (String, String, T) {
            let mut context = Context {
                store: self.store.clone(),
                profile: "default".into(),
                now: Now { mono: MonotonicTime::default(), wall: at(60) },
                zone: Utc.fix(),
                out: &mut self.out,
                err: &mut self.err,
                ellipsis: "…",
                out_is_terminal: self.is_terminal,
                is_in_words: self.is_in_words,
            };
            let result = command(&mut context);
            let text = |bytes: &mut Vec<u8>| String::from_utf8(std::mem::take(bytes)).unwrap();
            (text(&mut self.out), text(&mut self.err), result)
        }

        pub(crate) fn track(&self, new: NewTransaction) -> RowId {
            self.track_as("default", new)
        }

        pub(crate) fn track_as(&self, profile: &str, new: NewTransaction) -> RowId {
            testing::track(&self.store, profile, vec![new], at(0)).added.listed[0]
        }

        pub(crate) fn observe(&self, row: RowId, observation: Observation, second: i64) {
            testing::observe(&self.store, row, observation, at(second));
        }

        pub(crate) fn transactions(&self) -> Vec<Transaction> {
            testing::load_transactions(&self.store.reader().unwrap())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::testing::CommandFixture;
    use crate::domain::{fixtures, ids::TxHash};

    #[test]
    fn part_of_a_hash_that_matches_several_transactions_lists_them() {
        let mut fixture = CommandFixture::new();
        fixture.track(fixtures::new(1));
        fixture.track(fixtures::new(2));
        let (_, err, found) = fixture.run(|cx| cx.find("0x000000").unwrap());
        assert_eq!(found, None);
        assert!(err.contains("several") && err.contains("give more of the hash"), "{err}");
        assert_eq!(err.lines().filter(|line| line.contains("ARB>BASE")).count(), 2, "{err}");
    }

    #[test]
    fn hash_in_two_profiles_means_the_transaction_of_the_current_profile() {
        let mut fixture = CommandFixture::new();
        fixture.track_as("other", fixtures::new(1));
        let row = fixture.track(fixtures::new(1));
        let (_, err, found) = fixture.run(|cx| cx.find(&format!("https://scan.example/tx/0x{:064x}", 1)).unwrap());
        let note = "note: this is the transaction of profile default; it is also tracked in other (see --profile)\n";
        assert_eq!((err.as_str(), found.map(|tx| tx.id)), (note, Some(row)));
        // On two chains of one profile the hash is ambiguous.
        let mut elsewhere = fixtures::new(1);
        elsewhere.params.from_chain = crate::domain::ids::ChainId::new("10");
        fixture.track(elsewhere);
        let (_, err, found) = fixture.run(|cx| cx.find(TxHash::new(format!("0x{:064x}", 1)).as_str()).unwrap());
        assert!(found.is_none() && err.contains("OP>BASE"), "{err}");
    }

    #[test]
    fn untracked_hash_is_printed_without_its_escape_sequences() {
        let mut fixture = CommandFixture::new();
        let (_, err, found) = fixture.run(|cx| cx.find("0xabcdef\u{1b}[31m").unwrap());
        assert!(found.is_none());
        assert_eq!(
            err,
            "`0xabcdef[31m` is not tracked; `hoptop list` shows tracked transactions, `hoptop add` adds one\n"
        );
        let (_, err, _) = fixture.run(|cx| cx.find("0xab").unwrap());
        assert!(err.contains("too short"), "{err}");
    }
}
