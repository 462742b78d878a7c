//! The compression of bodies and records: with a dictionary for each route, and with an earlier text of the same
//! transaction.
//!
//! An unpacked text equals the packed text byte for byte. A dictionary must never hold data of a single transaction, so
//! that deleting a transaction deletes all of its data.

use std::{cell::RefCell, collections::HashMap, rc::Rc};

use rusqlite::{
    Connection, Row, ToSql, params,
    types::{ToSqlOutput, Value, ValueRef},
};
use zstd::zstd_safe::{self, CCtx, DCtx};

use super::columns;
use crate::{
    domain::{
        ids::TransactionKey,
        transaction::{Transaction, TransactionParams},
    },
    store::{
        body_storage::digest,
        error::{Result, StoreError},
        row_checksum::{self, PackedContent},
        statement::CachedStatements,
    },
};

/// The zstd level. For answers of a few kilobytes with a base, level 7 saves less than one percent and takes a sixth
/// longer. With level 3 a transaction with three answers takes a third more on the disk (`cargo bench --bench store`).
const LEVEL: i32 = 5;
/// The shortest text to compress, in bytes; shorter texts don't get smaller.
const MIN_LENGTH: usize = 96;
/// The longest text to compress, in bytes: longer than the longest body that the client accepts.
const MAX_LENGTH: usize = 8 << 20;
/// The maximum number of dictionaries per route, because dictionaries are never deleted.
const MAX_DICTIONARIES: i64 = 8;
/// The number of dictionaries that a thread keeps unpacked. A dictionary takes a few kilobytes.
const CACHED_DICTIONARIES: usize = 64;
/// The least compression factor of an effective dictionary. A lower factor means that the service's format has changed.
const MIN_COMPRESSION: usize = 4;

/// The body of an answer as the store has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoredBody {
    /// The body, byte for byte as received.
    Text(String),
    /// This store is a light replica: the body is in an entry of the team's log.
    InLog {
        /// The number of the entry; 0 if only a snapshot has the body.
        entry: u64,
        /// The transaction that the answer is about.
        transaction: TransactionKey,
        /// The digest of the body, if it is known.
        digest: Option<i64>,
    },
}

/// A packed text as stored in three columns: the value, and the numbers of its dictionary and its base. If the text is
/// in the team's log, the value is the number of its entry, and the base is its digest.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PackedText {
    value: Value,
    pub(crate) dictionary: Option<i64>,
    pub(crate) base: Option<i64>,
}

impl ToSql for PackedText {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        self.value.to_sql()
    }
}

impl PackedText {
    /// The value for no text.
    pub(crate) const NONE: Self = Self { value: Value::Null, dictionary: None, base: None };

    /// Reads a packed text from three columns, the first at `column`.
    pub(crate) fn read(row: &Row<'_>, column: usize) -> rusqlite::Result<Self> {
        let number = |column| columns::lenient(row, column);
        Ok(Self { value: columns::lenient(row, column)?, dictionary: number(column + 1)?, base: number(column + 2)? })
    }

    /// The value for a text in an entry of the team's log.
    pub(crate) fn in_log(entry: u64, text: &str) -> Self {
        Self { value: Value::Integer(entry.cast_signed()), dictionary: None, base: Some(digest(text)) }
    }

    /// Returns the entry of the team's log that has the text; `None` if the text is here, or there is none.
    pub(crate) fn log_entry(&self) -> Option<u64> {
        match self.value {
            Value::Integer(entry) => Some(entry.cast_unsigned()),
            Value::Null | Value::Real(_) | Value::Text(_) | Value::Blob(_) => None,
        }
    }

    fn length(&self) -> usize {
        match ValueRef::from(&self.value) {
            ValueRef::Blob(bytes) | ValueRef::Text(bytes) => bytes.len(),
            _ => 0,
        }
    }
}

/// Returns a transaction's record as JSON, as it is stored.
pub(crate) fn record_json(transaction: &Transaction) -> Result<Option<String>> {
    Ok(transaction.record.as_ref().map(columns::to_json).transpose()?)
}

/// The content that the texts of one route share.
pub(crate) struct Dictionary {
    id: i64,
    content: Rc<[u8]>,
}

