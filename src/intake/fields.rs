//! The one table of fields, and how a row of named values becomes a transaction.
//!
//! It must never shorten what the service is asked with: an ID that is too long is an error, not a cut.

use std::{borrow::Cow, collections::HashSet, time::Duration};

use chrono::{DateTime, Utc};

use crate::domain::{
    chains,
    deadline::LONGEST_ESTIMATE,
    ids::{ChainId, TxHash},
    span,
    text::{FIELD_LIMIT, clean, clean_or_none, is_blank},
    transaction::{NewTransaction, TransactionParams},
};

use super::hashes;

/// The shortest text that is taken for a hash: what `TX` of the command line needs to find it again.
const SHORTEST_HASH: usize = 6;
/// The way out of every missing value.
const REQUIRES: &str = "the service requires transactionId, fromChainId, toChainId and quoteId";

macro_rules! fields {
    ($($field:ident $name:literal,)*) => {
        /// A field of a transaction to be tracked.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Field { $(#[doc = concat!("`", $name, "`.")] $field,)* }

        impl Field {
            /// Every field, in the order in which a row without a header gives them.
            pub(super) const ALL: &[Self] = &[$(Self::$field,)*];

            /// The field's name, as in the JSON.
            pub fn name(self) -> &'static str {
                match self { $(Self::$field => $name,)* }
            }
        }
    };
}

fields! {
    TransactionId "transactionId",
    FromChainId "fromChainId",
    ToChainId "toChainId",
    QuoteId "quoteId",
    RequestId "requestId",
    EstimatedRouteDuration "estimatedRouteDuration",
    SubmittedAt "submittedAt",
    Ticket "ticket",
    FromAddress "fromAddress",
    Labels "labels",
    Note "note",
    Notes "notes",
    FirstSeenAt "firstSeenAt",
    SubmittedAtIsFirstSeen "submittedAtIsFirstSeen",
    Untracked "untracked",
    Profile "profile",
}

/// What an export says besides. It is the exporting store's evidence, not ours, and is passed over in silence.
const EXPORTED: [&str; 34] = [
    "status",
    "rawStatus",
    "settled",
    "bridgeStatus",
    "gasStatus",
    "isGmp",
    "bridgeUrl",
    "from",
    "to",
    "steps",
    "timeSpent",
    "error",
    "deadline",
    "overdue",
    "lastCheckedAt",
    "lastChangedAt",
    "settledAt",
    "polls",
    "lastError",
    "alerts",
    "say",
    "do",
    "verdict",
    "routeKind",
    "message",
    "warnings",
    "other",
    "fromChain",
    "toChain",
    "sourceUrl",
    "destinationTransactionId",
    "destinationUrl",
    "age",
    "route",
];

/// How many fields there are.
const COUNT: usize = Field::ALL.len();

impl Field {
    /// What the service requires (`service.md` 4.1).
    pub(super) const REQUIRED: [Self; 4] = [Self::TransactionId, Self::FromChainId, Self::ToChainId, Self::QuoteId];

    /// The field that a column is named for, in any case, with or without `_`, `-` and blanks between the words.
    pub(super) fn named(column: &str) -> Option<Self> {
        Self::ALL.iter().find(|field| is_named(column, field.name())).copied()
    }

    /// Whether its value is true or false.
    pub(super) fn is_flag(self) -> bool {
        matches!(self, Self::SubmittedAtIsFirstSeen | Self::Untracked)
    }
}

/// Whether a column means nothing to us though it isn't unknown: an export wrote it.
pub(super) fn is_exported(column: &str) -> bool {
    EXPORTED.iter().any(|name| is_named(column, name))
}

fn is_named(column: &str, name: &str) -> bool {
    let letters = column.chars().filter(|letter| !matches!(letter, '_' | '-' | ' '));
    letters.map(|letter| letter.to_ascii_lowercase()).eq(name.chars().map(|letter| letter.to_ascii_lowercase()))
}

/// A row of named values, as they came. An empty value is none.
#[derive(Default)]
pub(super) struct Row<'a> {
    values: [Option<Cow<'a, str>>; COUNT],
}

impl<'a> Row<'a> {
    /// Sets a value. `false` if the field has one already, so that none is lost in silence.
    pub(super) fn set(&mut self, field: Field, value: impl Into<Cow<'a, str>>) -> bool {
        let value = value.into();
        match self.values.get_mut(field as usize) {
            _ if value.trim().is_empty() => true,
            Some(slot @ None) => {
                *slot = Some(value);
                true
            }
            _ => false,
        }
    }

