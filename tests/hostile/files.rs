//! Generates import files in every spelling, with rows that are known to be good or bad, and random input made of the
//! same tokens.

use std::collections::HashSet;

use hoptop::internals::intake::{InputFormat, InputPosition};
use proptest::{prelude::*, sample::select};
use serde_json::{Value, json};

use super::generators::text;

/// The columns in the order of a [`HostileRow`]'s values, each with its spellings.
const COLUMNS: [[&str; 3]; 6] = [
    ["transactionId", "transaction_id", "TRANSACTION ID"],
    ["fromChainId", "from-chain-id", "FromChainID"],
    ["toChainId", "to_chain_id", "tochainid"],
    ["quoteId", "quote_id", "Quote Id"],
    ["estimatedRouteDuration", "estimated_route_duration", "ESTIMATEDROUTEDURATION"],
    ["note", "Note", "NOTE"],
];

/// A row, valid except for the value in `invalid`, which comes with the index of its column.
#[derive(Clone, Debug)]
struct HostileRow {
    hash: u8,
    note: String,
    invalid: Option<(usize, &'static str)>,
}

impl HostileRow {
    fn values(&self) -> [String; 6] {
        let mut values =
            [&format!("0xABCDEF{:02x}", self.hash), "1", "osmosis-1", "q", "900", &self.note].map(str::to_owned);
        if let Some((column, value)) = self.invalid {
            values[column] = value.to_owned();
        }
        values
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum FileShape {
    Csv(char),
    Array,
    Lines,
}

/// A file of rows.
#[derive(Clone, Debug)]
pub(crate) struct HostileFile {
    rows: Vec<HostileRow>,
    shape: FileShape,
    spelling: usize,
    shift: usize,
    line_end: &'static str,
    has_byte_order_mark: bool,
    is_named: bool,
}

impl HostileFile {
    /// Returns the format to read the file with.
    pub(crate) fn format(&self) -> InputFormat {
        match self.shape {
            _ if !self.is_named => InputFormat::Auto,
            FileShape::Csv(_) => InputFormat::Csv,
            FileShape::Array => InputFormat::Json,
            FileShape::Lines => InputFormat::Ndjson,
        }
    }

    /// Returns the number of different transactions.
    pub(crate) fn count_distinct(&self) -> usize {
        self.rows.iter().map(|row| row.hash).collect::<HashSet<_>>().len()
    }

    /// Returns the bytes of the file, and the places of its bad rows.
    pub(crate) fn encode(&self) -> (Vec<u8>, Vec<InputPosition>) {
        let mut text = String::from(if self.has_byte_order_mark { "\u{feff}" } else { "" });
        let places = match self.shape {
            FileShape::Csv(delimiter) => self.write_csv(&mut text, delimiter),
            FileShape::Array => {
                let rows: Vec<_> = self.rows.iter().map(|row| self.to_object(row)).collect();
                text.push_str(&Value::from(rows).to_string());
                (1..).map(InputPosition::Item).take(self.rows.len()).collect::<Vec<_>>()
            }
            FileShape::Lines => {
                // In NDJSON a carriage return alone doesn't end a line.
                let end = if self.line_end == "\r" { "\n" } else { self.line_end };
                self.rows.iter().for_each(|row| text.push_str(&format!("{}{end}", self.to_object(row))));
                (1..).map(InputPosition::Line).take(self.rows.len()).collect()
            }
        };
        let bad = places.into_iter().zip(&self.rows).filter(|(_, row)| row.invalid.is_some()).map(|(place, _)| place);
        (text.into_bytes(), bad.collect())
    }

    fn to_object(&self, row: &HostileRow) -> Value {
        let pairs = COLUMNS.iter().zip(row.values());
        json!(pairs.map(|(names, value)| (names[self.spelling], value)).collect::<std::collections::BTreeMap<_, _>>())
    }

    fn write_csv(&self, text: &mut String, delimiter: char) -> Vec<InputPosition> {
        let names = COLUMNS.map(|names| names[self.spelling].to_owned());
        let mut places = Vec::new();
        for (index, mut values) in std::iter::once(names).chain(self.rows.iter().map(HostileRow::values)).enumerate() {
            if index > 0 {
                places.push(InputPosition::Line(1 + count_line_ends(text)));
            }
            values.rotate_left(self.shift);
            let quoted = values.map(|value| match value.contains(['"', '\r', '\n', delimiter]) {
                true => format!("\"{}\"", value.replace('"', "\"\"")),
                false => value,
            });
            text.push_str(&quoted.join(&delimiter.to_string()));
            text.push_str(self.line_end);
        }
        places
    }
}

/// Counts the line ends in a text as an editor does.
fn count_line_ends(text: &str) -> usize {
    text.replace("\r\n", "\n").matches(['\n', '\r']).count()
}

/// Generates a file of rows, of which one in ten is bad.
pub(crate) fn file() -> impl Strategy<Value = HostileFile> {
    let invalid = select(vec![
        (0, ""),
        (0, "0xabc"),
        (0, "0xab cdef"),
        (0, "https://scan.example/address/0xabcdef"),
        (0, "\u{200b}"),
        (1, ""),
        (1, "Arbitrum One"),
        (2, "\u{202e}"),
        (2, "a/b"),
        (3, ""),
        (3, "\u{1b}"),
        (3, " "),
        (4, "-1"),
        (4, "NaN"),
        (4, "inf"),
        (4, "soon"),
        (4, "1e"),
    ]);
    let invalid = prop_oneof![9 => Just(None), 1 => invalid.prop_map(Some)];
    // A NUL makes a CSV file invalid; `random_bytes` covers that case.
    let note = text().prop_map(|text| text.replace('\0', ""));
    let row = (any::<u8>(), note, invalid).prop_map(|(hash, note, invalid)| HostileRow { hash, note, invalid });
    let shape = select(vec![
        FileShape::Csv(','),
        FileShape::Csv(';'),
        FileShape::Csv('\t'),
        FileShape::Array,
        FileShape::Lines,
    ]);
    let spelling = (0..3_usize, 0..6_usize, select(vec!["\n", "\r\n", "\r"]));
    (prop::collection::vec(row, 1..8), shape, spelling, any::<bool>(), any::<bool>()).prop_map(
        |(rows, shape, (spelling, shift, line_end), has_byte_order_mark, is_named)| HostileFile {
            rows,
            shape,
            spelling,
            shift,
            line_end,
            has_byte_order_mark,
            is_named,
        },
    )
}

/// Generates tokens that the readers understand, arbitrary text, and bytes that may not be UTF-8, in any order.
pub(crate) fn random_bytes() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        select(vec![
            "transactionId,fromChainId,toChainId,quoteId\n",
            "transactionId;fromChainId;toChainId;quoteId;labels;note\r\n",
            "{\"transactionId\":\"0xabcdef\",\"fromChainId\":1,\"toChainId\":10,\"quoteId\":\"q\\u001b\"}",
            "\"labels\":[\"a;b\"]",
            "0xabababababababababababababababababababababababababababababababab",
            "https://scan.example/tx/",
            "42161",
            "osmosis-1",
            ",",
            ";",
            "\t",
            "\n",
            "\r\n",
            "\r",
            "\"",
            "\"\"",
            "[",
            "]",
            "{",
            "}",
            ":",
            " ",
            "\0",
            "\u{feff}",
            "…",
            "1e999",
            "\\ud800",
        ])
        .prop_map(|piece| piece.as_bytes().to_vec()),
        text().prop_map(String::into_bytes),
        prop::collection::vec(any::<u8>(), 0..4),
    ];
    prop::collection::vec(piece, 0..16).prop_map(|pieces| pieces.concat())
}
