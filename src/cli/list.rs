//! `hoptop list`: what is tracked, as a table for people or as JSON for scripts.
//!
//! It must never hide in silence: what a filter or a limit leaves out is counted.

use std::io::{self, BufWriter, Write};

use chrono::{DateTime, Utc};
use clap::Args;
use clap_complete::ArgValueCompleter;
use unicode_width::UnicodeWidthStr;

use super::{
    completions,
    context::Context,
    exit::Exit,
    json::TransactionView,
    table::{self, Column},
};
use crate::domain::{
    alert::Alert,
    filter::{Candidate, Filter, FilterError},
    row_text, span, text,
    transaction::Transaction,
    width,
};

/// The keys whose values are free text, and may hold blanks.
const TEXT_KEYS: [&str; 6] = ["label", "ticket", "chain", "from", "to", "profile"];
const COLUMNS: [Column; 8] = [
    ("SEV", false),
    ("STATUS", false),
    ("TX", false),
    ("ROUTE", false),
    ("AGE", true),
    ("DUE", true),
    ("TICKET", false),
    ("CHECKED", true),
];
/// The widest that a text which others chose may get.
const WIDEST: usize = 24;

/// Show what is tracked.
#[derive(Args, Clone, Debug, Default)]
pub struct ListArgs {
    /// Terms that must all hold, such as `is:overdue`, `chain:base`, `age>30m` or a part of a hash; write `--` before one
    /// that starts with `-`
    #[arg(add = ArgValueCompleter::new(completions::filters))]
    pub filter: Vec<String>,
    /// Print a JSON array, a transaction a line
    #[arg(long)]
    pub json: bool,
    /// Print at most this many
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,
}

/// Prints what passes the filter, in its order.
pub fn list(args: &ListArgs, cx: &mut Context) -> color_eyre::Result<Exit> {
    let Some(filter) = read_filter(&args.filter, cx.err)? else { return Ok(Exit::Usage) };
    let now = cx.now.wall;
    let reader = cx.store.reader()?;
    let rows = reader.listing(&filter, now).all()?;
    let shown = rows.get(..args.limit.unwrap_or(usize::MAX).min(rows.len())).unwrap_or_default();
    let mut out = BufWriter::new(&mut *cx.out);
    if args.json {
        let mut list = JsonList::begin(&mut out);
        reader.each(shown, |tx, alerts| list.push(tx, alerts, now))?;
        list.end()?;
    } else if rows.is_empty() && reader.listing(&Filter::everything(), now).count()? == 0 {
        writeln!(
            out,
            "nothing is tracked yet; add one with `hoptop add TX --from CHAIN --to CHAIN --quote-id ID`, many with \
             `hoptop import FILE`"
        )?;
    } else {
        let (mut lines, in_words) = (Vec::new(), cx.in_words);
        reader.each(shown, |tx, alerts| {
            match in_words {
                true => writeln!(out, "{}", row_text::row_in_words(tx, alerts, now))?,
                false => lines.push(row(&Candidate { tx, alerts }, now, cx.ellipsis)),
            }
            Ok::<_, color_eyre::Report>(())
        })?;
        if !in_words {
            table::write(COLUMNS, &lines, &mut out)?;
        }
        let more = match rows.len() - shown.len() {
            0 => String::new(),
            more => format!("; {more} more match, beyond --limit"),
        };
        writeln!(out, "{} shown of {}{more}", shown.len(), reader.listing(&Filter::everything(), now).count()?)?;
    }
    out.flush()?;
    Ok(Exit::Fine)
}

/// The filter that arguments make together. `None` if it isn't understood, and then the wrong term has been printed; the
/// command ends with [`Exit::Usage`].
pub fn read_filter(arguments: &[String], err: &mut dyn Write) -> io::Result<Option<Filter>> {
    let text = arguments.iter().filter_map(|argument| as_term(argument)).collect::<Vec<_>>().join(" ");
    match Filter::parse(&text) {
        Ok(filter) => Ok(Some(filter)),
        Err(error) => {
            point_at(&text, &error, err)?;
            Ok(None)
        }
    }
}

/// An argument as the filter's grammar has it. The shell took the quotation marks away, so that blanks inside an argument
/// have to be put into some again: of `exact text` all, of `label:two words` the value. An argument that holds several
/// terms, such as `is:overdue chain:base`, is a filter in itself, and one with marks of its own is left alone.
fn as_term(argument: &str) -> Option<String> {
    let argument = argument.trim();
    let (sign, body) = argument.strip_prefix('-').map_or(("", argument), |body| ("-", body));
    let has_marks = body.contains('"') || body.starts_with('/');
    let mut words = body.split_whitespace();
    let key = words.next().and_then(key);
    if argument.is_empty() {
        return None;
    }
    if has_marks || !body.contains(char::is_whitespace) || words.any(|word| self::key(word).is_some()) {
        return Some(argument.to_owned());
    }
    Some(match (key, body.split_once(':')) {
        (None, _) => format!("{sign}\"{body}\""),
        (Some(key), Some((_, value))) if TEXT_KEYS.contains(&key) => format!("{sign}{key}:\"{value}\""),
        _ => argument.to_owned(),
    })
}

