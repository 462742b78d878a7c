//! `hoptop show`: prints one transaction in full, with its history.
//!
//! The command must never print a response body to a terminal without cleaning it.

use std::io::{self, Write};

use chrono::{DateTime, FixedOffset, Utc};
use clap::Args;
use clap_complete::ArgValueCompleter;
use serde::Serialize;

use crate::{
    cli::{
        completers,
        context::Context,
        output::json::{HistoryView, TransactionView},
    },
    clock::Now,
    domain::{
        advice,
        alert::{Alert, AlertState},
        chain_config::ChainConfig,
        difference,
        ids::{ChainId, TxHash},
        observation::KEPT_OF_LARGE_BODY,
        record::{RouteStep, StatusRecord},
        route::{self, RouteKind, TransferEnd, TransferEnds},
        span, text,
        transaction::{Tracking, Transaction},
    },
    presentation::{glyphs::Glyphs, row_text},
    runtime::exit::Exit,
    store::{AlertQuery, HistoryLine, Reader, StoredBody},
};

/// The text below the options in the help.
pub(crate) const EXAMPLES: &str = "\
Examples:
  # One transaction with its history
  hoptop show 0x9f3c41
  # The same for scripts, found by its ticket
  hoptop show SUP-4412 --json
  # The last response body, unchanged
  hoptop show 0x9f3c41 --raw";

/// The arguments of `hoptop show`.
#[derive(Args, Clone, Debug)]
pub struct ShowArgs {
    /// A transaction, by its hash, six or more characters of it, a URL with it, a ticket, a quote or request ID, or the
    /// address of the sender
    #[arg(value_name = "TX", add = ArgValueCompleter::new(completers::transactions))]
    pub transaction: String,
    /// Print JSON, with notes and history
    #[arg(long, conflicts_with = "raw")]
    pub json: bool,
    /// Print the last response body unchanged
    #[arg(long)]
    pub raw: bool,
    /// Print the response body of one answer unchanged, by the answer's number in the history
    #[arg(long, value_name = "ANSWER", conflicts_with_all = ["json", "raw"])]
    pub body: Option<i64>,
}

/// Prints the transaction, or one response body.
pub fn show(args: &ShowArgs, cx: &mut Context) -> color_eyre::Result<Exit> {
    let Some(tx) = cx.find(&args.transaction)? else { return Ok(Exit::Error) };
    if args.raw {
        return print_last_body(&tx, cx);
    }
    if let Some(answer) = args.body {
        return print_body_of_answer(&tx, answer, cx);
    }
    let reader = cx.store.reader()?;
    let history = reader.history(tx.id)?;
    let alerts = reader.alerts(AlertQuery::OfTransaction(tx.id))?;
    if args.json {
        let view = ShowView {
            transaction: TransactionView::new(&tx, &alerts, cx.now.wall),
            history: history.iter().map(HistoryView::from).collect(),
            chains: load_chains(&tx, &reader)?,
        };
        writeln!(cx.out, "{}", serde_json::to_string(&view)?)?;
        return Ok(Exit::Success);
    }
    let mut page = TransactionPage { tx: &tx, now: cx.now, zone: cx.zone, out: &mut *cx.out };
    page.write_verdict()?;
    page.write_ends()?;
    page.write_chains(&reader)?;
    page.write_record()?;
    page.write_params()?;
    page.write_labels_and_alerts(&alerts)?;
    page.write_history(&history)?;
    Ok(Exit::Success)
}

fn print_last_body(tx: &Transaction, cx: &mut Context) -> color_eyre::Result<Exit> {
    let hash = &tx.params.transaction_id;
    let missing = match tx.state.last_checked_at {
        None => format!("no response body for {hash} yet; `hoptop check` polls it now"),
        Some(_) => format!(
            "there is no response body for {hash}: none was received, it was deleted (see the history), or only a \
             snapshot of the team's store has it"
        ),
    };
    print_body(cx.store.reader()?.last_body(tx.id)?, &missing, cx)
}

