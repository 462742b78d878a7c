//! Checksums of rows and of packed texts, so that a value that changed on the disk is known.
//!
//! A row without a checksum was written before checksums existed, and counts as intact. A row that is known to be
//! damaged stays marked when other values of the row are written. This module must never hide damage, nor know a table.

use rusqlite::{
    Connection, Result,
    functions::FunctionFlags,
    types::{Value, ValueRef},
};

/// Returns the SQL condition for a damaged row with these columns.
pub(crate) fn is_damaged(columns: &str) -> String {
    format!("checksum <> row_checksum({columns})")
}

/// Returns the assignments of an `UPDATE` that sets these columns to these SQL values, with the checksum of the changed
/// row. `checked` are the columns of the checksum.
pub(crate) fn assignments(checked: &str, columns: &[(&str, &str)]) -> String {
    let value_of = |column| columns.iter().find(|(name, _)| *name == column).map_or(column, |(_, value)| *value);
    let next: Vec<&str> = checked.split(", ").map(value_of).collect();
    let assignments: String = columns.iter().map(|(name, value)| format!("{name} = {value}, ")).collect();
    format!("{assignments}checksum = next_checksum(checksum, {checked}, {})", next.join(", "))
}

/// Returns the checksum of the values of all checked columns, a CRC32. NULL adds nothing, so that a new column keeps the
/// checksums of older rows.
pub(crate) fn of_values<'a>(values: impl Iterator<Item = ValueRef<'a>>) -> i64 {
    let mut bytes = Vec::with_capacity(512);
    for (index, value) in (0_u8..).zip(values) {
        let (kind, content): (u8, &[u8]) = match &value {
            ValueRef::Null => continue,
            ValueRef::Integer(number) => (1, &number.to_le_bytes()),
            ValueRef::Real(number) => (2, &number.to_le_bytes()),
            ValueRef::Text(text) => (3, text),
            ValueRef::Blob(blob) => (4, blob),
        };
        bytes.extend_from_slice(&[index, kind]);
        bytes.extend_from_slice(&(content.len() as u64).to_le_bytes());
        bytes.extend_from_slice(content);
    }
    i64::from(crc32fast::hash(&bytes).cast_signed())
}

/// The first byte of a packed text that isn't compressed.
const PLAIN: u8 = 0;
/// The first byte of a packed text that is compressed.
const COMPRESSED: u8 = 1;
const CHECKSUM_BYTES: usize = 4;

/// The content of a packed text, without its checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PackedContent<'a> {
    /// The text itself.
    Plain(&'a [u8]),
    /// A frame of zstd.
    Compressed(&'a [u8]),
}

impl PackedContent<'_> {
    /// Returns the value to store: the content with its checksum. `packed_with` says what else the text depends on.
    pub(crate) fn with_checksum(self, packed_with: [Option<i64>; 2]) -> Value {
        let (kind, bytes) = match self {
            Self::Plain(bytes) => (PLAIN, bytes),
            Self::Compressed(bytes) => (COMPRESSED, bytes),
        };
        let mut sealed = Vec::with_capacity(1 + bytes.len() + CHECKSUM_BYTES);
        sealed.push(kind);
        sealed.extend(bytes);
        sealed.extend(of_packed(&sealed, packed_with).to_le_bytes());
        Value::Blob(sealed)
    }
}

/// Returns the content of a stored text; `None` if its checksum is wrong. A text without a checksum begins with zstd's
/// magic number.
pub(crate) fn without_checksum(stored: &[u8], packed_with: [Option<i64>; 2]) -> Option<PackedContent<'_>> {
    if stored.starts_with(&zstd::zstd_safe::MAGICNUMBER.to_le_bytes()) {
        return Some(PackedContent::Compressed(stored));
    }
    let (sealed, checksum) = stored.split_last_chunk::<CHECKSUM_BYTES>()?;
    if of_packed(sealed, packed_with).to_le_bytes() != *checksum {
        return None;
    }
    match sealed.split_first()? {
        (&PLAIN, bytes) => Some(PackedContent::Plain(bytes)),
        (&COMPRESSED, bytes) => Some(PackedContent::Compressed(bytes)),
        _ => None,
    }
}

