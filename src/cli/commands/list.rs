//! `hoptop list`: prints tracked transactions, as a table for people or as JSON for scripts.
//!
//! The command must never hide transactions silently: the table ends with the counts of the transactions that the
//! filter and the limit leave out.

use std::io::{self, Write};

use chrono::{DateTime, Utc};
use clap::Args;
use clap_complete::ArgValueCompleter;
use color_eyre::eyre::{Report, Result};
use unicode_width::UnicodeWidthStr;

use crate::{
    cli::{
        completers,
        context::Context,
        output::table::{TableColumn, TableWriter},
    },
    domain::{
        alert::Alert,
        filter::{self, Filter, FilterError},
        settled_duration, text,
        transaction::Transaction,
    },
    presentation::{glyphs::Glyphs, row_text, width},
    runtime::exit::Exit,
};

/// The filter keys whose values are free text and may contain blanks.
const TEXT_KEYS: [&str; 7] = ["label", "ticket", "chain", "from", "to", "profile", "by"];
const COLUMNS: [TableColumn; 8] = [
    ("SEV", false),
    ("STATUS", false),
    ("TX", false),
    ("ROUTE", false),
    ("AGE", true),
    ("DUE", true),
    ("TICKET", false),
    ("CHECKED", true),
];
/// The maximum width, in columns, of a status, a ticket or a label in the table.
const MAX_WIDTH: usize = 24;

/// The text below the options in the help.
pub(crate) const EXAMPLES: &str = "\
Examples:
  # All transactions, the most urgent first
  hoptop list
  # Those that need attention in a batch
  hoptop list is:attention label:batch-17
  # Count the ongoing transactions
  hoptop list status:ongoing --json | jq length";

/// The arguments of `hoptop list`.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ListArgs {
    /// Filter terms that must all match, such as `is:overdue`, `chain:base`, `age>30m` or a part of a hash; write `--`
    /// before a term that starts with `-`
    #[arg(add = ArgValueCompleter::new(completers::filters))]
    pub filter: Vec<String>,
    /// Print a JSON array with one transaction per line
    #[arg(long)]
    pub json: bool,
    /// Print at most this many transactions
    #[arg(long, value_name = "N")]
    pub limit: Option<usize>,
}

/// Prints the transactions that match the filter, in the filter's order.
pub(crate) fn list(args: &ListArgs, cx: &mut Context) -> Result<Exit> {
    let Some(filter) = read_filter(&args.filter, cx.store.author().as_deref(), cx.err)? else { return Ok(Exit::Usage) };
    let now = cx.now.wall;
    let reader = cx.store.reader()?;
    let rows = reader.listing(&filter, now).all()?;
    let shown = rows.get(..args.limit.unwrap_or(usize::MAX).min(rows.len())).unwrap_or_default();
    if args.json {
        cx.print_json(&reader, shown)?;
    } else if rows.is_empty() && reader.listing(&Filter::everything(), now).count()? == 0 {
        writeln!(
            cx.out,
            "nothing is tracked yet; add one with `hoptop add TX --from CHAIN --to CHAIN --quote-id ID`, many with \
             `hoptop import FILE`"
        )?;
    } else {
        if cx.is_in_words {
            reader.for_each_row(shown, |tx, alerts| {
                Ok::<_, Report>(writeln!(cx.out, "{}", row_text::row_in_words(tx, alerts, now))?)
            })?;
        } else {
            let mut table = TableWriter::new(COLUMNS, cx.out);
            reader.for_each_row(shown, |tx, alerts| {
                Ok::<_, Report>(table.push(table_row(tx, alerts, now, cx.ellipsis))?)
            })?;
            table.end()?;
        }
        let more = match rows.len() - shown.len() {
            0 => String::new(),
            more => format!("; {more} more match, beyond --limit"),
        };
        writeln!(cx.out, "{} shown of {}{more}", shown.len(), reader.listing(&Filter::everything(), now).count()?)?;
    }
    Ok(Exit::Success)
}