/// The key that a word starts with: letters, then `:`, `<` or `>`.
fn key(word: &str) -> Option<&str> {
    let word = word.strip_prefix('-').unwrap_or(word);
    let (key, rest) = word.split_at_checked(word.find(|letter: char| !letter.is_ascii_alphabetic())?)?;
    (!key.is_empty() && rest.starts_with([':', '<', '>'])).then_some(key)
}

fn point_at(text: &str, error: &FilterError, err: &mut dyn Write) -> io::Result<()> {
    writeln!(err, "the filter is wrong: {}", error.message)?;
    let (Some(before), Some(wrong)) = (text.get(..error.at.start), text.get(error.at.clone())) else { return Ok(()) };
    // Text that has to be cleaned first would move away from over the marks.
    if text::clean(text) == text {
        writeln!(err, "  {text}")?;
        writeln!(err, "  {}{}", " ".repeat(before.width()), "^".repeat(wrong.width().max(1)))?;
    }
    Ok(())
}

/// A JSON array, a transaction a line, written as they come.
pub struct JsonList<'a> {
    out: &'a mut dyn Write,
    is_empty: bool,
}

impl<'a> JsonList<'a> {
    /// One that holds nothing yet.
    pub fn begin(out: &'a mut dyn Write) -> Self {
        Self { out, is_empty: true }
    }

    /// Adds a transaction as it stands at `now`, with what stands for it.
    pub fn push(&mut self, tx: &Transaction, alerts: &[Alert], now: DateTime<Utc>) -> color_eyre::Result<()> {
        let line = serde_json::to_string(&TransactionView::new(tx, alerts, now))?;
        write!(self.out, "{}{line}", if self.is_empty { "[\n" } else { ",\n" })?;
        self.is_empty = false;
        Ok(())
    }

    /// Ends it.
    pub fn end(self) -> io::Result<()> {
        writeln!(self.out, "{}", if self.is_empty { "[]" } else { "\n]" })
    }
}

fn row(candidate: &Candidate, now: DateTime<Utc>, ellipsis: &str) -> [String; 8] {
    let tx = candidate.tx;
    [
        row_text::urgency(candidate.alerts).into(),
        width::cut(&row_text::status_of(tx), WIDEST, ellipsis),
        tx.params.transaction_id.short(ellipsis),
        row_text::route(tx),
        span::short(tx.age(now)),
        row_text::due(tx, now),
        width::cut(row_text::ticket_or_label(tx).unwrap_or("-"), WIDEST, ellipsis),
        row_text::checked(tx, now),
    ]
}

#[cfg(test)]
mod tests {
    use super::{super::context::testing::Bench, *};
    use crate::domain::{fixtures, status::RouterStatus};

    fn args(filter: &[&str]) -> ListArgs {
        ListArgs { filter: filter.iter().map(|term| (*term).into()).collect(), json: false, limit: None }
    }

    fn run(bench: &mut Bench, args: &ListArgs) -> (String, String, Exit) {
        let (out, err, exit) = bench.run(|cx| list(args, cx));
        (out, err, exit.unwrap())
    }

    /// An ongoing one with a wide ticket, a partial one, and one that nobody has asked about.
    fn three() -> Bench {
        let bench = Bench::new();
        let mut new = fixtures::new(1);
        new.params.ticket = Some("SUP-4412 重要".into());
        new.labels = vec!["two words".into()];
        bench.hear(bench.track(new), fixtures::says(RouterStatus::Ongoing), 48);
        bench.hear(bench.track(fixtures::new(2)), fixtures::says(RouterStatus::PartialSuccess), 20);
        bench.track(fixtures::new(3));
        bench
    }

    #[test]
    fn who_hears_it_gets_sentences() {
        let mut bench = three();
        bench.in_words = true;
        let (out, ..) = run(&mut bench, &args(&["-status:none"]));
        let expected = "\
critical: partial_success, 0x0000...0002 Arbitrum to Base, settled 20s after it was first seen, checked 40s ago
no alert: ongoing, 0x0000...0001 Arbitrum to Base, ticket SUP-4412 重要, 1m old, due in 14m, checked 12s ago
2 shown of 3
";
        assert_eq!(out, expected);
    }