/// Prints the body of one answer about this transaction.
fn print_body_of_answer(tx: &Transaction, answer: i64, cx: &mut Context) -> color_eyre::Result<Exit> {
    let (reader, hash) = (cx.store.reader()?, &tx.params.transaction_id);
    if !reader.answers(tx.id)?.iter().any(|own| own.id == answer) {
        writeln!(cx.err, "{answer} is not the number of an answer about {hash}; the history lists the numbers")?;
        return Ok(Exit::Error);
    }
    let missing = format!(
        "there is no response body for answer {answer}: none was received, it was deleted, or only a snapshot of the \
         team's store has it"
    );
    print_body(reader.body(answer)?, &missing, cx)
}

/// Prints a response body, or the sentence `missing` if there is none.
fn print_body(stored: Option<StoredBody>, missing: &str, cx: &mut Context) -> color_eyre::Result<Exit> {
    let Some(body) = stored.map(|body| cx.store.body_text(body)).transpose()?.flatten() else {
        writeln!(cx.err, "{missing}")?;
        return Ok(Exit::Error);
    };
    if cx.out_is_terminal {
        for line in body.lines() {
            writeln!(cx.out, "{}", clean_line(line))?;
        }
    } else {
        cx.out.write_all(body.as_bytes())?;
    }
    // A cut body is up to three bytes shorter than the limit, because the cut is between two characters.
    if (KEPT_OF_LARGE_BODY - 3..=KEPT_OF_LARGE_BODY).contains(&body.len()) {
        writeln!(cx.err, "hoptop keeps only the first 64 KiB of a body that is larger than 1 MiB")?;
    }
    if body.contains('\u{fffd}') {
        writeln!(cx.err, "U+FFFD in the body may stand for bytes that aren't UTF-8")?;
    }
    Ok(Exit::Success)
}

/// Returns a line cleaned for a terminal, in full length and with its indentation.
fn clean_line(line: &str) -> String {
    /// The number of characters cleaned at once; below the limit at which `text::clean` cuts.
    const CHUNK: usize = 400;
    let rest = line.trim_start_matches([' ', '\t']);
    let mut safe = " ".repeat(line.len() - rest.len());
    let characters: Vec<char> = rest.chars().collect();
    for chunk in characters.chunks(CHUNK) {
        // The letters at both ends keep `clean` from trimming blanks; they are removed again.
        let guarded = text::clean(&format!("x{}x", chunk.iter().collect::<String>()));
        safe.push_str(guarded.strip_prefix('x').and_then(|text| text.strip_suffix('x')).unwrap_or_default());
    }
    safe
}

#[derive(Serialize)]
struct ShowView<'a> {
    #[serde(flatten)]
    transaction: TransactionView<'a>,
    history: Vec<HistoryView<'a>>,
    /// The service's data on the two chains, source first.
    chains: Vec<ChainConfig>,
}

/// Loads the service's data on the two chains, source first; once if source and destination are the same chain.
fn load_chains(tx: &Transaction, reader: &Reader) -> color_eyre::Result<Vec<ChainConfig>> {
    let (from, to) = (&tx.params.from_chain, &tx.params.to_chain);
    let ends = std::iter::once(from).chain((to != from).then_some(to));
    let found = ends.filter_map(|id| reader.chain(&tx.profile, id).transpose());
    Ok(found.collect::<Result<_, _>>()?)
}

/// The page for people, section by section.
struct TransactionPage<'a> {
    tx: &'a Transaction,
    now: Now,
    zone: FixedOffset,
    out: &'a mut dyn Write,
}

