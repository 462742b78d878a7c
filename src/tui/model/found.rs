//! One finding of a paste: what it says, what it lacks, and what a person filled in.
//!
//! What a link speaks for is a guess, and shown as one until a person has touched it. It must never change what was pasted.

use tui_input::Input;

use crate::{
    domain::{
        chains,
        ids::{ChainId, RowId, TxHash},
        transaction::NewTransaction,
    },
    intake::{self, Content, Field, FieldError, Pasted},
};

/// What was found in a line, and what is known of it.
#[derive(Debug)]
pub struct Found {
    /// As it was read.
    pub pasted: Pasted,
    /// The transaction with this hash that is tracked already.
    pub known: Option<RowId>,
    /// What it lacks, as far as that is filled in.
    pub cells: Vec<Cell>,
    /// Whether it is to be tracked, once it can be.
    pub is_marked: bool,
    /// What would be tracked, or what is still wrong with it.
    pub new: Result<Box<NewTransaction>, Vec<FieldError>>,
}

/// A value that a person fills in.
#[derive(Clone, Debug)]
pub struct Cell {
    /// Which one.
    pub field: Field,
    /// What is typed.
    pub input: Input,
    /// Whether it is a guess that nobody has looked at.
    pub is_guess: bool,
}

/// What became of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is tracked already.
    Known,
    /// It can be tracked.
    Ready,
    /// It lacks something.
    NeedsInput,
    /// Another line says it.
    Again(usize),
    /// There is nothing in it.
    Nothing,
}

impl Verdict {
    /// A symbol and words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Known => "= known",
            Self::Ready => "+ ready",
            Self::NeedsInput => "? needs input",
            Self::Again(_) => "- duplicate",
            Self::Nothing => "- no hash found",
        }
    }
}

impl Found {
    /// A finding that nobody has filled anything into.
    pub fn new(pasted: Pasted, any_chain: bool) -> Self {
        let mut found = Self { known: None, cells: cells(&pasted), is_marked: true, new: Err(Vec::new()), pasted };
        found.reparse(any_chain);
        found
    }

    /// What it is recognized by when the text is read anew.
    pub fn key(&self) -> String {
        let kind = match &self.pasted.content {
            Content::Complete(new) => new.params.from_chain.as_str(),
            Content::Partial { .. } => "partial",
            Content::Again { .. } => "again",
            Content::Nothing { .. } => "nothing",
        };
        match self.hash() {
            Some(hash) => format!("{kind} {}", hash.key()),
            None => format!("{kind} {}", self.pasted.line),
        }
    }

    /// Takes over what a person did to it before the text was read anew.
    pub fn keep(&mut self, before: Self, any_chain: bool) {
        self.is_marked = before.is_marked;
        for cell in before.cells {
            if let Some(own) = self.cells.iter_mut().find(|own| own.field == cell.field) {
                *own = cell;
            }
        }
        self.reparse(any_chain);
    }

    /// Its hash, as it was pasted.
    pub fn hash(&self) -> Option<&TxHash> {
        match &self.pasted.content {
            Content::Complete(new) => Some(&new.params.transaction_id),
            Content::Partial { hash, .. } => hash.as_ref(),
            Content::Again { hash, .. } => Some(hash),
            Content::Nothing { part, .. } => part.as_ref(),
        }
    }

    /// What to ask for, to know whether it is tracked: with its chain, if that is said too.
    pub fn asked(&self) -> Option<TxHash> {
        match &self.pasted.content {
            Content::Complete(new) => Some(TxHash::new(new.params.transaction_id.on_chain(&new.params.from_chain))),
            Content::Partial { hash: Some(hash), given, .. } => {
                let from = given.iter().find(|(field, _)| *field == Field::FromChainId);
                let on_chain = |from: &String| TxHash::new(hash.on_chain(&ChainId::new(from.clone())));
                Some(from.map_or_else(|| hash.clone(), |(_, from)| on_chain(from)))
            }
            _ => self.hash().cloned(),
        }
    }

    /// What became of it.
    pub fn verdict(&self) -> Verdict {
        match (&self.pasted.content, self.known) {
            (Content::Again { line, .. }, _) => Verdict::Again(*line),
            (Content::Nothing { .. }, None) => Verdict::Nothing,
            (_, Some(_)) => Verdict::Known,
            (_, None) if self.new.is_ok() => Verdict::Ready,
            (_, None) => Verdict::NeedsInput,
        }
    }

    /// Whether Enter opens it: it says no more than the hash of one that is tracked.
    pub fn opens(&self) -> Option<RowId> {
        self.known.filter(|_| self.verdict() == Verdict::Known && self.new.is_err())
    }