/// Returns the filter that the arguments form for a person with this name. If it is invalid, prints the wrong term to
/// `err` and returns `None`; the command then ends with [`Exit::Usage`].
pub(crate) fn read_filter(
    arguments: &[String],
    person: Option<&str>,
    err: &mut dyn Write,
) -> io::Result<Option<Filter>> {
    let text = filter_text(arguments);
    match Filter::parse_for_person(&text, person) {
        Ok(filter) => Ok(Some(filter)),
        Err(error) => {
            print_filter_error(&text, &error, err)?;
            Ok(None)
        }
    }
}

/// Returns the filter that the arguments form. If there are several, one that contains `or` is put into parentheses,
/// because all arguments must match.
pub(crate) fn filter_text(arguments: &[String]) -> String {
    let mut terms: Vec<String> = arguments.iter().filter_map(|argument| as_term(argument)).collect();
    if terms.len() > 1 {
        for term in &mut terms {
            // A part of a filter, such as `or`, isn't valid alone, and stays as it is.
            if let Ok(group) = filter::group_alternatives(term) {
                *term = group;
            }
        }
    }
    terms.join(" ")
}

/// Returns an argument in the filter's grammar. The shell has removed quotation marks, so an argument with blanks gets
/// them again: all of `exact text`, but only the value of `label:two words`. An argument with several terms, such as
/// `is:overdue chain:base` or `0x9f3c41 or SUP-1`, or with quotation marks of its own stays unchanged. In a value that is
/// text, `or` alone is a word of the text: `label:now or never`, but not in `label:a or label:b`.
fn as_term(argument: &str) -> Option<String> {
    let argument = argument.trim();
    let (sign, body) = argument.strip_prefix('-').map_or(("", argument), |body| ("-", body));
    let has_marks = body.contains('"') || body.starts_with('/');
    let mut words = body.split_whitespace();
    let first = words.next().unwrap_or_default();
    let key = parse_key(first);
    let is_text = key.is_some_and(|key| TEXT_KEYS.contains(&key));
    // The filter's parser names the mistake in `age > 30m`.
    let is_measure = ["age", "due", "checked"].iter().any(|measure| first.eq_ignore_ascii_case(measure));
    let is_comparison = is_measure && words.clone().next().is_some_and(|word| word.starts_with(['<', '>']));
    let joins_terms = |word: &str| !is_text && word.eq_ignore_ascii_case("or") || parse_key(word).is_some();
    if argument.is_empty() {
        return None;
    }
    if has_marks || is_comparison || !body.contains(char::is_whitespace) || words.any(joins_terms) {
        return Some(argument.to_owned());
    }
    Some(match (key, body.split_once(':')) {
        (None, _) => format!("{sign}\"{body}\""),
        (Some(key), Some((_, value))) if is_text => format!("{sign}{key}:\"{value}\""),
        _ => argument.to_owned(),
    })
}

/// Returns the key at the start of a word: letters, followed by `:`, `<` or `>`.
fn parse_key(word: &str) -> Option<&str> {
    let word = word.strip_prefix('-').unwrap_or(word);
    let (key, rest) = word.split_at_checked(word.find(|letter: char| !letter.is_ascii_alphabetic())?)?;
    (!key.is_empty() && rest.starts_with([':', '<', '>'])).then_some(key)
}

fn print_filter_error(text: &str, error: &FilterError, err: &mut dyn Write) -> io::Result<()> {
    writeln!(err, "invalid filter: {}", error.message)?;
    let (Some(before), Some(wrong)) = (text.get(..error.at.start), text.get(error.at.clone())) else { return Ok(()) };
    // The marks would be misplaced below a text that must be cleaned first.
    if text::clean(text) == text {
        writeln!(err, "  {text}")?;
        writeln!(err, "  {}{}", " ".repeat(before.width()), "^".repeat(wrong.width().max(1)))?;
    }
    Ok(())
}

