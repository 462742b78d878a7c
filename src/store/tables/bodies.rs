//! Bodies and records as they stand on the disk: compressed, those of one route by what they have in common.
//!
//! What comes out is what went in, byte for byte. A dictionary must never hold what belongs to a single transaction, so that
//! nothing of a deleted one stays.

use std::{cell::RefCell, rc::Rc};

use rusqlite::{
    Connection, OptionalExtension, Row, ToSql, params,
    types::{ToSqlOutput, Value, ValueRef},
};
use zstd::zstd_safe::{self, CCtx, DCtx};

use super::columns;
use crate::domain::transaction::{Transaction, TransactionParams};
use crate::store::error::StoreError;

/// For texts of a few kilobytes nearly as small as higher levels make them, in less than half of their time.
const LEVEL: i32 = 7;
/// Shorter texts gain nothing.
const LEAST: usize = 96;
/// The longest text: more than a client takes of any body.
const LONGEST: usize = 8 << 20;
/// A route has at most so many dictionaries, since each is kept for good.
const DICTIONARIES: i64 = 8;
/// A text that is packed to more than this part of its length shows that the service has changed its form.
const POOR: usize = 4;

/// A text as it stands in three columns: the value, the dictionary and the base that it was packed with.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::store) struct Packed {
    value: Value,
    pub(in crate::store) dictionary: Option<i64>,
    pub(in crate::store) base: Option<i64>,
}

impl ToSql for Packed {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        self.value.to_sql()
    }
}

impl Packed {
    /// No text.
    pub(in crate::store) const NONE: Self = Self { value: Value::Null, dictionary: None, base: None };

    /// From three columns, the first at `column`.
    pub(in crate::store) fn read(row: &Row<'_>, column: usize) -> rusqlite::Result<Self> {
        Ok(Self { value: row.get(column)?, dictionary: row.get(column + 1)?, base: row.get(column + 2)? })
    }

    fn plain(text: &str) -> Self {
        Self { value: Value::Text(text.to_owned()), dictionary: None, base: None }
    }

    fn length(&self) -> usize {
        match ValueRef::from(&self.value) {
            ValueRef::Blob(bytes) | ValueRef::Text(bytes) => bytes.len(),
            _ => 0,
        }
    }
}

/// A transaction's record as it is kept.
pub(in crate::store) fn record_json(transaction: &Transaction) -> Result<Option<String>, StoreError> {
    let json = transaction.state.record.as_ref().map(serde_json::to_string).transpose();
    Ok(json.map_err(|error| columns::unreadable(0, error))?)
}

/// What the texts of one route have in common.
pub(in crate::store) struct Dictionary {
    id: i64,
    content: Rc<[u8]>,
}

/// The newest dictionary of a route.
pub(in crate::store) fn dictionary(
    db: &Connection,
    params: &TransactionParams,
) -> Result<Option<Dictionary>, StoreError> {
    let mut statement = db.prepare_cached(
        "SELECT id, content FROM dictionaries WHERE from_chain = ? AND to_chain = ? ORDER BY id DESC LIMIT 1",
    )?;
    let route = [params.from_chain.as_str(), params.to_chain.as_str()];
    let found = statement.query_row(route, |row| Ok((row.get(0)?, row.get::<_, Vec<u8>>(1)?))).optional()?;
    found.map(|(id, packed)| Ok(Dictionary { id, content: unpack_dictionary(packed)? })).transpose()
}

fn content(db: &Connection, id: i64) -> Result<Rc<[u8]>, StoreError> {
    let mut statement = db.prepare_cached("SELECT content FROM dictionaries WHERE id = ?")?;
    let packed: Option<Vec<u8>> = statement.query_row([id], |row| row.get(0)).optional()?;
    let packed = packed.ok_or_else(|| StoreError::Unpack(format!("dictionary {id} isn't there")))?;
    unpack_dictionary(packed)
}

/// The content of a dictionary. That of the last one is remembered: most answers come from few routes.
fn unpack_dictionary(packed: Vec<u8>) -> Result<Rc<[u8]>, StoreError> {
    LAST_DICTIONARY.with_borrow_mut(|(known, content)| {
        if *known != packed {
            (*content, *known) = (decompress(&packed, b"")?.into_bytes().into(), packed);
        }
        Ok(Rc::clone(content))
    })
}