    /// The value of a field.
    pub(super) fn get(&self, field: Field) -> Option<&str> {
        self.values.get(field as usize).and_then(Option::as_deref)
    }
}

/// A row that is fine.
pub(super) struct Reading {
    /// The transaction.
    pub(super) transaction: NewTransaction,
    /// The estimate was too long to be believed; a sentence that says so.
    pub(super) clamped: Option<String>,
    /// The profile that the row names.
    pub(super) profile: Option<String>,
}

/// What is wrong with one value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {reason}", field.name())]
pub struct FieldError {
    /// The field that it was given for.
    pub field: Field,
    /// The reason and the way out.
    pub reason: String,
}

/// Why a row isn't fine.
#[derive(Default)]
pub(super) struct Refusal {
    /// Required fields without a value.
    pub(super) missing: Vec<&'static str>,
    /// What is wrong with values that are there.
    pub(super) wrong: Vec<FieldError>,
    /// The hash, if that is fine.
    pub(super) hash: Option<TxHash>,
}

impl Refusal {
    /// All of it, an error for each field.
    pub(super) fn errors(self) -> Vec<FieldError> {
        let missing = self.missing.into_iter().filter_map(Field::named);
        let missing = missing.map(|field| FieldError { field, reason: format!("it is empty; {REQUIRES}") });
        missing.chain(self.wrong).collect()
    }

    /// All of it in one line.
    pub(super) fn message(&self) -> String {
        let missing = match self.missing.split_last() {
            None => None,
            Some((only, [])) => Some(format!("{only} is missing; {REQUIRES}")),
            Some((last, others)) => Some(format!("{} and {last} are missing; {REQUIRES}", others.join(", "))),
        };
        missing.into_iter().chain(self.wrong.iter().map(ToString::to_string)).collect::<Vec<_>>().join(". ")
    }
}

/// The transaction of a row, or everything that is wrong with it.
pub(super) fn transaction(row: &Row, any_chain: bool) -> Result<Reading, Box<Refusal>> {
    let mut reader = Reader { row, any_chain, refusal: Box::default(), clamped: None };
    let hash = reader.hash();
    let from_chain = reader.chain(Field::FromChainId);
    let to_chain = reader.chain(Field::ToChainId);
    let quote_id = reader.required(Field::QuoteId).and_then(|_| reader.whole(Field::QuoteId));
    let request_id = reader.request_id();
    let estimate = reader.estimate();
    let (submitted_at, first_seen_at) = reader.times();
    let untracked = reader.flag(Field::Untracked);
    let from_address = reader.whole(Field::FromAddress);
    let Reader { mut refusal, clamped, .. } = reader;
    let sound = refusal.missing.is_empty() && refusal.wrong.is_empty();
    let (true, Some(hash), Some(from_chain), Some(to_chain), Some(quote_id)) =
        (sound, hash.clone(), from_chain, to_chain, quote_id)
    else {
        refusal.hash = hash;
        return Err(refusal);
    };
    let params = TransactionParams {
        transaction_id: hash,
        from_chain,
        to_chain,
        quote_id,
        request_id,
        estimate,
        submitted_at,
        from_address,
        ticket: row.get(Field::Ticket).and_then(clean_or_none),
    };
    let transaction = NewTransaction { params, labels: labels(row), notes: notes(row), first_seen_at, untracked };
    Ok(Reading { transaction, clamped, profile: row.get(Field::Profile).and_then(clean_or_none) })
}

/// `note` is one; of `notes` each line is one.
fn notes(row: &Row) -> Vec<String> {
    let lines = row.get(Field::Notes).unwrap_or_default().lines();
    row.get(Field::Note).into_iter().chain(lines).filter_map(clean_or_none).collect()
}

fn labels(row: &Row) -> Vec<String> {
    let mut seen = HashSet::new();
    let labels = row.get(Field::Labels).unwrap_or_default().split(';').filter_map(clean_or_none);
    labels.filter(|label| seen.insert(label.clone())).collect()
}

/// Reads one row value by value and gathers what is wrong.
struct Reader<'a> {
    row: &'a Row<'a>,
    any_chain: bool,
    refusal: Box<Refusal>,
    clamped: Option<String>,
}