fn of_packed(sealed: &[u8], packed_with: [Option<i64>; 2]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(sealed);
    packed_with.iter().for_each(|number| hasher.update(&number.unwrap_or(-1).to_le_bytes()));
    hasher.finalize()
}

/// Registers the SQL functions of this module on a connection.
pub(crate) fn register(connection: &Connection) -> Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC | FunctionFlags::SQLITE_DIRECTONLY;
    connection.create_scalar_function("row_checksum", -1, flags, |call| {
        Ok(of_values((0..call.len()).map(|argument| call.get_raw(argument))))
    })?;
    connection.create_scalar_function("next_checksum", -1, flags, |call| {
        let columns = call.len() / 2;
        let [before, next] =
            [1, 1 + columns].map(|first| of_values((first..first + columns).map(|argument| call.get_raw(argument))));
        Ok(match call.get_raw(0) {
            ValueRef::Integer(stored) if stored != before => !next,
            _ => next,
        })
    })?;
    connection.create_scalar_function("is_intact", 3, flags, |call| {
        let [dictionary, base] = [call.get(1)?, call.get(2)?];
        Ok(matches!(call.get_raw(0), ValueRef::Blob(stored) if without_checksum(stored, [dictionary, base]).is_some()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flipped_bit_of_a_packed_text_is_found() {
        for content in
            [PackedContent::Plain(b"{\"message\":\"not found\"}"), PackedContent::Compressed(b"\x28\xb5\x2f\xfdframe")]
        {
            let Value::Blob(stored) = content.with_checksum([Some(3), None]) else { panic!("a blob") };
            assert_eq!(without_checksum(&stored, [Some(3), None]), Some(content));
            assert_eq!(without_checksum(&stored, [Some(2), None]), None);
            assert_eq!(without_checksum(&stored, [None, Some(3)]), None);
            for bit in 0..stored.len() * 8 {
                let mut flipped = stored.clone();
                flipped[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(without_checksum(&flipped, [Some(3), None]), None, "bit {bit}");
            }
            (0..stored.len()).for_each(|length| assert_eq!(without_checksum(&stored[..length], [Some(3), None]), None));
        }
    }

    #[test]
    fn damage_stays_known_when_other_values_are_written() {
        let db = Connection::open_in_memory().unwrap();
        register(&db).unwrap();
        db.execute_batch("CREATE TABLE rows (a, b, checksum); INSERT INTO rows VALUES (1, 'x', NULL)").unwrap();
        let is_damaged = || -> Result<Option<bool>> {
            db.query_row(&format!("SELECT {} FROM rows", is_damaged("a, b")), [], |row| row.get(0))
        };
        let update = format!("UPDATE rows SET {}", assignments("a, b", &[("a", "a + 1")]));
        assert_eq!(is_damaged().unwrap(), None, "a row of an older schema");
        db.execute(&update, []).unwrap();
        assert_eq!(is_damaged().unwrap(), Some(false));
        db.execute(&update, []).unwrap();
        assert_eq!(is_damaged().unwrap(), Some(false));
        db.execute("UPDATE rows SET b = 'y'", []).unwrap();
        for _ in 0..3 {
            assert_eq!(is_damaged().unwrap(), Some(true));
            db.execute(&update, []).unwrap();
        }
    }

    #[test]
    fn new_column_keeps_the_checksums_of_older_rows() {
        let values = [ValueRef::Integer(7), ValueRef::Null, ValueRef::Text(b"a")];
        assert_eq!(of_values(values.into_iter()), of_values(values.into_iter().chain([ValueRef::Null])));
        let other = [ValueRef::Null, ValueRef::Integer(7), ValueRef::Text(b"a")];
        assert_ne!(of_values(values.into_iter()), of_values(other.into_iter()));
    }
}
