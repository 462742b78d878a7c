//! A finding in pasted text: the parsed values, the missing values, and the values that a person filled in.
//!
//! A chain that the text suggests is a guess, and shown as a guess until a person edits it. The pasted text must never
//! be changed.

use std::sync::Arc;

use tui_input::Input;

use crate::{
    domain::{
        chains,
        ids::{ChainId, RowId, TxHash},
        transaction::{NewTransaction, Transaction},
        transaction_update::{TransactionUpdate, merge_params},
    },
    intake::{self, Field, FieldError, PasteFinding, PastedContent, ReadOptions},
};

/// The finding in a line, with its state in the form.
#[derive(Debug)]
pub struct Finding {
    /// The parsed line.
    pub pasted: PasteFinding,
    /// The tracked transaction with this hash.
    pub known: Option<RowId>,
    /// The tracked transaction.
    pub stored: Option<Arc<Transaction>>,
    /// A field for each missing value.
    pub cells: Vec<MissingField>,
    /// Whether Enter tracks the transaction once it is complete.
    pub is_marked: bool,
    /// The transaction to track, or the missing and invalid fields.
    pub new: Result<Box<NewTransaction>, Vec<FieldError>>,
    /// The first warning about a value of the complete transaction that isn't used, or kept only in part.
    value_warning: Option<String>,
    /// How the line and the filled-in values are read.
    options: ReadOptions,
}

/// A field for a missing value.
#[derive(Clone, Debug)]
pub struct MissingField {
    /// The name of the value.
    pub field: Field,
    /// The typed text.
    pub input: Input,
    /// Whether the text is a guess that no person has edited.
    pub is_guess: bool,
}

/// The result of parsing a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineState {
    /// The transaction is tracked already.
    Known,
    /// The transaction is complete.
    Ready,
    /// Values are missing or invalid.
    NeedsInput,
    /// A duplicate of the line with this number.
    Duplicate(usize),
    /// The line has no hash.
    NoHash,
}

impl LineState {
    /// Returns the verdict as a symbol and words.
    pub fn label(self) -> &'static str {
        match self {
            Self::Known => "= known",
            Self::Ready => "+ ready",
            Self::NeedsInput => "? needs input",
            Self::Duplicate(_) => "- duplicate",
            Self::NoHash => "- no hash found",
        }
    }
}

impl Finding {
    /// Returns a finding without filled-in values.
    pub fn new(pasted: PasteFinding, options: ReadOptions) -> Self {
        let (cells, new) = (cells(&pasted), Err(Vec::new()));
        let mut found =
            Self { pasted, known: None, stored: None, cells, is_marked: true, new, value_warning: None, options };
        found.reparse();
        found
    }

    /// Returns the key that identifies the finding when the text is parsed again.
    pub fn key(&self) -> String {
        let kind = match &self.pasted.content {
            PastedContent::Complete { new, .. } => new.params.from_chain.as_str(),
            PastedContent::Partial { .. } => "partial",
            PastedContent::Duplicate { .. } => "again",
            PastedContent::Nothing { .. } => "nothing",
        };
        match self.hash() {
            Some(hash) => format!("{kind} {}", hash.key()),
            None => format!("{kind} {}", self.pasted.line),
        }
    }

    /// Keeps the mark and the values that a person filled in before the text was parsed again.
    pub fn keep_edits(&mut self, before: Self) {
        self.is_marked = before.is_marked;
        let parsed = cells(&before.pasted);
        let value = |cell: &MissingField| (cell.field, cell.input.value().to_owned(), cell.is_guess);
        let is_filled_in = |cell: &MissingField| parsed.iter().all(|parsed| value(parsed) != value(cell));
        for cell in before.cells.into_iter().filter(is_filled_in) {
            if let Some(own) = self.cells.iter_mut().find(|own| own.field == cell.field) {
                *own = cell;
            }
        }
        self.reparse();
    }

    /// Returns the hash as pasted.
    pub fn hash(&self) -> Option<&TxHash> {
        match &self.pasted.content {
            PastedContent::Complete { new, .. } => Some(&new.params.transaction_id),
            PastedContent::Partial { hash, .. } => hash.as_ref(),
            PastedContent::Duplicate { hash, .. } => Some(hash),
            PastedContent::Nothing { part, .. } => part.as_ref(),
        }
    }

