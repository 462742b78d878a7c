//! What every command is given: the store, the moment, where to print, and how to find a transaction.
//!
//! It must never reach for a global: standard output, the clock and the environment come in from outside.

use std::{
    collections::{BTreeSet, HashSet},
    io,
};

use chrono::FixedOffset;

use crate::{
    clock::Now,
    domain::{row_text, text, transaction::Transaction},
    store::{Lookup, Store},
};

/// The surroundings of a command.
pub struct Context<'a> {
    /// The store.
    pub store: Store,
    /// The profile that is in force.
    pub profile: String,
    /// The moment of the command.
    pub now: Now,
    /// The zone for times that people read.
    pub zone: FixedOffset,
    /// For results.
    pub out: &'a mut dyn io::Write,
    /// For errors, warnings and what else scripts shouldn't read.
    pub err: &'a mut dyn io::Write,
    /// Stands for what is cut: `…`, or `..` with `--ascii`.
    pub ellipsis: &'static str,
    /// Whether `out` is a terminal, so that bytes from outside must not reach it as they are.
    pub out_is_terminal: bool,
    /// Whether marks and symbols are words: somebody hears them.
    pub in_words: bool,
}

impl Context<'_> {
    /// Finds `TX`: a hash, a unique part of one, or a URL with one in it. `None` if there isn't exactly one, and then the
    /// reason has been printed; the command ends with [`Exit::Error`](super::exit::Exit::Error).
    pub fn find(&mut self, text: &str) -> color_eyre::Result<Option<Transaction>> {
        match self.store.reader()?.find(text)? {
            Lookup::One(tx) => Ok(Some(*tx)),
            Lookup::Many(found) => self.one_of_many(text, &found),
            Lookup::None => {
                let text = text::clean(text);
                if text.chars().count() < 6 {
                    writeln!(self.err, "`{text}` is too short; give six or more characters of the hash")?;
                } else {
                    writeln!(self.err, "`{text}` is not tracked; `hoptop list` shows what is, `hoptop add` adds it")?;
                }
                Ok(None)
            }
        }
    }

    /// The one in the profile that is in force if all have the same hash. Otherwise nobody can know which is meant.
    fn one_of_many(&mut self, text: &str, found: &[Transaction]) -> color_eyre::Result<Option<Transaction>> {
        let keys: HashSet<_> = found.iter().map(|tx| tx.params.transaction_id.key()).collect();
        let mut own = found.iter().filter(|tx| tx.profile == self.profile);
        let profiles: BTreeSet<_> = found.iter().map(|tx| tx.profile.as_str()).collect();
        if let (1, Some(tx), None) = (keys.len(), own.next(), own.next()) {
            let others: Vec<_> =
                profiles.iter().filter(|profile| **profile != self.profile).map(|it| text::clean(it)).collect();
            let (own, others) = (text::clean(&self.profile), others.join(", "));
            writeln!(self.err, "note: this is the one in {own}; it is tracked in {others} too, see --profile")?;
            return Ok(Some(tx.clone()));
        }
        let way_out = match (keys.len(), profiles.len() == found.len()) {
            (1, true) => "name its profile with --profile",
            (1, false) => "name its source chain too, as here",
            _ => "give more of the hash",
        };
        writeln!(self.err, "`{}` fits several transactions; {way_out}:", text::clean(text))?;
        for tx in found {
            let (name, route) = (tx.params.transaction_id.on_chain(&tx.params.from_chain), row_text::route(tx));
            writeln!(self.err, "  {name}  {route}  profile {}", text::clean(&tx.profile))?;
        }
        Ok(None)
    }
}

/// A store in a temporary folder, and what commands print over it.
#[cfg(test)]
pub(super) mod testing {
    use chrono::{DateTime, Offset, TimeDelta, Utc};
    use tempfile::TempDir;

    use super::*;
    use crate::{
        clock::Mono,
        domain::{ids::RowId, observation::Observation, transaction::NewTransaction},
        store::testing,
    };