/// Returns the newest dictionary of a route that can be read: a damaged one concerns only the texts that were packed
/// with it.
pub(crate) fn newest_dictionary(db: &Connection, params: &TransactionParams) -> Result<Option<Dictionary>> {
    let sql = "SELECT id, content FROM dictionaries WHERE from_chain = ? AND to_chain = ? ORDER BY id DESC";
    let route = [params.from_chain.as_str(), params.to_chain.as_str()];
    let mut statement = db.prepare_cached(sql)?;
    let mut rows = statement.query(route)?;
    while let Some(row) = rows.next()? {
        let id = row.get(0)?;
        match unpack_dictionary(id, row.get(1)?) {
            Ok(content) => return Ok(Some(Dictionary { id, content })),
            Err(error) => tracing::error!("dictionary {id} can't be read: {error}"),
        }
    }
    Ok(None)
}

fn dictionary_content(db: &Connection, id: i64) -> Result<Rc<[u8]>> {
    let packed: Option<Vec<u8>> = db.first("SELECT content FROM dictionaries WHERE id = ?", [id], |row| row.get(0))?;
    let packed = packed.ok_or_else(|| StoreError::Unpack(format!("dictionary {id} is missing")))?;
    unpack_dictionary(id, packed)
}

/// Decompresses the content of a dictionary. Results are cached by the thread, because most answers come from few routes.
fn unpack_dictionary(id: i64, packed: Vec<u8>) -> Result<Rc<[u8]>> {
    DICTIONARIES.with_borrow_mut(|cached| {
        // Another store has other content under the same number, and so may this one after a rollback.
        if let Some((_, content)) = cached.get(&id).filter(|(known, _)| *known == packed) {
            return Ok(Rc::clone(content));
        }
        let content: Rc<[u8]> = match read_content(&packed, [None; 2])? {
            PackedContent::Plain(text) => text.into(),
            PackedContent::Compressed(frame) => decompress(frame, b"")?.into_bytes().into(),
        };
        if cached.len() >= CACHED_DICTIONARIES {
            cached.clear();
        }
        cached.insert(id, (packed, Rc::clone(&content)));
        Ok(content)
    })
}

/// Packs the first body of a transaction with its route's dictionary, or with a new dictionary if the existing one
/// isn't effective.
pub(crate) fn pack_first(db: &Connection, transaction: &Transaction, text: &str) -> Result<PackedText> {
    let existing = newest_dictionary(db, &transaction.params)?;
    let packed = pack(text, existing.as_ref(), None)?;
    // Without a dictionary, later texts of the transaction couldn't use this text as their base.
    let is_effective = existing.is_some() && packed.length() <= text.len() / MIN_COMPRESSION;
    if is_effective || text.len() < 4 * MIN_LENGTH {
        return Ok(packed);
    }
    match make_dictionary(db, transaction, text)? {
        Some(created) => pack(text, Some(&created), None),
        None => Ok(packed),
    }
}

/// Packs a text. `dictionary` and `base`, if given, precede the text as its prefix, in this order. `base` is another text
/// of the same transaction, with its number in the store.
pub(crate) fn pack(text: &str, dictionary: Option<&Dictionary>, base: Option<(i64, &str)>) -> Result<PackedText> {
    let content = dictionary.map_or(&[][..], |dictionary| &*dictionary.content);
    let (base, prefix) = base.map_or((None, ""), |(base, prefix)| (Some(base), prefix));
    let compressed = compress(text, &[content, prefix.as_bytes()].concat())?;
    let (content, dictionary, base) = match &compressed {
        Some(bytes) => (PackedContent::Compressed(bytes), dictionary.map(|dictionary| dictionary.id), base),
        None => (PackedContent::Plain(text.as_bytes()), None, None),
    };
    Ok(PackedText { value: content.with_checksum([dictionary, base]), dictionary, base })
}