    /// Returns the hash to look up in the store, together with the source chain if the line names one.
    pub fn lookup_hash(&self) -> Option<TxHash> {
        match &self.pasted.content {
            PastedContent::Complete { new, .. } => {
                Some(TxHash::new(new.params.transaction_id.on_chain(&new.params.from_chain)))
            }
            PastedContent::Partial { hash: Some(hash), given, .. } => {
                let from = given.iter().find(|(field, _)| *field == Field::FromChainId);
                let on_chain = |from: &String| TxHash::new(hash.on_chain(&ChainId::new(from.clone())));
                Some(from.map_or_else(|| hash.clone(), |(_, from)| on_chain(from)))
            }
            _ => self.hash().cloned(),
        }
    }

    /// Returns the result of parsing the line.
    pub fn verdict(&self) -> LineState {
        match (&self.pasted.content, self.known) {
            (PastedContent::Duplicate { line, .. }, _) => LineState::Duplicate(*line),
            (PastedContent::Nothing { .. }, None) => LineState::NoHash,
            (_, Some(_)) => LineState::Known,
            (_, None) if self.new.is_ok() => LineState::Ready,
            (_, None) => LineState::NeedsInput,
        }
    }

    /// Returns the row that Enter opens: a tracked transaction that the line doesn't change.
    pub fn row_to_open(&self) -> Option<RowId> {
        self.known.filter(|_| self.verdict() == LineState::Known && self.changed_fields().is_empty())
    }

    /// Returns the names of the values of the tracked transaction that Enter changes. Only a complete line changes a
    /// transaction; an incomplete line holds guesses.
    fn changed_fields(&self) -> Vec<&'static str> {
        let (PastedContent::Complete { new, .. }, Some(stored)) = (&self.pasted.content, &self.stored) else {
            return Vec::new();
        };
        let reported = stored.record.as_ref().and_then(|record| record.request_id.as_deref());
        let params = merge_params(&stored.params, &new.params, reported);
        TransactionUpdate::new(stored, params, new).fields
    }

    /// Returns the values of the tracked transaction that Enter changes, in words.
    pub fn changes(&self) -> Vec<String> {
        let Some(stored) = &self.stored else { return Vec::new() };
        let words = |name: &str| match name {
            _ if name == Field::ToChainId.name() => {
                let after = ChainId::new(self.value(Field::ToChainId));
                let [before, after] = [&stored.params.to_chain, &after].map(chains::name);
                format!("{} {before} to {after}", column_title(Field::ToChainId))
            }
            _ if name == Field::QuoteId.name() => {
                let (before, after) = (&stored.params.quote_id, self.value(Field::QuoteId));
                format!("{} {before} to {after}", column_title(Field::QuoteId))
            }
            "tracking" => "polling (it was stopped)".to_owned(),
            _ => name.to_owned(),
        };
        self.changed_fields().into_iter().map(words).collect()
    }

    /// Whether the line changes this value of the tracked transaction.
    pub fn changes_value(&self, field: Field) -> bool {
        self.changed_fields().contains(&field.name())
    }

    /// Whether the line has all values that the service requires, without those that a person filled in.
    pub fn is_complete(&self) -> bool {
        matches!(self.pasted.content, PastedContent::Complete { .. })
    }

    /// Whether Enter adds or changes the transaction, if the line is marked.
    pub fn has_effect(&self) -> bool {
        match self.known {
            None => self.new.is_ok(),
            Some(_) => !self.changed_fields().is_empty(),
        }
    }

    /// Returns the given or filled-in value of a field; empty if there is none.
    pub fn value(&self, field: Field) -> String {
        if let Some(cell) = self.cells.iter().find(|cell| cell.field == field) {
            return cell.input.value().to_owned();
        }
        let value = match (&self.pasted.content, field) {
            (_, Field::TransactionId) if let Some(hash) = self.hash() => Some(hash.to_string()),
            (PastedContent::Complete { new, .. }, Field::FromChainId) => Some(new.params.from_chain.to_string()),
            (PastedContent::Complete { new, .. }, Field::ToChainId) => Some(new.params.to_chain.to_string()),
            (PastedContent::Complete { new, .. }, Field::QuoteId) => Some(new.params.quote_id.clone()),
            (PastedContent::Partial { given, .. }, _) => {
                given.iter().find(|(own, _)| *own == field).map(|(_, value)| value.clone())
            }
            _ => None,
        };
        value.unwrap_or_default()
    }

    /// Returns the index of the first cell with a missing or invalid value.
    pub fn first_missing(&self) -> Option<usize> {
        let errors = self.new.as_ref().err()?;
        self.cells.iter().position(|cell| errors.iter().any(|error| error.field == cell.field))
    }

    /// Returns the required fields that are missing or invalid.
    pub fn missing(&self) -> Vec<Field> {
        match (&self.pasted.content, &self.new) {
            (PastedContent::Nothing { .. }, _) => Field::REQUIRED.to_vec(),
            (_, Err(errors)) => errors.iter().map(|error| error.field).collect(),
            (_, Ok(_)) => Vec::new(),
        }
    }

    /// Returns a warning about a complete transaction: a value isn't used, the hash looks wrong, or a chain is not in
    /// the built-in list. The service may still accept the last two.
    pub fn warning(&self) -> Option<String> {
        let params = &self.new.as_ref().ok()?.params;
        let is_unlisted = |chain: &&ChainId| !self.options.allows_any_chain && chains::find(chain).is_none();
        let hash_warning = || intake::hash_warning(&params.transaction_id, &params.from_chain);
        self.value_warning.clone().or_else(hash_warning).or_else(|| {
            let unlisted = [&params.from_chain, &params.to_chain].into_iter().find(is_unlisted)?;
            Some(format!("chain {unlisted} is not in the built-in list"))
        })
    }

    /// Replaces the names of chains with their IDs, where a name is unambiguous.
    pub fn expand_chain_names(&mut self) {
        let cells = self.cells.iter_mut();
        for cell in cells.filter(|cell| matches!(cell.field, Field::FromChainId | Field::ToChainId)) {
            if let Some(id) = recognised_chain(cell.input.value()) {
                cell.input = Input::new(id.to_string());
            }
        }
        self.reparse();
    }

    /// Parses the line again after a field changed: the transaction to track, or the errors that are left.
    pub fn reparse(&mut self) {
        let parsed = match &self.pasted.content {
            PastedContent::Complete { new, warnings } => Ok((new.clone(), warnings.clone())),
            PastedContent::Duplicate { .. } | PastedContent::Nothing { .. } => Err(Vec::new()),
            PastedContent::Partial { hash, given, .. } => {
                let filled = self.cells.iter().map(|cell| (cell.field, cell.input.value()));
                let hash = hash.iter().map(|hash| (Field::TransactionId, hash.as_str()));
                let given = given.iter().map(|(field, value)| (*field, value.as_str()));
                // Filled-in values come first, since the first value of a field counts.
                let is_open = |field: &Field| self.cells.iter().any(|cell| cell.field == *field);
                let given = given.filter(|(field, _)| !is_open(field));
                let values: Vec<_> = filled.chain(hash).chain(given).collect();
                intake::parse_one(&values, &self.options)
            }
        };
        self.value_warning = parsed.as_ref().ok().and_then(|(_, warnings)| warnings.first().cloned());
        self.new = parsed.map(|(new, _)| Box::new(new));
    }
}