impl<'a> Reader<'a> {
    fn wrong<T>(&mut self, field: Field, reason: &str) -> Option<T> {
        self.refusal.wrong.push(FieldError { field, reason: reason.into() });
        None
    }

    /// The value of a required field. Text that has nothing visible in it is missing too.
    fn required(&mut self, field: Field) -> Option<&'a str> {
        let value = self.row.get(field).filter(|value| !is_blank(value));
        if value.is_none() {
            self.refusal.missing.push(field.name());
        }
        value
    }

    /// A value that must not be cut, since somebody is asked or paid by it.
    fn whole(&mut self, field: Field) -> Option<String> {
        let value = clean_or_none(self.row.get(field)?)?;
        match value.chars().count() {
            FIELD_LIMIT.. => {
                self.wrong(field, &format!("it has {FIELD_LIMIT} characters or more; is a quotation mark missing?"))
            }
            _ => Some(value),
        }
    }

    /// What a service said is cut when it is too long, where what a person says is refused; so an export may hold a request
    /// ID that was cut. It is the exporting store's evidence, and of no use to anybody.
    fn request_id(&mut self) -> Option<String> {
        let value = self.row.get(Field::RequestId)?.trim();
        let was_cut = value.ends_with('…') && value.chars().count() == FIELD_LIMIT;
        if was_cut { None } else { self.whole(Field::RequestId) }
    }

    fn hash(&mut self) -> Option<TxHash> {
        let field = Field::TransactionId;
        let raw = self.required(field)?;
        if hashes::is_url(raw) {
            let found = hashes::hashes_in(raw);
            return match (found.len(), found.into_iter().next()) {
                (1, hash) => hash,
                (0, _) => {
                    self.wrong(field, "no path segment or query value of the URL is a hash; give the hash itself")
                }
                _ => self.wrong(field, "the URL holds more than one hash; give the one of the source transaction"),
            };
        }
        let value = self.whole(field)?;
        let length = value.chars().count();
        if value.contains(' ') {
            return self.wrong(field, &format!("`{value}` has blanks inside; give the hash alone"));
        }
        if length < SHORTEST_HASH {
            let reason =
                format!("`{value}` has {length} characters, a hash has at least {SHORTEST_HASH}; give it whole");
            return self.wrong(field, &reason);
        }
        Some(TxHash::new(value))
    }

    fn chain(&mut self, field: Field) -> Option<ChainId> {
        let raw = self.required(field)?;
        chains::parse(raw, self.any_chain).map_or_else(|error| self.wrong(field, &error.to_string()), Some)
    }

    fn estimate(&mut self) -> Option<Duration> {
        let field = Field::EstimatedRouteDuration;
        let value = clean_or_none(self.row.get(field)?)?;
        let seconds = value.parse::<f64>().ok().filter(|seconds| seconds.is_finite() && *seconds >= 0.0);
        let Some(seconds) = seconds else {
            return self.wrong(field, &format!("`{value}` is not a number of seconds; write it as 900"));
        };
        let estimate = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
        if estimate > LONGEST_ESTIMATE {
            let most = span::long(LONGEST_ESTIMATE);
            self.clamped = Some(format!("{} of {value} s is not believed; {most} is taken instead", field.name()));
        }
        Some(estimate.min(LONGEST_ESTIMATE))
    }

    fn time(&mut self, field: Field) -> Option<DateTime<Utc>> {
        let value = clean_or_none(self.row.get(field)?)?;
        span::parse_time(&value).map_or_else(|error| self.wrong(field, &error), Some)
    }

    /// When it was submitted, and when it was first seen. Where the latter stands in for the former, the former isn't known.
    fn times(&mut self) -> (Option<DateTime<Utc>>, Option<DateTime<Utc>>) {
        let (submitted, seen) = (self.time(Field::SubmittedAt), self.time(Field::FirstSeenAt));
        match self.flag(Field::SubmittedAtIsFirstSeen) {
            true => (None, seen.into_iter().chain(submitted).min()),
            false => (submitted, seen),
        }
    }

    fn flag(&mut self, field: Field) -> bool {
        match self.row.get(field).map(str::trim) {
            Some(value) if value.eq_ignore_ascii_case("true") => true,
            Some(value) if !is_blank(value) && !value.eq_ignore_ascii_case("false") => {
                let value = clean(value);
                self.wrong::<bool>(field, &format!("`{value}` is neither true nor false")).unwrap_or_default()
            }
            _ => false,
        }
    }
}