/// Unpacks a text; `None` if there is no text. The closure `base` loads the base's text by its number.
pub(crate) fn unpack(
    db: &Connection,
    packed: &PackedText,
    base: impl FnOnce(i64) -> Result<Option<String>>,
) -> Result<Option<String>> {
    let bytes = match &packed.value {
        // A text in the team's log isn't here.
        Value::Null | Value::Integer(_) => return Ok(None),
        Value::Text(text) => return Ok(Some(text.clone())),
        Value::Blob(bytes) => bytes,
        Value::Real(_) => return Err(StoreError::Unpack("found a number instead of text".into())),
    };
    let frame = match read_content(bytes, [packed.dictionary, packed.base])? {
        PackedContent::Plain(text) => return Ok(Some(utf8(text)?.to_owned())),
        PackedContent::Compressed(frame) => frame,
    };
    let mut prefix = match packed.dictionary {
        Some(id) => dictionary_content(db, id)?.to_vec(),
        None => Vec::new(),
    };
    if let Some(id) = packed.base {
        let text = base(id)?.ok_or_else(|| StoreError::Unpack(format!("its base text ({id}) is missing")))?;
        prefix.extend(text.into_bytes());
    }
    Ok(Some(decompress(frame, &prefix)?))
}

fn read_content(stored: &[u8], packed_with: [Option<i64>; 2]) -> Result<PackedContent<'_>> {
    let content = row_checksum::without_checksum(stored, packed_with);
    content.ok_or_else(|| StoreError::Unpack("its checksum is wrong".into()))
}

fn utf8(text: &[u8]) -> Result<&str> {
    std::str::from_utf8(text).map_err(|error| StoreError::Unpack(error.to_string()))
}

/// Replaces the error of a text that can't be unpacked by `None` and logs it, so that one damaged text doesn't fail the
/// whole read. `description` names the text in the log.
pub(crate) fn none_if_unreadable(
    unpacked: Result<Option<String>>,
    description: std::fmt::Arguments<'_>,
) -> Result<Option<String>> {
    match unpacked {
        Err(error @ StoreError::Unpack(_)) => {
            tracing::warn!("{description} is omitted: {error}");
            Ok(None)
        }
        unpacked => unpacked,
    }
}

/// Dictionaries by their numbers: as stored (compressed), and their content.
type DictionaryCache = HashMap<i64, (Vec<u8>, Rc<[u8]>)>;

thread_local! {
    static DICTIONARIES: RefCell<DictionaryCache> = RefCell::default();
    // Creating these takes longer than using them. They keep no state between texts.
    static COMPRESSOR: RefCell<CCtx<'static>> = RefCell::new(CCtx::create());
    static DECOMPRESSOR: RefCell<DCtx<'static>> = RefCell::new(DCtx::create());
}

/// Returns the compressed text; `None` if it isn't smaller.
fn compress(text: &str, prefix: &[u8]) -> Result<Option<Vec<u8>>> {
    if text.len() < MIN_LENGTH || text.len() > MAX_LENGTH {
        return Ok(None);
    }
    let mut bytes = Vec::with_capacity(zstd_safe::compress_bound(text.len()));
    // The dictionary is loaded for this call only: preparing it for later calls takes longer than compressing a text.
    COMPRESSOR
        .with_borrow_mut(|compressor| compressor.compress_using_dict(&mut bytes, text.as_bytes(), prefix, LEVEL))
        .map_err(|code| StoreError::Unpack(zstd_safe::get_error_name(code).to_owned()))?;
    Ok((bytes.len() < text.len()).then_some(bytes))
}

fn decompress(bytes: &[u8], prefix: &[u8]) -> Result<String> {
    // The length in the frame's header limits the allocation.
    let length = zstd_safe::get_frame_content_size(bytes).ok().flatten();
    let length = length.and_then(|length| usize::try_from(length).ok()).filter(|length| *length <= MAX_LENGTH);
    let length = length.ok_or_else(|| StoreError::Unpack("its length is missing or too large".into()))?;
    let mut text = Vec::with_capacity(length);
    DECOMPRESSOR
        .with_borrow_mut(|decompressor| decompressor.decompress_using_dict(&mut text, bytes, prefix))
        .map_err(|code| StoreError::Unpack(zstd_safe::get_error_name(code).to_owned()))?;
    String::from_utf8(text).map_err(|error| StoreError::Unpack(error.to_string()))
}

