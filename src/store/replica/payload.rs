//! The encoding of operations in the entries of a team's log.
//!
//! An entry holds one kind of [`Payload`]. Operations are lines of JSON, compressed by zstd, so that every version of
//! hoptop can read what another wrote. A payload that is too large for one entry is split into parts.

use std::io::{self, BufRead as _, BufReader, Read, Write};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use zstd::stream::{read::Decoder, write::Encoder};

use crate::{
    domain::{
        batch::{Batch, BatchRows, SpoolError},
        ids::TransactionKey,
        operation::{Envelope, FORMAT, Operation, Stamp},
        team::Nonce,
        transaction::NewTransaction,
    },
    store::{
        body_storage,
        error::{Result, StoreError},
    },
};

/// The most bytes in one part of an entry.
const PART_BYTES: usize = 1 << 20;
/// The compression level. Higher levels save little and take more than twice the time.
const LEVEL: i32 = 3;
/// The bytes before the content of a part: the kind, the entry, the part's number and the number of parts.
const PART_HEADER: usize = 1 + 16 + 4 + 4;

/// The kinds of payload, as the first byte of an entry.
const OPERATIONS: u8 = 0;
const BATCH: u8 = 1;
const PART: u8 = 2;

/// The content of an entry.
pub(in crate::store) enum Payload<'a> {
    Operations(Vec<Envelope>),
    Batch(TrackBatch<'a>),
    Part(PayloadPart<'a>),
}

/// A part of a payload that is too large for one entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::store) struct PayloadPart<'a> {
    /// Identifies the payload.
    pub(in crate::store) entry: Nonce,
    /// The part's number, from 0.
    pub(in crate::store) number: u32,
    pub(in crate::store) total: u32,
    pub(in crate::store) bytes: &'a [u8],
}

/// The first line of a batch.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct BatchHeader {
    format: u16,
    #[serde(flatten)]
    stamp: Stamp,
    profile: String,
    rows: u64,
}

/// A batch to track, as an entry holds it.
pub(in crate::store) struct TrackBatch<'a> {
    header: BatchHeader,
    lines: &'a [u8],
}

impl TrackBatch<'_> {
    /// The profile that polls the transactions.
    pub(in crate::store) fn profile(&self) -> &str {
        &self.header.profile
    }

    /// The time and the author.
    pub(in crate::store) fn stamp(&self) -> &Stamp {
        &self.header.stamp
    }

    pub(super) fn into_operation(self) -> Result<Envelope> {
        let transactions = self.transactions()?.collect::<Result<_, SpoolError>>()?;
        let BatchHeader { stamp, profile, .. } = self.header;
        Ok(Envelope::new(Operation::Track { profile, transactions }, stamp))
    }
}

impl Batch for TrackBatch<'_> {
    fn rows(&self) -> u64 {
        self.header.rows
    }

    fn transactions(&self) -> Result<BatchRows<'_>, SpoolError> {
        let parse = |line: io::Result<String>| -> Result<NewTransaction, SpoolError> {
            Ok(serde_json::from_str(&line?).map_err(io::Error::from)?)
        };
        Ok(Box::new(lines(self.lines)?.skip(1).map(parse)))
    }
}

/// Encodes operations.
///
/// # Errors
/// If an operation is longer than [`MAX_LINE`].
pub(crate) fn encode(operations: &[&Envelope]) -> io::Result<Vec<u8>> {
    let mut encoder = new_encoder(OPERATIONS)?;
    for operation in operations {
        write_line(&mut encoder, operation)?;
    }
    encoder.finish()
}

/// Starts a payload of a kind. Its frame has a checksum, so that a changed bit is an error.
fn new_encoder(kind: u8) -> io::Result<Encoder<'static, Vec<u8>>> {
    let mut encoder = Encoder::new(vec![kind], LEVEL)?;
    encoder.include_checksum(true)?;
    Ok(encoder)
}

/// Encodes a batch to track. Needs memory for the compressed rows only.
///
/// # Errors
/// If the rows can't be read.
pub(crate) fn encode_batch(profile: &str, batch: &dyn Batch, stamp: &Stamp) -> Result<Vec<u8>> {
    let mut encoder = new_encoder(BATCH).map_err(SpoolError::from)?;
    let header = BatchHeader { format: FORMAT, stamp: stamp.clone(), profile: profile.to_owned(), rows: batch.rows() };
    write_line(&mut encoder, &header).map_err(SpoolError::from)?;
    for new in batch.transactions()? {
        write_line(&mut encoder, &new?).map_err(SpoolError::from)?;
    }
    Ok(encoder.finish().map_err(SpoolError::from)?)
}

