//! The table of a transaction's fields, and the conversion of a row of named values into a transaction.
//!
//! It must never shorten an ID that is sent to the service: an ID that is too long is an error.

use std::{borrow::Cow, collections::HashSet, sync::LazyLock, time::Duration};

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Map, Value};

use crate::domain::{
    chains,
    deadline::MAX_ESTIMATE,
    ids::{ChainId, TxHash},
    span,
    text::{self, FIELD_LIMIT, clean, clean_or_none, is_blank, is_cut},
    transaction::{NewTransaction, TransactionParams},
};

use super::{ReadOptions, hashes};

/// The fewest characters of a hash. The `TX` argument of the command line needs as many to find the transaction.
const MIN_HASH_LENGTH: usize = 6;
/// The hint in every error about a missing value.
const REQUIRED_HINT: &str = "the service requires transactionId, fromChainId, toChainId and quoteId";

macro_rules! fields {
    ($($field:ident $name:literal,)*) => {
        /// A field of a transaction to track.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Field { $(#[doc = concat!("`", $name, "`.")] $field,)* }

        impl Field {
            /// All fields, in the column order of a row without a header.
            pub(super) const ALL: &[Self] = &[$(Self::$field,)*];

            /// The field's name in JSON.
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
    FromAddress "fromAddress",
    Ticket "ticket",
    Labels "labels",
    Note "note",
    Notes "notes",
    FirstSeenAt "firstSeenAt",
    SubmittedAtIsFirstSeen "submittedAtIsFirstSeen",
    Untracked "untracked",
    Profile "profile",
}

/// The columns of an export that aren't properties of a transaction in JSON.
const OTHER_EXPORT_COLUMNS: [&str; 8] =
    ["schema", "fromChain", "toChain", "sourceUrl", "destinationTransactionId", "destinationUrl", "age", "route"];

impl Field {
    /// The fields that the service requires (`service.md` 4.1).
    pub(crate) const REQUIRED: [Self; 4] = [Self::TransactionId, Self::FromChainId, Self::ToChainId, Self::QuoteId];

    /// Returns the field with this column name. Case, `_`, `-` and blanks are ignored.
    pub(super) fn from_name(column: &str) -> Option<Self> {
        Self::ALL.iter().find(|field| matches_name(column, field.name())).copied()
    }

    /// Whether the field's values are amounts, which a decimal point doesn't falsify.
    pub(super) fn is_amount(self) -> bool {
        matches!(self, Self::EstimatedRouteDuration | Self::SubmittedAt)
    }

    /// Whether the field's values are `true` and `false`.
    pub(super) fn is_flag(self) -> bool {
        matches!(self, Self::SubmittedAtIsFirstSeen | Self::Untracked)
    }
}

/// Whether a column that isn't a field is written by exports. It is an observation of the exporting store, so an import
/// ignores it silently.
pub(super) fn is_export_only(column: &str) -> bool {
    static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
        serde_json::from_str(include_str!("../../assets/schemas/transaction.json")).unwrap_or_default()
    });
    let properties = SCHEMA.pointer("/$defs/transaction/properties").and_then(Value::as_object);
    let properties = properties.into_iter().flat_map(Map::keys).map(String::as_str);
    properties.chain(OTHER_EXPORT_COLUMNS).any(|name| matches_name(column, name))
}

fn matches_name(column: &str, name: &str) -> bool {
    let letters = column.chars().filter(|letter| !matches!(letter, '_' | '-' | ' '));
    letters.map(|letter| letter.to_ascii_lowercase()).eq(name.chars().map(|letter| letter.to_ascii_lowercase()))
}

/// A row of raw values by field. An empty value counts as no value.
#[derive(Default)]
pub(super) struct RawRow<'a> {
    values: [Option<Cow<'a, str>>; Field::ALL.len()],
}

impl<'a> RawRow<'a> {
    /// Sets a value. Returns `false` and keeps the old value if the field has one already.
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

    /// Returns the raw value of a field.
    pub(super) fn get(&self, field: Field) -> Option<&str> {
        self.values.get(field as usize).and_then(Option::as_deref)
    }
}

/// The result of parsing a valid row.
pub(super) struct ParsedRow {
    pub(super) transaction: NewTransaction,
    /// One sentence for each value that isn't used, or kept only in part.
    pub(super) warnings: Vec<String>,
    /// The profile that the row names.
    pub(super) profile: Option<String>,
}

/// An error in one value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {reason}", field.name())]
pub struct FieldError {
    /// The field of the value.
    pub field: Field,
    /// The reason, and how to fix it.
    pub reason: String,
}

/// All errors of a row.
#[derive(Default)]
pub(super) struct RowErrors {
    /// The required fields without a value.
    pub(super) missing: Vec<Field>,
    /// The errors of values that are present.
    pub(super) invalid: Vec<FieldError>,
    /// The hash, if it is valid.
    pub(super) hash: Option<TxHash>,
}