/// Packs the first body of a transaction: with its route's dictionary, or a new one where that one serves badly. `record` is what
/// was read of it.
pub(in crate::store) fn pack_first(
    db: &Connection,
    params: &TransactionParams,
    (text, record): (&str, &str),
) -> Result<Packed, StoreError> {
    let known = dictionary(db, params)?;
    let packed = pack(text, known.as_ref())?;
    // Without a dictionary the next texts of the transaction couldn't be packed with this one.
    let serves = known.is_some() && packed.length() <= text.len() / POOR;
    if serves || text.len() < 4 * LEAST {
        return Ok(packed);
    }
    match make_dictionary(db, params, &format!("{record}{text}"))? {
        Some(made) => pack(text, Some(&made)),
        None => Ok(packed),
    }
}

/// Packs a text with a dictionary, if there is one.
pub(in crate::store) fn pack(text: &str, dictionary: Option<&Dictionary>) -> Result<Packed, StoreError> {
    let content = dictionary.map_or(&[][..], |dictionary| &*dictionary.content);
    let id = dictionary.map(|dictionary| dictionary.id);
    Ok(compress(text, content)?.map_or(Packed::plain(text), |value| Packed { value, dictionary: id, base: None }))
}

/// Packs a text with another one of the same transaction, which the store has under `base`, and with a dictionary before it if
/// there is one.
pub(in crate::store) fn pack_like(
    text: &str,
    dictionary: Option<&Dictionary>,
    (base, like): (i64, &str),
) -> Result<Packed, StoreError> {
    let content = dictionary.map_or(&[][..], |dictionary| &*dictionary.content);
    let id = dictionary.map(|dictionary| dictionary.id);
    let packed = compress(text, &[content, like.as_bytes()].concat())?;
    Ok(packed.map_or(Packed::plain(text), |value| Packed { value, dictionary: id, base: Some(base) }))
}

/// The text; `None` if there is none. `base` finds the text that it was packed with.
pub(in crate::store) fn unpack(
    db: &Connection,
    packed: &Packed,
    base: impl FnOnce(i64) -> Result<Option<String>, StoreError>,
) -> Result<Option<String>, StoreError> {
    let bytes = match &packed.value {
        Value::Null => return Ok(None),
        Value::Text(text) => return Ok(Some(text.clone())),
        Value::Blob(bytes) => bytes,
        Value::Integer(_) | Value::Real(_) => {
            return Err(StoreError::Unpack("a number stands where a text belongs".into()));
        }
    };
    let mut like =
        packed.dictionary.map(|id| content(db, id)).transpose()?.map_or_else(Vec::new, |content| content.to_vec());
    if let Some(id) = packed.base {
        let text = base(id)?.ok_or_else(|| StoreError::Unpack(format!("what it is like ({id}) isn't there")))?;
        like.extend(text.into_bytes());
    }
    Ok(Some(decompress(bytes, &like)?))
}

/// The same; none if it can't be unpacked, so that one bad text stands in nobody's way. `what` says whose text it is.
pub(in crate::store) fn readable(
    unpacked: Result<Option<String>, StoreError>,
    what: std::fmt::Arguments<'_>,
) -> Result<Option<String>, StoreError> {
    match unpacked {
        Err(error @ StoreError::Unpack(_)) => {
            tracing::warn!("{what} is left out: {error}");
            Ok(None)
        }
        unpacked => unpacked,
    }
}

thread_local! {
    /// A dictionary as the store has it, and its content.
    static LAST_DICTIONARY: RefCell<(Vec<u8>, Rc<[u8]>)> = RefCell::new((Vec::new(), Rc::from([])));
    // Making these costs more than using them. They hold nothing from one text to the next.
    static COMPRESSOR: RefCell<CCtx<'static>> = RefCell::new(CCtx::create());
    static DECOMPRESSOR: RefCell<DCtx<'static>> = RefCell::new(DCtx::create());
}

fn compress(text: &str, like: &[u8]) -> Result<Option<Value>, StoreError> {
    if text.len() < LEAST || text.len() > LONGEST {
        return Ok(None);
    }
    let mut bytes = Vec::with_capacity(zstd_safe::compress_bound(text.len()));
    // With the dictionary for this call alone: to prepare one for later calls costs more than to compress a text.
    COMPRESSOR
        .with_borrow_mut(|compressor| compressor.compress_using_dict(&mut bytes, text.as_bytes(), like, LEVEL))
        .map_err(|code| StoreError::Unpack(zstd_safe::get_error_name(code).to_owned()))?;
    Ok((bytes.len() < text.len()).then_some(Value::Blob(bytes)))
}