fn write_line(encoder: &mut Encoder<'_, Vec<u8>>, value: &impl Serialize) -> io::Result<()> {
    let line = serde_json::to_vec(value)?;
    // A longer line could be appended, but no replica could read it.
    if line.len() as u64 >= MAX_LINE {
        return Err(io::Error::other(format!(
            "one operation has {} MB, which is too large for the log",
            line.len() >> 20
        )));
    }
    encoder.write_all(&line)?;
    encoder.write_all(b"\n")
}

/// Splits a payload into the payloads of as many entries as it needs. `entry` identifies the payload if it needs
/// several.
pub(crate) fn split(payload: Vec<u8>, entry: Nonce) -> Vec<Vec<u8>> {
    if payload.len() <= PART_BYTES {
        return vec![payload];
    }
    let parts = payload.chunks(PART_BYTES);
    let total = u32::try_from(parts.len()).unwrap_or(u32::MAX);
    (0..)
        .zip(parts)
        .map(|(number, bytes)| {
            let mut part = Vec::with_capacity(PART_HEADER + bytes.len());
            part.push(PART);
            part.extend(entry.0.to_be_bytes());
            part.extend(u32::to_be_bytes(number));
            part.extend(total.to_be_bytes());
            part.extend(bytes);
            part
        })
        .collect()
}

/// Decodes the payload of an entry.
///
/// # Errors
/// [`StoreError::NewerFormat`] if a newer version wrote it, and [`StoreError::Unpack`] if it is damaged.
pub(in crate::store) fn decode(payload: &[u8]) -> Result<Payload<'_>> {
    match payload.split_first() {
        Some((&OPERATIONS, packed)) => {
            let operations = lines(packed).map_err(unpack_error)?.map(|line| {
                let operation: Envelope = parse(&line.map_err(unpack_error)?)?;
                check_format(operation.format).map(|()| operation)
            });
            Ok(Payload::Operations(operations.collect::<Result<_, _>>()?))
        }
        Some((&BATCH, packed)) => {
            let first = lines(packed).and_then(|mut lines| lines.next().transpose()).map_err(unpack_error)?;
            let header: BatchHeader = parse(&first.unwrap_or_default())?;
            check_format(header.format)?;
            Ok(Payload::Batch(TrackBatch { header, lines: packed }))
        }
        Some((&PART, rest)) => decode_part(rest).map(Payload::Part).ok_or_else(|| unpack_error("a part is too short")),
        _ => Err(unpack_error("an entry of the team's log is of an unknown kind")),
    }
}

/// Returns the body with this digest among the answers about a transaction in an entry.
///
/// # Errors
/// [`StoreError::NewerFormat`] if a newer version wrote the entry, and [`StoreError::Unpack`] if it is damaged.
pub(crate) fn find_body(payload: &[u8], transaction: &TransactionKey, digest: Option<i64>) -> Result<Option<String>> {
    let Payload::Operations(all) = decode(payload)? else { return Ok(None) };
    let mut bodies = all.into_iter().filter_map(|envelope| match envelope.operation {
        Operation::Observe { transaction: of, observation } if of == *transaction => observation.body,
        _ => None,
    });
    Ok(bodies.find(|body| Some(body_storage::digest(body)) == digest))
}

fn decode_part(rest: &[u8]) -> Option<PayloadPart<'_>> {
    let (entry, rest) = rest.split_first_chunk()?;
    let (number, rest) = rest.split_first_chunk()?;
    let (total, bytes) = rest.split_first_chunk()?;
    let (number, total) = (u32::from_be_bytes(*number), u32::from_be_bytes(*total));
    Some(PayloadPart { entry: Nonce(u128::from_be_bytes(*entry)), number, total, bytes })
}

fn check_format(found: u16) -> Result<()> {
    if found <= FORMAT { Ok(()) } else { Err(StoreError::NewerFormat { found, known: FORMAT }) }
}

/// Parses a line that names its format. A newer format may have lines that this program can't parse.
fn parse<T: DeserializeOwned>(line: &str) -> Result<T> {
    #[derive(Deserialize)]
    struct PayloadFormat {
        format: u16,
    }
    serde_json::from_str(line).map_err(|error| match serde_json::from_str(line) {
        Ok(PayloadFormat { format }) => check_format(format).err().unwrap_or_else(|| unpack_error(error)),
        Err(_) => unpack_error(error),
    })
}

pub(super) fn unpack_error(reason: impl ToString) -> StoreError {
    StoreError::Unpack(reason.to_string())
}

/// The longest line of a payload, in bytes: far above the largest answer of the service.
const MAX_LINE: u64 = 64 << 20;

/// Returns the lines of a compressed text.
fn lines(packed: &[u8]) -> io::Result<impl Iterator<Item = io::Result<String>> + '_> {
    let mut reader = BufReader::new(Decoder::with_buffer(packed)?);
    Ok(std::iter::from_fn(move || {
        let mut line = String::new();
        match (&mut reader).take(MAX_LINE).read_line(&mut line) {
            Ok(0) => None,
            read => Some(read.map(|_| line)),
        }
    }))
}