impl RowErrors {
    /// Returns all errors, including one for each missing field.
    pub(super) fn into_field_errors(self) -> Vec<FieldError> {
        let error = |field| FieldError { field, reason: format!("it is empty; {REQUIRED_HINT}") };
        self.missing.into_iter().map(error).chain(self.invalid).collect()
    }

    /// Returns all errors as one line of text.
    pub(super) fn message(&self) -> String {
        let names: Vec<_> = self.missing.iter().map(|field| field.name()).collect();
        let missing = match names.split_last() {
            None => None,
            Some((only, [])) => Some(format!("{only} is missing; {REQUIRED_HINT}")),
            Some((last, others)) => Some(format!("{} and {last} are missing; {REQUIRED_HINT}", others.join(", "))),
        };
        missing.into_iter().chain(self.invalid.iter().map(ToString::to_string)).collect::<Vec<_>>().join(". ")
    }
}

/// Builds the transaction of a row, or returns all errors of the row.
pub(super) fn parse_transaction(row: &RawRow, options: &ReadOptions) -> Result<ParsedRow, Box<RowErrors>> {
    let mut reader = RowReader { row, options, errors: Box::default(), warnings: Vec::new() };
    let hash = reader.parse_hash();
    let from_chain = reader.parse_chain(Field::FromChainId);
    let to_chain = reader.parse_chain(Field::ToChainId);
    let quote_id = reader.required_value(Field::QuoteId).and_then(|_| reader.full_value(Field::QuoteId));
    let request_id = reader.parse_request_id();
    let estimate = reader.parse_estimate();
    let (submitted_at, first_seen_at) = reader.parse_times();
    let is_untracked = reader.parse_flag(Field::Untracked);
    let from_address = reader.full_value(Field::FromAddress);
    reader.warn_of_cut_values();
    let RowReader { mut errors, warnings, .. } = reader;
    let is_valid = errors.missing.is_empty() && errors.invalid.is_empty();
    let (true, Some(hash), Some(from_chain), Some(to_chain), Some(quote_id)) =
        (is_valid, hash.clone(), from_chain, to_chain, quote_id)
    else {
        errors.hash = hash;
        return Err(errors);
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
    let transaction =
        NewTransaction { params, labels: parse_labels(row), notes: parse_notes(row), first_seen_at, is_untracked };
    Ok(ParsedRow { transaction, warnings, profile: row.get(Field::Profile).and_then(clean_or_none) })
}

/// The characters that separate the notes of one field.
const LINE_ENDS: &[char] = &['\n', '\r'];

/// Returns the notes of a row: each line of `note` and of `notes` is one, since a note is one line.
fn parse_notes(row: &RawRow) -> Vec<String> {
    let texts = [Field::Note, Field::Notes].map(|field| row.get(field).unwrap_or_default());
    texts.iter().flat_map(|text| text.split(LINE_ENDS)).filter_map(clean_or_none).collect()
}

fn parse_labels(row: &RawRow) -> Vec<String> {
    let mut seen = HashSet::new();
    let labels = row.get(Field::Labels).unwrap_or_default().split(';').filter_map(clean_or_none);
    labels.filter(|label| seen.insert(label.to_lowercase())).collect()
}

/// Parses the values of one row and collects their errors.
struct RowReader<'a> {
    row: &'a RawRow<'a>,
    options: &'a ReadOptions,
    errors: Box<RowErrors>,
    warnings: Vec<String>,
}

impl<'a> RowReader<'a> {
    fn add_error<T>(&mut self, field: Field, reason: &str) -> Option<T> {
        self.errors.invalid.push(FieldError { field, reason: reason.into() });
        None
    }