fn decompress(bytes: &[u8], like: &[u8]) -> Result<String, StoreError> {
    // The frame's own length bounds what is allocated for it.
    let length = zstd_safe::get_frame_content_size(bytes).ok().flatten();
    let length = length.and_then(|length| usize::try_from(length).ok()).filter(|length| *length <= LONGEST);
    let length = length.ok_or_else(|| StoreError::Unpack("its length isn't known".into()))?;
    let mut text = Vec::with_capacity(length);
    DECOMPRESSOR
        .with_borrow_mut(|decompressor| decompressor.decompress_using_dict(&mut text, bytes, like))
        .map_err(|code| StoreError::Unpack(zstd_safe::get_error_name(code).to_owned()))?;
    String::from_utf8(text).map_err(|error| StoreError::Unpack(error.to_string()))
}

/// Keeps what a text has in common with others of its route, unless the route has its share already.
fn make_dictionary(db: &Connection, params: &TransactionParams, text: &str) -> Result<Option<Dictionary>, StoreError> {
    let content = skeleton(text, params);
    let Some(packed) = compress(&content, b"")? else { return Ok(None) };
    let made = db
        .prepare_cached(
            "INSERT INTO dictionaries (from_chain, to_chain, content) SELECT ?1, ?2, ?3
             WHERE (SELECT count(*) FROM dictionaries WHERE from_chain = ?1 AND to_chain = ?2) < ?4",
        )?
        .execute(params![params.from_chain.as_str(), params.to_chain.as_str(), packed, DICTIONARIES])?;
    Ok((made > 0).then(|| Dictionary { id: db.last_insert_rowid(), content: content.into_bytes().into() }))
}

/// Returns a text without whatever names a single transaction: its parameters, and each hash or address.
fn skeleton(text: &str, params: &TransactionParams) -> String {
    /// Words of a language and names of fields are shorter, or have no digit.
    const HASH: usize = 16;
    let own = [Some(params.transaction_id.as_str()), Some(&params.quote_id), params.request_id.as_deref()];
    let own = own.into_iter().chain([params.from_address.as_deref()]).flatten().filter(|word| !word.is_empty());
    let text = own.fold(text.to_owned(), |text, word| text.replace(word, ""));
    let mut kept = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(letter) = rest.chars().next() {
        // A UUID is one name, with its hyphens.
        let names = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
        let end = rest.find(|letter| !names(letter)).unwrap_or(rest.len());
        let (run, after) = rest.split_at(end.max(letter.len_utf8()));
        if run.len() < HASH || !run.contains(|letter: char| letter.is_ascii_digit()) {
            kept.push_str(run);
        }
        rest = after;
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::fixtures;

    #[test]
    fn each_text_comes_out_as_it_went_in_whatever_came_before() {
        let long = |seed: usize| (0..500).map(|at| char::from(b'a' + ((at * seed) % 26) as u8)).collect::<String>();
        let texts = [long(3), long(7), "ü".repeat(200), long(3), " ".repeat(1_000)];
        for like in ["", texts[1].as_str(), "other"] {
            for text in &texts {
                let Some(Value::Blob(bytes)) = compress(text, like.as_bytes()).unwrap() else { panic!("not packed") };
                assert_eq!(&decompress(&bytes, like.as_bytes()).unwrap(), text);
            }
        }
        assert!(decompress(b"torn", b"").is_err());
    }

    #[test]
    fn a_skeleton_holds_nothing_of_a_single_transaction() {
        let params = TransactionParams { request_id: Some("9c1e-77".into()), ..fixtures::params(7) };
        let hash = params.transaction_id.as_str();
        let text = format!(
            r#"{{"id":"{hash}_30_100","requestId":"9c1e-77","quoteId":"quote-7","to":"0x1f0ac9d21f0ac9d2","ref":"0b1f5f0e-3f44-4c1c-9d3b-77a1b2c3d4e5","chainName":"Arbitrum","routerTransactionStatus":"ongoing","ü":"é"}}"#
        );
        assert_eq!(
            skeleton(&text, &params),
            r#"{"id":"_30_100","requestId":"","quoteId":"","to":"","ref":"","chainName":"Arbitrum","routerTransactionStatus":"ongoing","ü":"é"}"#
        );
    }
}