    /// The value of a field, given or filled in; and the place of its cell, if it has one.
    pub fn value(&self, field: Field) -> (String, Option<usize>) {
        if let Some(place) = self.cells.iter().position(|cell| cell.field == field) {
            return (self.cells.get(place).map_or_else(String::new, |cell| cell.input.value().to_owned()), Some(place));
        }
        let params = match &self.pasted.content {
            Content::Complete(new) => Some(&new.params),
            _ => None,
        };
        let given = |field| match &self.pasted.content {
            Content::Partial { given, .. } => {
                given.iter().find(|(own, _)| *own == field).map(|(_, value)| value.clone())
            }
            _ => None,
        };
        let value = match field {
            Field::TransactionId => self.hash().map(ToString::to_string),
            Field::FromChainId => params.map(|params| params.from_chain.to_string()),
            Field::ToChainId => params.map(|params| params.to_chain.to_string()),
            Field::QuoteId => params.map(|params| params.quote_id.clone()),
            _ => None,
        };
        (value.or_else(|| given(field)).unwrap_or_default(), None)
    }

    /// The first value that it still lacks, by its place among the cells.
    pub fn first_missing(&self) -> Option<usize> {
        let errors = self.new.as_ref().err()?;
        self.cells.iter().position(|cell| errors.iter().any(|error| error.field == cell.field))
    }

    /// The required fields that it still lacks, by name.
    pub fn missing(&self) -> Vec<&'static str> {
        match (&self.pasted.content, &self.new) {
            (Content::Nothing { .. }, _) => vec!["transactionId", "fromChainId", "toChainId", "quoteId"],
            (_, Err(errors)) => errors.iter().map(|error| error.field.name()).collect(),
            (_, Ok(_)) => Vec::new(),
        }
    }

    /// What is odd about one that can be tracked, though the service may know better: a hash that isn't whole, a chain that
    /// nobody here has heard of.
    pub fn doubt(&self, any_chain: bool) -> Option<String> {
        let params = &self.new.as_ref().ok()?.params;
        let is_odd = |chain: &&ChainId| !any_chain && chains::find(chain).is_none();
        intake::oddity(&params.transaction_id, &params.from_chain).or_else(|| {
            let odd = [&params.from_chain, &params.to_chain].into_iter().find(is_odd)?;
            Some(format!("is there a chain {odd}?"))
        })
    }

    /// Puts the ID of a chain in the place of its name, where only one is meant.
    pub fn settle(&mut self, any_chain: bool) {
        let cells = self.cells.iter_mut();
        for cell in cells.filter(|cell| matches!(cell.field, Field::FromChainId | Field::ToChainId)) {
            if let Some(id) = chain_meant(cell.input.value()) {
                cell.input = Input::new(id.to_string());
            }
        }
        self.reparse(any_chain);
    }

    /// Parses the line again after a field changed: the transaction to track, or the errors that are left.
    pub fn reparse(&mut self, any_chain: bool) {
        self.new = match &self.pasted.content {
            Content::Complete(new) => Ok(Box::new(new.clone())),
            Content::Again { .. } | Content::Nothing { .. } => Err(Vec::new()),
            Content::Partial { hash, given, .. } => {
                let filled = self.cells.iter().map(|cell| (cell.field, cell.input.value()));
                let hash = hash.iter().map(|hash| (Field::TransactionId, hash.as_str()));
                let given = given.iter().map(|(field, value)| (*field, value.as_str()));
                // What is filled in comes first: of a field that is given twice the first value counts.
                let is_open = |field: &Field| self.cells.iter().any(|cell| cell.field == *field);
                let given = given.filter(|(field, _)| !is_open(field));
                let values: Vec<_> = filled.chain(hash).chain(given).collect();
                intake::one(&values, any_chain).map(|(new, _)| Box::new(new))
            }
        };
    }
}

/// The chain that a name means, if it means just one.
fn chain_meant(typed: &str) -> Option<&'static ChainId> {
    match chains::meant(typed).as_slice() {
        [chain] => Some(&chain.id),
        _ => None,
    }
}

/// A field for each value that is missing, with what may be meant in it.
fn cells(pasted: &Pasted) -> Vec<Cell> {
    let Content::Partial { missing, given, guess, .. } = &pasted.content else { return Vec::new() };
    let cell = |field: &Field| {
        let written = given.iter().find(|(own, _)| own == field).map(|(_, value)| value.as_str());
        let guess = guess.as_ref().filter(|_| *field == Field::FromChainId && written.is_none());
        let meant = written.and_then(chain_meant).or(guess);
        let value = meant.map(ToString::to_string).or_else(|| written.map(str::to_owned)).unwrap_or_default();
        Cell { field: *field, input: Input::new(value), is_guess: guess.is_some() }
    };
    missing.iter().map(cell).collect()
}