/// Stores a new dictionary: the record and the body without data of this transaction alone. Returns `None` if the route
/// has the maximum number of dictionaries, or if compression saves nothing.
fn make_dictionary(db: &Connection, transaction: &Transaction, body: &str) -> Result<Option<Dictionary>> {
    let params = &transaction.params;
    let route = [params.from_chain.as_str(), params.to_chain.as_str()];
    let sql = "SELECT count(*) FROM dictionaries WHERE from_chain = ? AND to_chain = ?";
    let count: i64 = db.one(sql, route, |row| row.get(0))?;
    if count >= MAX_DICTIONARIES {
        return Ok(None);
    }
    let record = record_json(transaction)?.unwrap_or_default();
    let content = common_text(&format!("{record}{body}"), params);
    let Some(packed) = compress(&content, b"")? else { return Ok(None) };
    let packed = PackedContent::Compressed(&packed).with_checksum([None; 2]);
    let sql = "INSERT INTO dictionaries (from_chain, to_chain, content) VALUES (?, ?, ?)";
    db.run(sql, params![params.from_chain.as_str(), params.to_chain.as_str(), packed])?;
    Ok(Some(Dictionary { id: db.last_insert_rowid(), content: content.into_bytes().into() }))
}

/// Returns a text without identifiers of a single transaction: without its parameters, and without hashes and
/// addresses.
fn common_text(text: &str, params: &TransactionParams) -> String {
    /// The shortest run of letters and digits that counts as a hash if it has a digit. Words and field names are
    /// shorter, or have no digit.
    const MIN_HASH_LENGTH: usize = 16;
    let TransactionParams { transaction_id, quote_id, request_id, from_address, .. } = params;
    let identifiers = [Some(transaction_id.as_str()), Some(quote_id), request_id.as_deref(), from_address.as_deref()];
    let identifiers = identifiers.into_iter().flatten().filter(|word| !word.is_empty());
    let text = identifiers.fold(text.to_owned(), |text, word| text.replace(word, ""));
    // A UUID counts as one identifier, with its hyphens.
    let is_separator = |letter: char| !letter.is_ascii_alphanumeric() && letter != '-';
    let without_hash = text.split_inclusive(is_separator).map(|part| {
        let (run, separator) = part.split_at(part.trim_end_matches(is_separator).len());
        let is_hash = run.len() >= MIN_HASH_LENGTH && run.contains(|letter: char| letter.is_ascii_digit());
        if is_hash { separator } else { part }
    });
    without_hash.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::fixtures;

    #[test]
    fn unpacked_text_equals_the_packed_text() {
        let long = |seed: usize| (0..500).map(|at| char::from(b'a' + ((at * seed) % 26) as u8)).collect::<String>();
        let texts = [long(3), long(7), "ü".repeat(200), long(3), " ".repeat(1_000)];
        for prefix in ["", texts[1].as_str(), "other"] {
            for text in &texts {
                let Some(bytes) = compress(text, prefix.as_bytes()).unwrap() else { panic!("not packed") };
                assert_eq!(&decompress(&bytes, prefix.as_bytes()).unwrap(), text);
            }
        }
        assert!(decompress(b"torn", b"").is_err());
    }

    #[test]
    fn common_text_contains_no_identifiers_of_a_transaction() {
        let params = TransactionParams { request_id: Some("9c1e-77".into()), ..fixtures::params(7) };
        let hash = params.transaction_id.as_str();
        let text = format!(
            r#"{{"id":"{hash}_30_100","requestId":"9c1e-77","quoteId":"quote-7","to":"0x1f0ac9d21f0ac9d2","ref":"0b1f5f0e-3f44-4c1c-9d3b-77a1b2c3d4e5","chainName":"Arbitrum","routerTransactionStatus":"ongoing","ü":"é"}}"#
        );
        assert_eq!(
            common_text(&text, &params),
            r#"{"id":"_30_100","requestId":"","quoteId":"","to":"","ref":"","chainName":"Arbitrum","routerTransactionStatus":"ongoing","ü":"é"}"#
        );
    }
}
