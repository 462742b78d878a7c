//! The dialog for adding and finding: what was pasted or typed, and what was found in it.

use std::collections::HashMap;

use tui_input::Input;

use crate::{
    domain::ids::{RowId, TxHash},
    intake::{self, Options, Pasted},
};

/// The dialog's state.
#[derive(Debug, Default)]
pub struct AddForm {
    /// Whole lines that were pasted before the one being typed.
    pub lines: Vec<String>,
    /// The line being typed.
    pub input: Input,
    /// What was found, line by line.
    pub found: Vec<Found>,
    /// Whether more was pasted than is taken.
    pub overflows: bool,
    /// Of hashes that were asked about the row, if they are tracked.
    tracked: HashMap<String, Option<RowId>>,
    /// Whether the answer about some is still to come.
    asked: bool,
    /// Whether Enter waits for it.
    submitted: bool,
}

/// What was found in a line, and what is known of it.
#[derive(Debug)]
pub struct Found {
    /// As it was read.
    pub pasted: Pasted,
    /// The transaction with this hash that is tracked already.
    pub known: Option<RowId>,
}

impl AddForm {
    /// The whole text.
    pub fn text(&self) -> String {
        let mut text = self.lines.join("\n");
        if !self.lines.is_empty() {
            text.push('\n');
        }
        text.push_str(self.input.value());
        text
    }

    /// How many lines are complete: Enter tracks these.
    pub fn complete(&self) -> usize {
        self.found.iter().filter(|found| matches!(found.pasted, Pasted::Complete(_))).count()
    }

    /// How many lines say no more than the hash of one that is tracked.
    pub fn known_only(&self) -> usize {
        let known = |found: &&Found| matches!(found.pasted, Pasted::Hash { .. }) && found.known.is_some();
        self.found.iter().filter(known).count()
    }

    /// How many lines can't be used as they are.
    pub fn left_out(&self) -> usize {
        self.found.len() - self.complete() - self.known_only()
    }

    /// Adds a piece of pasted text at the end.
    pub fn paste(&mut self, text: &str) {
        let text = format!("{}{}", self.input.value(), text.replace("\r\n", "\n").replace('\r', "\n"));
        let (whole, last) = text.rsplit_once('\n').map_or((None, text.as_str()), |(whole, last)| (Some(whole), last));
        self.lines.extend(whole.into_iter().flat_map(|whole| whole.split('\n')).map(str::to_owned));
        self.input = Input::new(last.to_owned());
    }

    /// Reads the text anew. Of a hash that was found before it stays known whether it is tracked.
    pub fn read(&mut self, any_chain: bool) {
        let options = Options { any_chain, ..Options::default() };
        let found = intake::paste(&self.text(), &options).into_iter();
        self.found = found.map(|pasted| Found { known: None, pasted }).collect();
        self.submitted = false;
        for found in &mut self.found {
            found.known = found.hash().and_then(|hash| self.tracked.get(hash.as_str()).copied().flatten());
        }
    }

    /// The hashes of which isn't known whether they are tracked; who asks is to bring the answer to
    /// [`take_in`](Self::take_in).
    pub fn ask(&mut self) -> Vec<TxHash> {
        let hashes = self.found.iter().filter_map(Found::hash);
        let unknown: Vec<TxHash> = hashes.filter(|hash| !self.tracked.contains_key(hash.as_str())).cloned().collect();
        self.asked = !unknown.is_empty();
        unknown
    }

    /// Takes in which hashes are tracked, of those that were asked about last; whether Enter was waiting for that.
    pub fn take_in(&mut self, known: &HashMap<String, RowId>) -> bool {
        for found in &mut self.found {
            if let Some(hash) = found.hash().map(|hash| hash.as_str().to_owned()) {
                let row = known.get(&hash).copied().or(self.tracked.get(&hash).copied().flatten());
                self.tracked.insert(hash, row);
                found.known = row;
            }
        }
        self.asked = false;
        std::mem::take(&mut self.submitted)
    }

    /// Whether Enter has to wait until it is known what is tracked; it is carried out then.
    pub fn wait_for_known(&mut self) -> bool {
        self.submitted = self.asked;
        self.asked
    }
}

impl Found {
    fn hash(&self) -> Option<&TxHash> {
        match &self.pasted {
            Pasted::Complete(new) => Some(&new.told.transaction_id),
            Pasted::Hash { hash, .. } => Some(hash),
            Pasted::Nothing { .. } => None,
        }
    }
}