    pub(in crate::cli) struct Bench {
        pub(in crate::cli) folder: TempDir,
        pub(in crate::cli) store: Store,
        pub(in crate::cli) is_terminal: bool,
        pub(in crate::cli) in_words: bool,
        out: Vec<u8>,
        err: Vec<u8>,
    }

    pub(in crate::cli) fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_700_000_000, 0).unwrap() + TimeDelta::seconds(seconds)
    }

    impl Bench {
        pub(in crate::cli) fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let store = Store::open(&folder.path().join("hoptop.db")).unwrap();
            Self { folder, store, is_terminal: false, in_words: false, out: Vec::new(), err: Vec::new() }
        }

        /// Runs a command a minute after the start, and returns what it printed and what it returned.
        pub(in crate::cli) fn run<T>(&mut self, command: impl FnOnce(&mut Context) -> T) -> (String, String, T) {
            let mut context = Context {
                store: self.store.clone(),
                profile: "default".into(),
                now: Now { mono: Mono::default(), wall: at(60) },
                zone: Utc.fix(),
                out: &mut self.out,
                err: &mut self.err,
                ellipsis: "…",
                out_is_terminal: self.is_terminal,
                in_words: self.in_words,
            };
            let result = command(&mut context);
            let text = |bytes: &mut Vec<u8>| String::from_utf8(std::mem::take(bytes)).unwrap();
            (text(&mut self.out), text(&mut self.err), result)
        }

        pub(in crate::cli) fn track(&self, new: NewTransaction) -> RowId {
            self.track_as("default", new)
        }

        pub(in crate::cli) fn track_as(&self, profile: &str, new: NewTransaction) -> RowId {
            testing::track(&self.store, profile, vec![new], at(0)).added.first[0]
        }

        pub(in crate::cli) fn hear(&self, row: RowId, observation: Observation, second: i64) {
            testing::observe(&self.store, row, observation, at(second));
        }

        pub(in crate::cli) fn transactions(&self) -> Vec<Transaction> {
            testing::load_transactions(&self.store.reader().unwrap())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::testing::Bench;
    use crate::domain::{fixtures, ids::TxHash};

    #[test]
    fn a_part_that_fits_several_lists_them() {
        let mut bench = Bench::new();
        bench.track(fixtures::new(1));
        bench.track(fixtures::new(2));
        let (_, err, found) = bench.run(|cx| cx.find("0x000000").unwrap());
        assert_eq!(found, None);
        assert!(err.contains("several") && err.contains("give more of the hash"), "{err}");
        assert_eq!(err.lines().filter(|line| line.contains("ARB>BASE")).count(), 2, "{err}");
    }

    #[test]
    fn the_same_hash_in_two_profiles_is_that_of_the_profile_in_force() {
        let mut bench = Bench::new();
        bench.track_as("other", fixtures::new(1));
        let row = bench.track(fixtures::new(1));
        let (_, err, found) = bench.run(|cx| cx.find(&format!("https://scan.example/tx/0x{:064x}", 1)).unwrap());
        let note = "note: this is the one in default; it is tracked in other too, see --profile\n";
        assert_eq!((err.as_str(), found.map(|tx| tx.id)), (note, Some(row)));
        // On two chains of one profile it stays open which is meant.
        let mut elsewhere = fixtures::new(1);
        elsewhere.params.from_chain = crate::domain::ids::ChainId::new("10");
        bench.track(elsewhere);
        let (_, err, found) = bench.run(|cx| cx.find(TxHash::new(format!("0x{:064x}", 1)).as_str()).unwrap());
        assert!(found.is_none() && err.contains("OP>BASE"), "{err}");
    }

    #[test]
    fn what_is_not_tracked_is_named_without_its_escapes() {
        let mut bench = Bench::new();
        let (_, err, found) = bench.run(|cx| cx.find("0xabcdef\u{1b}[31m").unwrap());
        assert!(found.is_none());
        assert_eq!(err, "`0xabcdef[31m` is not tracked; `hoptop list` shows what is, `hoptop add` adds it\n");
        let (_, err, _) = bench.run(|cx| cx.find("0xab").unwrap());
        assert!(err.contains("too short"), "{err}");
    }
}