/// Returns the chain with this name or beginning of a name, if only one chain matches.
fn recognised_chain(typed: &str) -> Option<&'static ChainId> {
    match chains::chains_by_name(typed).as_slice() {
        [chain] => Some(&chain.id),
        _ => None,
    }
}

/// Returns a cell for each missing value, filled with the written text or a guess.
fn cells(pasted: &PasteFinding) -> Vec<MissingField> {
    let PastedContent::Partial { missing, given, guess, guess_to, .. } = &pasted.content else { return Vec::new() };
    let cell = |field: &Field| {
        let written = given.iter().find(|(own, _)| own == field).map(|(_, value)| value.as_str());
        let guess = match field {
            Field::FromChainId => guess.as_ref(),
            Field::ToChainId => guess_to.as_ref(),
            _ => None,
        };
        let guess = guess.filter(|_| written.is_none());
        let chain = written.and_then(recognised_chain).or(guess);
        let value = chain.map(ToString::to_string).or_else(|| written.map(str::to_owned)).unwrap_or_default();
        MissingField { field: *field, input: Input::new(value), is_guess: guess.is_some() }
    };
    missing.iter().map(cell).collect()
}

/// Returns the title of the column of a field; the field's own name if it has no column.
pub(crate) fn column_title(field: Field) -> &'static str {
    match field {
        Field::TransactionId => "TX",
        Field::FromChainId => "FROM",
        Field::ToChainId => "TO",
        Field::QuoteId => "QUOTE ID",
        other => other.name(),
    }
}