impl TransactionPage<'_> {
    fn write_field(&mut self, label: &str, value: &str) -> io::Result<()> {
        writeln!(self.out, "{label:<14}{value}")
    }

    fn write_optional(&mut self, label: &str, value: Option<&str>) -> io::Result<()> {
        value.map_or(Ok(()), |value| self.write_field(label, value))
    }

    fn clock_time(&self, at: DateTime<Utc>) -> String {
        span::clock_time(at, self.now.wall, self.zone)
    }

    fn write_verdict(&mut self) -> io::Result<()> {
        let tx = self.tx;
        let advice = advice::advise(tx, self.now.wall, self.zone);
        writeln!(self.out, "{}\n", tx.params.transaction_id)?;
        let checked = tx
            .state
            .last_checked_at
            .map_or_else(String::new, |at| format!("; checked {} ago", span::long(span::between(at, self.now.wall))));
        self.write_field("VERDICT", &format!("{}{checked}", advice.verdict))?;
        self.write_optional("CHAIN", advice.chain.as_deref())?;
        self.write_field("SAY", &advice.say)?;
        self.write_field("DO", &advice.act)
    }

    fn write_ends(&mut self) -> io::Result<()> {
        let tx = self.tx;
        let TransferEnds { source, destination, hop } = route::ends(tx);
        self.write_end("SOURCE", &source)?;
        self.write_end("DESTINATION", &destination)?;
        // An intermediate hop must not be shown as the destination.
        let Some(hop) = hop else { return Ok(()) };
        self.write_end("HOP", &hop)?;
        let note = match route::other_destination(tx) {
            None => "the service gives this as the destination; the last step is the real end",
            Some(_) => "the service gives this as the destination, and no later step",
        };
        self.write_field("  note", note)
    }

    fn write_end(&mut self, label: &str, end: &TransferEnd<'_>) -> io::Result<()> {
        writeln!(self.out)?;
        self.write_field(label, &name_with_id(&route::name_of(self.tx, end.chain), end.chain))?;
        self.write_field("  tx", end.transaction_id.map_or("(none yet)", TxHash::as_str))?;
        let block = end.block_number.map(|block| block.to_string());
        self.write_field("  block", block.as_deref().unwrap_or("(none yet)"))?;
        self.write_field("  event", text_or_placeholder(end.call_event_status))?;
        for entry in end.call_event_log {
            self.write_field("  event log", entry)?;
        }
        self.write_optional("  link", end.url)
    }

    /// Writes the service's data on the two chains.
    fn write_chains(&mut self, reader: &Reader) -> color_eyre::Result<()> {
        let mut is_first = true;
        for config in load_chains(self.tx, reader)? {
            let (name, sentence) = (name_with_id(&route::name_of(self.tx, &config.id), &config.id), config.sentence());
            if !sentence.is_empty() {
                if std::mem::take(&mut is_first) {
                    writeln!(self.out)?;
                }
                self.write_field("chain", &format!("{name}: {sentence}"))?;
            }
        }
        Ok(())
    }

    fn write_record(&mut self) -> io::Result<()> {
        let state = &self.tx.state;
        let since = state.status_since.map_or_else(String::new, |at| format!(", since {}", self.clock_time(at)));
        writeln!(self.out)?;
        self.write_field("status", &format!("{}{since}", row_text::transaction_status_cell(self.tx, Glyphs::Ascii)))?;
        self.write_optional("message", state.message.as_deref())?;
        if let Some(record) = &self.tx.record {
            self.write_answer(record)?;
        }
        self.write_optional("last error", state.last_error.as_deref())?;
        if let Tracking::Parked(reason) = &self.tx.tracking {
            self.write_field("parked", &format!("not polled: {reason}"))?;
        }
        Ok(())
    }

    fn write_answer(&mut self, record: &StatusRecord) -> io::Result<()> {
        self.write_field("bridge says", text_or_placeholder(record.bridge_status.as_deref()))?;
        self.write_field("gas", text_or_placeholder(record.gas_status.as_deref()))?;
        self.write_optional("route", route::kind(self.tx).map(RouteKind::label))?;
        self.write_optional("  odd", self.tx.damage_warning())?;
        self.write_optional("  odd", route::contradiction(self.tx).as_deref())?;
        self.write_optional("GMP", record.is_gmp.map(|gmp| if gmp { "yes" } else { "no" }))?;
        self.write_optional("bridge link", record.bridge_url.as_deref().filter(|url| !url.is_empty()))?;
        for (index, step) in record.steps.iter().enumerate() {
            let label = format!("step {}", index + 1);
            self.write_field(&label, &step_text(self.tx, step))?;
        }
        if let Some(times) = record.time_spent_text() {
            self.write_field("timeSpent", &format!("{times} (unit not documented)"))?;
        }
        self.write_field("error", record.error.as_deref().unwrap_or("none"))?;
        self.write_optional("id", record.id.as_deref())?;
        self.write_optional("integrator", record.integrator.as_deref())?;
        for (key, value) in &record.other {
            self.write_field("other", &format!("{key} = {value}"))?;
        }
        record.warnings.iter().try_for_each(|warning| self.write_field("warning", warning))
    }

    fn write_params(&mut self) -> io::Result<()> {
        let tx = self.tx;
        let deadline = tx.deadline();
        let origin = match (deadline.is_from_first_seen, tx.is_submission_from_chain()) {
            (true, _) => " (first seen; the submission time is unknown)",
            (false, true) => " (block time)",
            (false, false) => "",
        };
        let (submitted, due) = (self.clock_time(deadline.submitted), self.clock_time(deadline.at));
        writeln!(self.out)?;
        self.write_field("submitted", &format!("{submitted}{origin}"))?;
        self.write_field("deadline", &format!("{due} ({})", deadline.basis()))?;
        self.write_field("quoteId", &tx.params.quote_id)?;
        self.write_optional("requestId", tx.request_id())?;
        self.write_optional("x-request-id", tx.response_ids.last().map(String::as_str))?;
        self.write_optional("fromAddress", tx.params.from_address.as_deref())?;
        self.write_field("profile", &text::clean(&tx.profile))?;
        self.write_optional("tracked by", tx.authors.tracked.as_deref().map(text::clean).as_deref())
    }

    fn write_labels_and_alerts(&mut self, alerts: &[Alert]) -> io::Result<()> {
        let tx = self.tx;
        self.write_optional("ticket", tx.params.ticket.as_deref())?;
        self.write_optional("labels", Some(tx.labels.join(", ")).filter(|labels| !labels.is_empty()).as_deref())?;
        tx.attributed_notes().try_for_each(|note| self.write_field("note", &note))?;
        let mut alerts: Vec<_> = alerts.iter().collect();
        alerts.sort_by_key(|alert| alert.rule);
        for alert in alerts {
            let mark = row_text::mark(Some(alert.rule.severity()));
            let since = self.clock_time(alert.raised_at);
            self.write_field(
                "alert",
                &format!("{mark} {} since {since}: {}", alert.rule, text::clean(&alert.message)),
            )?;
            if alert.is_flapping || alert.state(self.now.wall) != AlertState::Firing {
                self.write_field("  state", &row_text::alert_state(alert, self.now.wall, self.zone))?;
            }
        }
        Ok(())
    }

    fn write_history(&mut self, history: &[HistoryLine]) -> io::Result<()> {
        writeln!(
            self.out,
            "\nHISTORY (times are UTC{}; `--body N` prints the response body of answer [N])",
            self.now.wall.with_timezone(&self.zone).format("%:z")
        )?;
        for line in history {
            let at = line.at().with_timezone(&self.zone).format("%Y-%m-%d %H:%M:%S");
            let view = HistoryView::from(line);
            let number = match line {
                HistoryLine::Observation(answer, _) => format!("  [{}]", answer.id),
                HistoryLine::Change(_) => String::new(),
            };
            writeln!(self.out, "  {at}  {}{number}", view.text)?;
            for changed in view.changed {
                writeln!(self.out, "  {:19}    {}", "", changed.sentence())?;
            }
            if view.changed.len() == difference::MAX_DIFFERENCES {
                writeln!(self.out, "  {:19}    possibly more changes: --body prints the whole body", "")?;
            }
        }
        Ok(())
    }
}