    /// Returns the value of a required field. A value without visible characters counts as missing.
    fn required_value(&mut self, field: Field) -> Option<&'a str> {
        let value = self.row.get(field).filter(|value| !is_blank(value));
        if value.is_none() {
            self.errors.missing.push(field);
        }
        value
    }

    /// Returns a cleaned value that must not be shortened: requests and payments depend on the whole value.
    fn full_value(&mut self, field: Field) -> Option<String> {
        let value = clean_or_none(self.row.get(field)?)?;
        match value.chars().count() {
            FIELD_LIMIT.. => self.add_error(
                field,
                &format!("the value has {FIELD_LIMIT} characters or more; is a quotation mark missing?"),
            ),
            _ => Some(value),
        }
    }

    /// Returns the request ID. An export may hold a shortened one, since text from the service is shortened at the
    /// limit. A shortened ID is dropped without an error: it identifies nothing.
    fn parse_request_id(&mut self) -> Option<String> {
        let value = self.row.get(Field::RequestId)?.trim();
        let was_cut = value.ends_with('…') && value.chars().count() == FIELD_LIMIT;
        if was_cut { None } else { self.full_value(Field::RequestId) }
    }

    fn parse_hash(&mut self) -> Option<TxHash> {
        let field = Field::TransactionId;
        let raw = self.required_value(field)?;
        if hashes::is_url(raw) {
            let found = hashes::find_hashes(raw);
            return match (found.len(), found.into_iter().next()) {
                (1, hash) => hash,
                (0, _) => self.add_error(field, "the URL has no hash in its path or query; give the hash itself"),
                _ => self.add_error(field, "the URL has more than one hash; give the hash of the source transaction"),
            };
        }
        let value = self.full_value(field)?;
        let length = value.chars().count();
        if value.contains(' ') {
            return self.add_error(field, &format!("`{value}` contains spaces; give only the hash"));
        }
        if TxHash::parse_short(value.rsplit(':').next().unwrap_or(&value)).is_some() {
            return self.add_error(field, &format!("`{value}` is a shortened hash; give the complete hash"));
        }
        let is_any_hash = |text: &str| hashes::hex_digits(text).is_some() || hashes::is_hash(text);
        if TxHash::parse_on_chain(&value).is_some_and(|(_, hash)| is_any_hash(hash.as_str())) {
            return self.add_error(field, &format!("`{value}` names a chain too; give only the hash"));
        }
        if length < MIN_HASH_LENGTH {
            let reason = format!(
                "`{value}` has {length} characters, but a hash has at least {MIN_HASH_LENGTH}; give the complete hash"
            );
            return self.add_error(field, &reason);
        }
        Some(TxHash::new(value))
    }

    fn parse_chain(&mut self, field: Field) -> Option<ChainId> {
        let raw = self.required_value(field)?;
        chains::parse(raw, self.options.allows_any_chain)
            .map_or_else(|error| self.add_error(field, &error.to_string()), Some)
    }

    fn parse_estimate(&mut self) -> Option<Duration> {
        let field = Field::EstimatedRouteDuration;
        let value = clean_or_none(self.row.get(field)?)?;
        let seconds = value.parse::<f64>().ok().filter(|seconds| seconds.is_finite() && *seconds >= 0.0);
        let Some(seconds) = seconds else {
            return self.add_error(field, &format!("`{value}` is not a number of seconds; write it like 900"));
        };
        let estimate = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
        if estimate > MAX_ESTIMATE {
            let longest = span::long(MAX_ESTIMATE);
            self.warnings.push(format!("{} of {value} s is implausible; {longest} is used instead", field.name()));
        }
        Some(estimate.min(MAX_ESTIMATE))
    }

    /// Adds a warning for each field with a text of which only the beginning is kept.
    fn warn_of_cut_values(&mut self) {
        let separated: [(Field, &[char]); 4] =
            [(Field::Ticket, &[]), (Field::Labels, &[';']), (Field::Note, LINE_ENDS), (Field::Notes, LINE_ENDS)];
        for (field, separators) in separated {
            if self.row.get(field).is_some_and(|value| value.split(separators).any(is_cut)) {
                self.warnings.push(format!("{}: {}", field.name(), text::cut_warning()));
            }
        }
    }

    fn parse_time_field(&mut self, field: Field) -> Option<DateTime<Utc>> {
        let value = clean_or_none(self.row.get(field)?)?;
        span::parse_time(&value).map_or_else(|error| self.add_error(field, &error), Some)
    }

    /// Returns when the transfer was submitted and first seen. The submission time is `None` if it was unknown.
    fn parse_times(&mut self) -> (Option<DateTime<Utc>>, Option<DateTime<Utc>>) {
        let (submitted, seen) = (self.parse_time_field(Field::SubmittedAt), self.parse_time_field(Field::FirstSeenAt));
        match self.parse_flag(Field::SubmittedAtIsFirstSeen) {
            true => (None, seen.into_iter().chain(submitted).min()),
            false => (submitted.filter(|submitted| !self.is_future(*submitted)), seen),
        }
    }

    /// Whether a time of submission is in the future; then a warning is added. The clocks of two machines may differ.
    fn is_future(&mut self, submitted: DateTime<Utc>) -> bool {
        const MAX_AHEAD: TimeDelta = TimeDelta::minutes(10);
        let is_future = self.options.now.is_some_and(|now| submitted > now + MAX_AHEAD);
        if is_future {
            let (name, written) = (Field::SubmittedAt.name(), span::rfc3339(submitted));
            let warning =
                format!("{name} {written} is in the future and isn't used; is it a local time written as UTC?");
            self.warnings.push(warning);
        }
        is_future
    }

    fn parse_flag(&mut self, field: Field) -> bool {
        match self.row.get(field).map(str::trim) {
            Some(value) if value.eq_ignore_ascii_case("true") => true,
            Some(value) if !is_blank(value) && !value.eq_ignore_ascii_case("false") => {
                let value = clean(value);
                self.add_error::<bool>(field, &format!("`{value}` is not true or false")).unwrap_or_default()
            }
            _ => false,
        }
    }
}
