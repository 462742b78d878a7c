//! Inputs of the largest allowed size, each of a shape whose cost could grow faster than its size.

use chrono::DateTime;
use hoptop::internals::{
    api::{BODY_LIMIT, HttpAnswer, interpret},
    domain::clean,
    intake::{InputFormat, ReadOptions, parse_paste, read},
};

use super::{
    invariants,
    measure::{self, Figures},
};

/// The largest body, in bytes. A build without optimisation is slow, and gets a smaller one.
const SIZE: usize = if cfg!(debug_assertions) { BODY_LIMIT / 64 } else { BODY_LIMIT };

/// The size of a file, in bytes.
const FILE_SIZE: usize = SIZE / 16;

/// Returns bodies of [`SIZE`] bytes, each with a name.
fn bodies() -> Vec<(&'static str, String)> {
    let fill = |head: &str, piece: &str, tail: &str| {
        let count = (SIZE - head.len() - tail.len()) / piece.len();
        format!("{head}{}{tail}", piece.repeat(count))
    };
    let keys = |shape: fn(usize) -> String, head: &str, tail: &str| {
        let mut body = head.to_owned();
        (0..)
            .map(shape)
            .take_while(|piece| {
                body.push_str(piece);
                body.len() < SIZE - 40
            })
            .for_each(drop);
        body.truncate(body.len() - 1);
        body + tail
    };
    vec![
        ("blanks", fill("", " ", "")),
        ("controls", fill("", "\u{1}", "")),
        ("C1 controls", fill("", "\u{9b}", "")),
        ("zero-width characters", fill("", "\u{200b}", "")),
        ("marks", fill("x", "\u{301}", "")),
        ("private use", fill("", "\u{f0000}", "")),
        ("HTML", fill("<html><title>", "<", "")),
        ("HTML of many titles", fill("<html>", "<title", "")),
        ("HTML with a long title", fill("<html><title>", "\u{200b}", "</title>")),
        ("text that isn't HTML for long", fill("é", "é", "<html>")),
        ("one text", fill("{\"status\":\"", "x", "\",\"routeStatus\":[]}")),
        ("one text of escapes", fill("{\"status\":\"", "\\u001b", "\",\"routeStatus\":[]}")),
        ("one text of zero-width characters", fill("{\"timeSpent\":\"", "\u{200b}", "\"}")),
        ("a text that is a time", fill("{\"timeSpent\":{\"total\":\"", "\u{200b}", "\"}}")),
        ("a time of a long name", fill("{\"timeSpent\":{\"", "\u{200b}", "\":null}}")),
        ("one number", fill("{\"fromChain\":{\"blockNumber\":", "9", "}}")),
        ("one float", fill("{\"fromChain\":{\"blockNumber\":0.", "9", "}}")),
        ("numbers", fill("{\"routeStatus\":[", "0,", "0]}")),
        ("texts", fill("{\"errors\":[", "\"\",", "\"\"]}")),
        ("arrays", fill("{\"routeStatus\":[", "[],", "[]]}")),
        ("arrays of one", fill("{\"routeStatus\":[", "[0],", "[]]}")),
        ("objects", fill("{\"routeStatus\":[", "{},", "{}]}")),
        ("objects of one", fill("{\"routeStatus\":[", "{\"\":0},", "{}]}")),
        ("objects of one in an error", fill("{\"error\":[", "{\"\":0},", "{}]}")),
        ("objects of one in an object", fill("{\"error\":{\"a\":[", "{\"\":0},", "{}]}}")),
        ("objects in objects", fill("[", &format!("{}0{},", "{\"\":".repeat(100), "}".repeat(100)), "0]")),
        ("errors", fill("{\"errors\":[", "{\"message\":\"a\"},", "{}]}")),
        ("errors with paths", fill("{\"errors\":[{\"message\":\"a\",\"path\":[", "{\"\":0},", "0]}]}")),
        ("errors that say nothing", fill("[", "{\"type\":\"\"},", "0]")),
        ("steps", fill("{\"routeStatus\":[", "{\"chainId\":{},\"txHash\":[]},", "{}]}")),
        ("times", keys(|number| format!("\"{number}\":0,"), "{\"timeSpent\":{", "}}")),
        ("keys", keys(|number| format!("\"{number:x}\":0,"), "{", "}")),
        ("the same key", fill("{", "\"error\":[0],", "\"error\":0}")),
        ("depth", fill("", "[", "")),
        ("depth in objects", fill("", "{\"\":", "")),
        ("a record after blanks", fill("", " ", "{\"routeStatus\":[]}")),
        ("a record after byte order marks", fill("", "\u{feff}", "{\"routeStatus\":[]}")),
    ]
}

#[test]
fn bodies_at_the_size_limit_stay_within_time_and_memory() {
    let _lock = measure::lock_measurements();
    let bodies = bodies().into_iter().map(|(name, body)| (name, body.into_bytes()));
    for (name, body) in bodies.chain([("no text at all", vec![0xff; SIZE])]) {
        assert!(body.len() <= SIZE && body.len() > SIZE - 1_000, "{name}: {} bytes", body.len());
        let mut figures = Figures::default();
        for status in [200, 404, 429, 500] {
            let reply = HttpAnswer { status, retry_after: None, body: &body };
            let outcome = figures.measure(|| interpret(&reply, &invariants::params(), DateTime::UNIX_EPOCH));
            invariants::assert_heard(&reply, &outcome);
        }
        println!("{figures}: {name}");
        figures.assert_bounded(name);
    }
}