/// Returns the service's text, or a placeholder if it is missing or empty.
fn text_or_placeholder(value: Option<&str>) -> &str {
    match value {
        None => "(none yet)",
        Some("") => "(empty)",
        Some(text) => text,
    }
}

/// Returns a chain's name followed by its ID, or the ID alone if it is the name.
fn name_with_id(name: &str, id: &ChainId) -> String {
    if name == id.as_str() { name.to_owned() } else { format!("{name} ({id})") }
}

fn step_text(tx: &Transaction, step: &RouteStep) -> String {
    let chain = step.chain_id.as_ref().map(|id| name_with_id(&route::name_of(tx, id), id));
    let hash = step.transaction_id.as_ref().map(|hash| hash.as_str());
    let parts = [step.status.as_deref(), step.action.as_deref(), chain.as_deref(), hash];
    parts.into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("  ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        cli::{
            commands::import::{ImportArgs, import},
            context::testing::{CommandFixture, parse},
        },
        domain::{
            fixtures,
            ids::RowId,
            observation::{Observation, RequestFailure, StatusOutcome},
            status::RouterStatus,
        },
    };

    fn args() -> ShowArgs {
        ShowArgs { transaction: format!("{:010}", 1), json: false, raw: false, body: None }
    }

    fn tracked_bench() -> (CommandFixture, RowId) {
        let fixture = CommandFixture::new();
        let mut new = fixtures::new(1);
        new.params.ticket = Some("SUP-1".into());
        new.labels = vec!["vip".into()];
        new.notes = vec!["user asked".into()];
        let row = fixture.track(new);
        (fixture, row)
    }

    fn run(fixture: &mut CommandFixture, args: &ShowArgs) -> (String, String, Exit) {
        let (out, err, exit) = fixture.run(|cx| show(args, cx));
        (out, err, exit.unwrap())
    }

    fn record() -> StatusRecord {
        let mut record = StatusRecord::bare(RouterStatus::Refund);
        record.bridge_status = Some("source_gateway_called".into());
        record.time_spent.insert("total".into(), 45.into());
        record.to.chain_id = Some(ChainId::new("10"));
        record.steps.push(RouteStep {
            action: Some("call".into()),
            status: Some("success".into()),
            ..RouteStep::default()
        });
        record.warnings.push("steps: not a list".into());
        record
    }

    fn with_body(body: &str) -> Observation {
        let answer = fixtures::answer(StatusOutcome::Record(Box::new(record())));
        Observation { body: Some(body.into()), ..answer }
    }

    #[test]
    fn page_without_an_answer_shows_the_parameters() {
        let (mut fixture, _) = tracked_bench();
        let (out, err, exit) = run(&mut fixture, &args());
        assert_eq!((err.as_str(), exit), ("", Exit::Success));
        for line in [
            "VERDICT       NOT CHECKED YET",
            "SOURCE        Arbitrum (42161)",
            "DESTINATION   Base (8453)",
            "  block       (none yet)",
            "status        . no answer",
            "submitted     22:13 UTC (first seen; the submission time is unknown)",
            "deadline      22:28 UTC (15m; no estimate is known)",
            "ticket        SUP-1",
            "note          user asked",
            "  2023-11-14 22:13:20  tracking started",
        ] {
            assert!(out.lines().any(|own| own == line), "{line}\n{out}");
        }
    }

    #[test]
    fn page_shows_the_whole_record_and_the_history() {
        let (mut fixture, row) = tracked_bench();
        fixture.observe(row, with_body("{}"), 10);
        fixture.observe(row, with_body("{}"), 15);
        fixture.observe(row, fixtures::fails(RequestFailure::Transport("reset".into())), 20);
        let (out, ..) = run(&mut fixture, &args());
        for line in [
            "bridge says   source_gateway_called",
            "gas           (none yet)",
            "step 1        success  call",
            "timeSpent     total 45 (unit not documented)",
            "error         none",
            "warning       steps: not a list",
            "last error    reset",
            "HOP           Optimism (10)",
            "  note        the service gives this as the destination; the last step is the real end",
            "  2023-11-14 22:13:30  answer: refund (HTTP 200), 2 times over 5s  [1]",
            "  2023-11-14 22:13:30  alert raised: refund (info)",
            "  2023-11-14 22:13:40  poll failed: reset",
        ] {
            assert!(out.lines().any(|own| own == line), "{line}\n{out}");
        }
        assert!(out.contains("alert         i refund since 22:13 UTC: "), "{out}");
    }

    #[test]
    fn json_adds_notes_and_history_to_the_transaction() {
        let (mut fixture, row) = tracked_bench();
        fixture.observe(row, with_body("{}"), 10);
        let (out, ..) = run(&mut fixture, &ShowArgs { json: true, ..args() });
        let json: serde_json::Value = serde_json::from_str(&out).unwrap();
        assert!(out.starts_with(r#"{"transactionId":"0x"#) && out.lines().count() == 1, "{out}");
        assert_eq!(out.matches("\"notes\":").count(), 1, "{out}");
        assert_eq!(
            (&json["notes"], &json["alerts"]),
            (&serde_json::json!(["user asked"]), &serde_json::json!(["refund"]))
        );
        let first = serde_json::json!(
            {"at": "2023-11-14T22:13:20.000Z", "kind": "imported", "text": "tracking started",
             "author": null, "answer": null, "changed": []}
        );
        assert_eq!(json["history"][0], first);
        assert_eq!(json["history"][1]["kind"], "answer");
    }

    #[test]
    fn raw_body_is_unchanged_and_cleaned_on_a_terminal() {
        let (mut fixture, row) = tracked_bench();
        let raw = ShowArgs { raw: true, ..args() };
        let (out, err, exit) = run(&mut fixture, &raw);
        assert_eq!((out.as_str(), exit), ("", Exit::Error));
        assert!(err.starts_with("no response body for 0x") && err.contains("hoptop check"), "{err}");
        let body = format!("{{\n  \"a\": \"\u{1b}]52;c;aGk=\u{7}\u{202e}b\"\n}}{}", "y".repeat(2_000));
        fixture.observe(row, with_body(&body), 10);
        assert_eq!(run(&mut fixture, &raw).0, body);
        fixture.observe(row, with_body(&"z".repeat(KEPT_OF_LARGE_BODY)), 20);
        assert_eq!(
            run(&mut fixture, &raw).1,
            "hoptop keeps only the first 64 KiB of a body that is larger than 1 MiB\n"
        );
        fixture.observe(row, with_body(&body), 30);
        fixture.is_terminal = true;
        let expected = format!("{{\n  \"a\": \"]52;c;aGk=b\"\n}}{}\n", "y".repeat(2_000));
        assert_eq!(run(&mut fixture, &raw).0, expected);
    }

    #[test]
    fn blank_at_the_end_of_a_chunk_is_kept() {
        let line = format!("\t{} tail", "z".repeat(399));
        assert_eq!(clean_line(&line), format!(" {} tail", "z".repeat(399)));
    }

    #[test]
    fn hostile_text_is_cleaned() {
        let fixture = &mut CommandFixture::new();
        let text = "transactionId,fromChainId,toChainId,quoteId,labels,note\n\
                    0xabcdef12,42161,8453,q,\u{1b}[31mred\u{202e},\u{9b}2Jnote\n";
        let file = ImportArgs { file: "-".into(), ..ImportArgs::default() };
        fixture.run(|cx| import(&file, &mut text.as_bytes(), cx)).2.unwrap();
        let (out, ..) = run(fixture, &ShowArgs { transaction: "abcdef".into(), ..args() });
        assert!(out.contains("labels        [31mred\nnote          2Jnote\n"), "{out:?}");
        assert!(out.chars().all(|letter| letter == '\n' || !letter.is_control()), "{out:?}");
    }

    #[test]
    fn json_and_raw_exclude_each_other() {
        assert!(parse::<ShowArgs>(&["show", "0xabcdef", "--raw"]).is_ok_and(|args| args.raw));
        assert!(parse::<ShowArgs>(&["show", "0xabcdef", "--raw", "--json"]).is_err());
    }

    #[test]
    fn unknown_transaction_is_an_error() {
        let (mut fixture, _) = tracked_bench();
        let (out, err, exit) = run(&mut fixture, &ShowArgs { transaction: "0xffffff".into(), ..args() });
        assert_eq!((out.as_str(), exit), ("", Exit::Error));
        assert!(err.contains("is not tracked"), "{err}");
    }
}
