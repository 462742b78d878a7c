//! The dialog for adding and finding: what was pasted or typed, and what was found in it.

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

    /// Reads the text anew; `find` says which tracked transaction has a hash.
    pub fn read(&mut self, any_chain: bool, find: impl Fn(&TxHash) -> Option<RowId>) {
        let options = Options { any_chain, ..Options::default() };
        let known = |pasted: &Pasted| match pasted {
            Pasted::Complete(new) => find(&new.told.transaction_id),
            Pasted::Hash { hash, .. } => find(hash),
            Pasted::Nothing { .. } => None,
        };
        let found = intake::paste(&self.text(), &options).into_iter();
        self.found = found.map(|pasted| Found { known: known(&pasted), pasted }).collect();
    }
}