/// Returns files of [`FILE_SIZE`] bytes, each with a name. A paste may be this large: 500 rows, or 30,000 of the
/// shortest. A file has no limit that a test could reach; its cost grows with its size.
fn files() -> Vec<(&'static str, String)> {
    const HEADER: &str = "transactionId,fromChainId,toChainId,quoteId,labels,note";
    let fill = |head: &str, piece: &str, tail: &str| {
        format!("{head}{}{tail}", piece.repeat((FILE_SIZE - head.len() - tail.len()) / piece.len()))
    };
    let count = |head: &str, shape: fn(usize) -> String, tail: &str| {
        let mut text = head.to_owned();
        (0..)
            .map(shape)
            .take_while(|piece| {
                text.push_str(piece);
                text.len() < FILE_SIZE
            })
            .for_each(drop);
        text + tail
    };
    let row = "0xabcdef,1,10,q";
    let object = r#"{"transactionId":"0xabcdef","fromChainId":1,"toChainId":10,"quoteId":"q""#;
    vec![
        (
            "rows",
            count(&format!("{HEADER}\n"), |number| format!("0x{number:064x},42161,8453,quote-{number},vip,\n"), ""),
        ),
        ("the same row", fill(&format!("{HEADER}\n"), &format!("{row}\n"), "")),
        ("short rows", fill(&format!("{HEADER}\n"), "x\n", "")),
        ("blank rows", fill(&format!("{HEADER}\n"), ",\n", "")),
        ("line ends", fill(HEADER, "\r\n", "")),
        ("columns without a name", fill(HEADER, ",", "")),
        ("unknown columns", count(&format!("{HEADER},"), |number| format!("{number:x},"), "")),
        ("a column of underscores", fill(HEADER, "_", "")),
        ("a value of quotation marks", fill(&format!("{HEADER}\n"), "\"\"", "")),
        ("a mark that never closes", fill(&format!("{HEADER}\n{row},\""), "x\n", "")),
        ("labels", count(&format!("{HEADER}\n{row},"), |number| format!("{number};"), ",")),
        ("a note", fill(&format!("{HEADER}\n{row},,\""), "\u{200b}\n", "\"")),
        ("links", count(&format!("{HEADER}\nhttps://x/"), |number| format!("{number:064x}/"), ",1,10,q")),
        ("hashes", count("", |number| format!("{number:064x} "), "")),
        ("objects of one", fill("[", "{\"\":0},", "{}]")),
        ("an unknown value", fill(&format!("[{object},\"a\":["), "{\"\":0},", "{}]}]")),
        ("a known value", fill(&format!("[{object},\"note\":["), "{\"\":0},", "{}]}]")),
        ("labels in JSON", count(&format!("[{object},\"labels\":["), |number| format!("\"{number}\","), "\"\"]}]")),
        ("objects", fill("[", &format!("{object}}},"), "{}]")),
        ("lines of objects", fill("", &format!("{object}}}\n"), "")),
        ("objects over lines", fill("", &format!("{}}}\n", object.replace(',', ",\n")), "")),
        ("lines of new columns", count("", |number| format!("{{\"{number}\":0}}\n"), "")),
        ("objects in a line", fill("", "{\"a\":{\"\":0}}", "")),
        ("lines that are no objects", fill("", "0\n", "")),
        ("depth", fill("", "[", "")),
        ("depth in objects", fill("", "{\"a\":", "")),
        ("numbers in an array", fill("[", "0,", "0]")),
    ]
}

#[test]
fn files_of_any_shape_stay_within_time_and_memory() {
    let _lock = measure::lock_measurements();
    for (name, text) in files() {
        let mut figures = Figures::default();
        for format in [InputFormat::Auto, InputFormat::Csv, InputFormat::Json, InputFormat::Ndjson] {
            let options = ReadOptions { format, allows_any_chain: false, ..ReadOptions::default() };
            invariants::assert_import(&figures.measure(|| read(text.as_bytes(), &options)));
        }
        invariants::assert_paste(&figures.measure(|| parse_paste(&text, &ReadOptions::default())));
        // A paste is cut at the end of a line, so a single line that exceeds the limit isn't read at all.
        let short: String = text.chars().take(60 * 1024).collect();
        invariants::assert_paste(&figures.measure(|| parse_paste(&short, &ReadOptions::default())));
        println!("{figures}: {name}");
        figures.assert_bounded(name);
    }
}

#[test]
fn sanitising_a_mebibyte_stays_within_time_and_memory() {
    let _lock = measure::lock_measurements();
    for piece in ["x", " ", "a ", "\u{1}", "\u{1b}[31m", "\u{9b}", "\u{200b}", "\u{301}", "\u{f0000}", "\u{a0}", "\r\n"]
    {
        let text = piece.repeat(SIZE / piece.len());
        let mut figures = Figures::default();
        invariants::assert_clean(&figures.measure(|| clean(&text)));
        println!("{figures}: {piece:?}");
        figures.assert_bounded(piece);
    }
}