fn table_row(tx: &Transaction, alerts: &[Alert], now: DateTime<Utc>, ellipsis: &str) -> [String; 8] {
    [
        row_text::urgency_mark(alerts).into(),
        width::cut(&row_text::list_status_cell(tx, Glyphs::Ascii), MAX_WIDTH, ellipsis),
        tx.params.transaction_id.short(ellipsis),
        row_text::route(tx, Glyphs::Ascii),
        settled_duration::short_age(tx, now),
        row_text::due(tx, now),
        width::cut(row_text::ticket_or_label_cell(tx).as_deref().unwrap_or("-"), MAX_WIDTH, ellipsis),
        row_text::checked(tx, now),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        cli::context::testing::{CommandFixture, parse},
        domain::{fixtures, status::RouterStatus},
    };

    fn args(filter: &[&str]) -> ListArgs {
        ListArgs { filter: filter.iter().map(|term| (*term).into()).collect(), json: false, limit: None }
    }

    fn run(fixture: &mut CommandFixture, args: &ListArgs) -> (String, String, Exit) {
        let (out, err, exit) = fixture.run(|cx| list(args, cx));
        (out, err, exit.unwrap())
    }

    /// Returns a store with an ongoing transaction that has a wide ticket, a partial one, and one that was never
    /// polled.
    fn bench_with_three_transactions() -> CommandFixture {
        let fixture = CommandFixture::new();
        let mut new = fixtures::new(1);
        new.params.ticket = Some("SUP-4412 重要".into());
        new.labels = vec!["two words".into()];
        fixture.observe(fixture.track(new), fixtures::says(RouterStatus::Ongoing), 48);
        fixture.observe(fixture.track(fixtures::new(2)), fixtures::says(RouterStatus::PartialSuccess), 20);
        fixture.track(fixtures::new(3));
        fixture
    }

    #[test]
    fn list_for_screen_readers_has_sentences() {
        let mut fixture = bench_with_three_transactions();
        fixture.is_in_words = true;
        let (out, ..) = run(&mut fixture, &args(&["-status:none"]));
        let expected = "\
critical: partial_success, 0x0000...0002 Arbitrum to Base, settled 20s after it was first seen, checked 40s ago
no alert: ongoing, 0x0000...0001 Arbitrum to Base, ticket SUP-4412 重要, 1m old, due in 14m, checked 12s ago
2 shown of 3
";
        assert_eq!(out, expected);
    }

    #[test]
    fn table_is_aligned_and_most_urgent_transactions_come_first() {
        let mut fixture = bench_with_three_transactions();
        let (out, err, exit) = run(&mut fixture, &args(&[]));
        assert_eq!((err.as_str(), exit), ("", Exit::Success));
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
    fn hidden_transactions_are_counted() {
        let mut fixture = bench_with_three_transactions();
        let (out, ..) = run(&mut fixture, &args(&["is:unsettled"]));
        assert!(out.ends_with("2 shown of 3\n"), "{out}");
        let (out, ..) = run(&mut fixture, &ListArgs { limit: Some(1), ..args(&[]) });
        assert!(out.ends_with("1 shown of 3; 2 more match, beyond --limit\n"), "{out}");
        assert_eq!(run(&mut fixture, &args(&["nowhere"])).0, "0 shown of 3\n");
    }

    #[test]
    fn json_is_an_array_with_one_transaction_per_line() {
        let mut fixture = bench_with_three_transactions();
        let json = ListArgs { json: true, ..args(&["sort:hash"]) };
        let (out, ..) = run(&mut fixture, &json);
        let read: Vec<serde_json::Value> = serde_json::from_str(&out).unwrap();
        assert_eq!((read.len(), out.lines().count()), (3, 5));
        assert_eq!((&read[1]["status"], &read[1]["alerts"][0]), (&"partial_success".into(), &"partial_success".into()));
        let nothing = ListArgs { filter: vec!["nowhere".into()], ..json };
        assert_eq!(run(&mut fixture, &nothing).0, "[]\n");
    }

    #[test]
    fn empty_list_explains_how_to_add_transactions() {
        let (out, _, exit) = run(&mut CommandFixture::new(), &args(&[]));
        assert!(out.contains("hoptop add TX") && out.contains("hoptop import FILE"), "{out}");
        assert_eq!(exit, Exit::Success);
    }

    #[test]
    fn invalid_term_is_marked() {
        let (out, err, exit) = run(&mut bench_with_three_transactions(), &args(&["chain:base", "is:overdu"]));
        assert_eq!((out.as_str(), exit), ("", Exit::Usage));
        let lines: Vec<_> = err.lines().collect();
        assert!(lines[0].contains("`overdu` is unknown") && lines[0].contains("did you mean `overdue`?"), "{err}");
        assert_eq!(lines[1..], ["  chain:base is:overdu", "                ^^^^^^"]);
        let (_, err, _) = run(&mut bench_with_three_transactions(), &args(&["is:\u{1b}[31m"]));
        assert!(!err.contains('\u{1b}') && err.lines().count() == 1, "{err:?}");
    }

    #[test]
    fn argument_with_blanks_is_quoted_again() {
        let table = [
            ("is:overdue", "is:overdue"),
            ("exact text", "\"exact text\""),
            ("-exact text", "-\"exact text\""),
            ("label:two words", "label:\"two words\""),
            ("is:overdue chain:base", "is:overdue chain:base"),
            ("base age>30m", "base age>30m"),
            ("\"exact text\" base", "\"exact text\" base"),
            ("/two words/", "/two words/"),
            ("0x9f3c41 or SUP-1", "0x9f3c41 or SUP-1"),
            ("label:two or three", "label:\"two or three\""),
            ("status:ongoing base", "status:ongoing base"),
            ("age > 1h", "age > 1h"),
            ("Due< 1h", "Due< 1h"),
            ("age of empires", "\"age of empires\""),
        ];
        for (argument, term) in table {
            assert_eq!(as_term(argument).as_deref(), Some(term));
        }
        assert_eq!(as_term("  "), None);
        let read = |arguments: &[&str]| {
            let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
            filter_text(&arguments)
        };
        assert_eq!(read(&["0xa or 0xb"]), "0xa or 0xb");
        assert_eq!(read(&["0xa or 0xb", "is:overdue"]), "(0xa or 0xb) is:overdue");
        assert_eq!(read(&["0xa or 0xb sort:age", "is:overdue"]), "(0xa or 0xb) sort:age is:overdue");
        assert_eq!(read(&["\"a sort:age b\" or 0xb", "is:overdue"]), "(\"a sort:age b\" or 0xb) is:overdue");
        assert_eq!(read(&["0xa", "or", "0xb"]), "0xa or 0xb");
        // A word keeps the `)` whose `(` is inside of it.
        assert_eq!(read(&["0xa or foo(bar", "is:overdue"]), "(0xa or foo(bar ) is:overdue");
        assert_eq!(read(&["/a or b/", "is:overdue"]), "/a or b/ is:overdue");
        assert!(run(&mut bench_with_three_transactions(), &args(&["label:two words"])).0.ends_with("1 shown of 3\n"));
    }

    #[test]
    fn options_may_follow_the_filter_and_negated_terms_follow_two_dashes() {
        let read: ListArgs = parse(&["list", "is:overdue", "--json", "chain:base", "--limit", "3"]).unwrap();
        assert_eq!((read.filter.len(), read.json, read.limit), (2, true, Some(3)));
        assert_eq!(parse::<ListArgs>(&["list", "--json", "--", "-chain:base"]).unwrap().filter, ["-chain:base"]);
    }

    #[test]
    fn wide_text_is_cut_by_its_display_width() {
        assert_eq!(width::cut("重要重要", 8, "…"), "重要重要");
        assert_eq!(width::cut("重要重要x", 8, "..."), "重要...");
    }
}