    #[test]
    fn the_table_is_aligned_and_the_most_urgent_come_first() {
        let mut bench = three();
        let (out, err, exit) = run(&mut bench, &args(&[]));
        assert_eq!((err.as_str(), exit), ("", Exit::Fine));
        let expected = "\
SEV  STATUS       TX           ROUTE     AGE  DUE  TICKET         CHECKED
!!   % partial    0x0000…0002  ARB>BASE  20s    -  -                  40s
     ~ ongoing    0x0000…0001  ARB>BASE   1m  14m  SUP-4412 重要      12s
     . no answer  0x0000…0003  ARB>BASE   1m  14m  -                    -
3 shown of 3
";
        assert_eq!(out, expected);
    }

    #[test]
    fn what_is_hidden_is_counted() {
        let mut bench = three();
        let (out, ..) = run(&mut bench, &args(&["is:unsettled"]));
        assert!(out.ends_with("2 shown of 3\n"), "{out}");
        let (out, ..) = run(&mut bench, &ListArgs { limit: Some(1), ..args(&[]) });
        assert!(out.ends_with("1 shown of 3; 2 more match, beyond --limit\n"), "{out}");
        assert_eq!(run(&mut bench, &args(&["nowhere"])).0, "0 shown of 3\n");
    }

    #[test]
    fn json_is_an_array_with_a_transaction_a_line() {
        let mut bench = three();
        let json = ListArgs { json: true, ..args(&["sort:hash"]) };
        let (out, ..) = run(&mut bench, &json);
        let read: Vec<serde_json::Value> = serde_json::from_str(&out).unwrap();
        assert_eq!((read.len(), out.lines().count()), (3, 5));
        assert_eq!((&read[1]["status"], &read[1]["alerts"][0]), (&"partial_success".into(), &"partial_success".into()));
        let nothing = ListArgs { filter: vec!["nowhere".into()], ..json };
        assert_eq!(run(&mut bench, &nothing).0, "[]\n");
    }

    #[test]
    fn nothing_tracked_says_how_to_add() {
        let (out, _, exit) = run(&mut Bench::new(), &args(&[]));
        assert!(out.contains("hoptop add TX") && out.contains("hoptop import FILE"), "{out}");
        assert_eq!(exit, Exit::Fine);
    }

    #[test]
    fn a_wrong_term_is_pointed_at() {
        let (out, err, exit) = run(&mut three(), &args(&["chain:base", "is:overdu"]));
        assert_eq!((out.as_str(), exit), ("", Exit::Usage));
        let lines: Vec<_> = err.lines().collect();
        assert!(lines[0].contains("`overdu` is unknown") && lines[0].contains("did you mean `overdue`?"), "{err}");
        assert_eq!(lines[1..], ["  chain:base is:overdu", "                ^^^^^^"]);
        let (_, err, _) = run(&mut three(), &args(&["is:\u{1b}[31m"]));
        assert!(!err.contains('\u{1b}') && err.lines().count() == 1, "{err:?}");
    }

    #[test]
    fn blanks_inside_an_argument_are_what_the_shell_meant() {
        let table = [
            ("is:overdue", "is:overdue"),
            ("exact text", "\"exact text\""),
            ("-exact text", "-\"exact text\""),
            ("label:two words", "label:\"two words\""),
            ("is:overdue chain:base", "is:overdue chain:base"),
            ("base age>30m", "base age>30m"),
            ("\"exact text\" base", "\"exact text\" base"),
            ("/two words/", "/two words/"),
            ("status:ongoing base", "status:ongoing base"),
        ];
        for (argument, term) in table {
            assert_eq!(as_term(argument).as_deref(), Some(term));
        }
        assert_eq!(as_term("  "), None);
        assert!(run(&mut three(), &args(&["label:two words"])).0.ends_with("1 shown of 3\n"));
    }

    #[test]
    fn options_may_stand_behind_the_filter_and_a_negated_term_behind_two_dashes() {
        #[derive(clap::Parser)]
        struct Line {
            #[command(flatten)]
            list: ListArgs,
        }
        let parse = |line: &str| <Line as clap::Parser>::try_parse_from(line.split(' ')).unwrap().list;
        let read = parse("list is:overdue --json chain:base --limit 3");
        assert_eq!((read.filter.len(), read.json, read.limit), (2, true, Some(3)));
        assert_eq!(parse("list --json -- -chain:base").filter, ["-chain:base"]);
    }

    #[test]
    fn wide_text_is_cut_by_its_width() {
        assert_eq!(width::cut("重要重要", 8, "…"), "重要重要");
        assert_eq!(width::cut("重要重要x", 8, "..."), "重要...");
    }
}
