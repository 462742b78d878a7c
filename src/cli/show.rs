//! `hoptop show`: one transaction, whole, with its history.
//!
//! It must never put the body that a service sent onto a terminal as it came.

use std::io::{self, Write};

use chrono::{DateTime, FixedOffset};
use clap::Args;
use clap_complete::ArgValueCompleter;
use serde::Serialize;

use super::{
    completions,
    context::Context,
    exit::Exit,
    json::{HistoryView, TransactionView},
};
use crate::{
    clock::Now,
    domain::{
        advice,
        alert::{Alert, AlertState},
        chain_config::ChainConfig,
        difference,
        ids::{ChainId, TxHash},
        record::{StatusRecord, Step},
        route::{self, End, Ends, RouteKind},
        row_text, span, text,
        transaction::{Tracking, Transaction},
    },
    store::{AlertQuery, HistoryLine, Reader},
};

/// Show one transaction.
#[derive(Args, Clone, Debug)]
pub struct ShowArgs {
    /// A hash, six or more characters of it that no other has, or a URL that contains it
    #[arg(value_name = "TX", add = ArgValueCompleter::new(completions::transactions))]
    pub transaction: String,
    /// Print it as JSON, with its notes and its history
    #[arg(long, conflicts_with = "raw")]
    pub json: bool,
    /// Print the last body as it came
    #[arg(long)]
    pub raw: bool,
    /// Print the body of one answer as it came, by its number in the history
    #[arg(long, value_name = "ANSWER", conflicts_with_all = ["json", "raw"])]
    pub body: Option<i64>,
}

/// Prints the transaction.
pub fn show(args: &ShowArgs, cx: &mut Context) -> color_eyre::Result<Exit> {
    let Some(tx) = cx.find(&args.transaction)? else { return Ok(Exit::Error) };
    if args.raw {
        return raw(&tx, cx);
    }
    if let Some(answer) = args.body {
        return body_of(&tx, answer, cx);
    }
    let reader = cx.store.reader()?;
    let history = reader.history(tx.id)?;
    let alerts = reader.alerts(AlertQuery::OfTransaction(tx.id))?;
    if args.json {
        let view = ShowView {
            transaction: TransactionView::new(&tx, &alerts, cx.now.wall),
            history: history.iter().map(HistoryView::from).collect(),
            chains: chains_of(&tx, &reader)?,
        };
        writeln!(cx.out, "{}", serde_json::to_string(&view)?)?;
        return Ok(Exit::Fine);
    }
    let mut page = Page { tx: &tx, now: cx.now, zone: cx.zone, out: &mut *cx.out };
    page.verdict()?;
    page.legs()?;
    page.chains(&reader)?;
    page.record()?;
    page.params()?;
    page.words(&alerts)?;
    page.history(&history)?;
    Ok(Exit::Fine)
}

fn raw(tx: &Transaction, cx: &mut Context) -> color_eyre::Result<Exit> {
    let Some(body) = cx.store.reader()?.last_body(tx.id)? else {
        let hash = &tx.params.transaction_id;
        match tx.state.last_checked_at {
            None => writeln!(cx.err, "no body has come for {hash} yet; `hoptop check` asks now")?,
            Some(_) => {
                writeln!(cx.err, "the store has no body for {hash}: none came, or they were dropped (see its history)")?
            }
        }
        return Ok(Exit::Error);
    };
    write_body(&body, cx)
}

/// Prints the body of one answer about this transaction.
fn body_of(tx: &Transaction, answer: i64, cx: &mut Context) -> color_eyre::Result<Exit> {
    let reader = cx.store.reader()?;
    let of_this = |line: &HistoryLine| matches!(line, HistoryLine::Observation(own, _) if own.id == answer);
    if !reader.history(tx.id)?.iter().any(of_this) {
        writeln!(cx.err, "{answer} is no answer about {}; its history has the numbers", tx.params.transaction_id)?;
        return Ok(Exit::Error);
    }
    match reader.body(answer)? {
        Some(body) => write_body(&body, cx),
        None => {
            writeln!(cx.err, "the store has no body of answer {answer}: none came, or it was dropped")?;
            Ok(Exit::Error)
        }
    }
}

fn write_body(body: &str, cx: &mut Context) -> color_eyre::Result<Exit> {
    if cx.out_is_terminal {
        for line in body.lines() {
            writeln!(cx.out, "{}", inert(line))?;
        }
    } else {
        cx.out.write_all(body.as_bytes())?;
    }
    Ok(Exit::Fine)
}

/// A line that is safe on a terminal, whole and with its indentation.
fn inert(line: &str) -> String {
    /// Less than the sanitiser cuts at.
    const PIECE: usize = 400;
    let rest = line.trim_start_matches([' ', '\t']);
    let mut safe = " ".repeat(line.len() - rest.len());
    let letters: Vec<char> = rest.chars().collect();
    for piece in letters.chunks(PIECE) {
        // Between two letters that are taken away again, blanks at the ends stay.
        let guarded = text::clean(&format!("x{}x", piece.iter().collect::<String>()));
        safe.push_str(guarded.strip_prefix('x').and_then(|text| text.strip_suffix('x')).unwrap_or_default());
    }
    safe
}

#[derive(Serialize)]
struct ShowView<'a> {
    #[serde(flatten)]
    transaction: TransactionView<'a>,
    history: Vec<HistoryView<'a>>,
    /// What the service said of the two chains, source first.
    chains: Vec<ChainConfig>,
}

/// What the service said of the two chains; of one chain for both ends once.
fn chains_of(tx: &Transaction, reader: &Reader) -> color_eyre::Result<Vec<ChainConfig>> {
    let (from, to) = (&tx.params.from_chain, &tx.params.to_chain);
    let ends = std::iter::once(from).chain((to != from).then_some(to));
    let found = ends.filter_map(|id| reader.chain(&tx.profile, id).transpose());
    Ok(found.collect::<Result<_, _>>()?)
}

/// The page for people, section by section.
struct Page<'a> {
    tx: &'a Transaction,
    now: Now,
    zone: FixedOffset,
    out: &'a mut dyn Write,
}

impl Page<'_> {
    fn field(&mut self, label: &str, value: &str) -> io::Result<()> {
        writeln!(self.out, "{label:<14}{value}")
    }

    fn optional(&mut self, label: &str, value: Option<&str>) -> io::Result<()> {
        value.map_or(Ok(()), |value| self.field(label, value))
    }

    fn clock(&self, at: DateTime<chrono::Utc>) -> String {
        span::clock_time(at, self.now.wall, self.zone)
    }

    fn verdict(&mut self) -> io::Result<()> {
        let tx = self.tx;
        let advice = advice::advise(tx, self.now.wall, self.zone);
        writeln!(self.out, "{}\n", tx.params.transaction_id)?;
        let checked = tx
            .state
            .last_checked_at
            .map_or_else(String::new, |at| format!("; checked {} ago", span::long(span::between(at, self.now.wall))));
        self.field("VERDICT", &format!("{}{checked}", advice.verdict))?;
        self.optional("SAY", advice.say.as_deref())?;
        self.field("DO", &advice.act)
    }

    fn legs(&mut self) -> io::Result<()> {
        let tx = self.tx;
        let Ends { source, destination, hop } = route::ends(tx);
        self.leg("SOURCE", &source)?;
        self.leg("DESTINATION", &destination)?;
        // It must not pass for the destination.
        let Some(hop) = hop else { return Ok(()) };
        self.leg("HOP", &hop)?;
        self.field("  note", "the service gives this as the destination; the last step is the real end")
    }

    fn leg(&mut self, label: &str, end: &End<'_>) -> io::Result<()> {
        writeln!(self.out)?;
        self.field(label, &with_id(&route::name_of(self.tx, end.chain), end.chain))?;
        self.field("  tx", end.transaction_id.map_or("(none yet)", TxHash::as_str))?;
        let block = end.block_number.map(|block| block.to_string());
        self.field("  block", block.as_deref().unwrap_or("(none yet)"))?;
        self.field("  event", verbatim(end.call_event_status))?;
        for entry in end.call_event_log {
            self.field("  event log", entry)?;
        }
        self.optional("  link", end.url)
    }

    /// What the service said of the two chains.
    fn chains(&mut self, reader: &Reader) -> color_eyre::Result<()> {
        writeln!(self.out)?;
        for config in chains_of(self.tx, reader)? {
            self.field(
                "chain",
                &format!("{}: {}", with_id(&route::name_of(self.tx, &config.id), &config.id), config.sentence()),
            )?;
        }
        Ok(())
    }

    fn record(&mut self) -> io::Result<()> {
        let state = &self.tx.state;
        let since = state.status_since.map_or_else(String::new, |at| format!(", since {}", self.clock(at)));
        writeln!(self.out)?;
        self.field("status", &format!("{}{since}", row_text::status_of(self.tx)))?;
        self.optional("message", state.message.as_deref())?;
        if let Some(record) = &state.record {
            self.answer(record)?;
        }
        self.optional("last error", state.last_error.as_deref())?;
        if let Tracking::Parked(reason) = &self.tx.tracking {
            self.field("parked", &format!("not polled: {reason}"))?;
        }
        Ok(())
    }

    fn answer(&mut self, record: &StatusRecord) -> io::Result<()> {
        self.field("bridge says", verbatim(record.bridge_status.as_deref()))?;
        self.field("gas", verbatim(record.gas_status.as_deref()))?;
        self.optional("route", route::kind(self.tx).map(RouteKind::words))?;
        self.optional("  odd", route::contradiction(self.tx).as_deref())?;
        self.optional("GMP", record.is_gmp.map(|gmp| if gmp { "yes" } else { "no" }))?;
        self.optional("bridge link", record.bridge_url.as_deref().filter(|url| !url.is_empty()))?;
        for (index, step) in record.steps.iter().enumerate() {
            let label = format!("step {}", index + 1);
            self.field(&label, &step_words(self.tx, step))?;
        }
        if let Some(times) = record.time_spent_words() {
            self.field("timeSpent", &format!("{times} (unit not documented)"))?;
        }
        self.field("error", record.error.as_deref().unwrap_or("none"))?;
        self.optional("id", record.id.as_deref())?;
        self.optional("integrator", record.integrator.as_deref())?;
        for (key, value) in &record.other {
            self.field("other", &format!("{key} = {value}"))?;
        }
        record.warnings.iter().try_for_each(|warning| self.field("warning", warning))
    }

    fn params(&mut self) -> io::Result<()> {
        let tx = self.tx;
        let deadline = tx.deadline();
        let stand_in = if deadline.from_first_seen { " (first seen; when it was submitted isn't known)" } else { "" };
        let (submitted, due) = (self.clock(deadline.submitted), self.clock(deadline.at));
        writeln!(self.out)?;
        self.field("submitted", &format!("{submitted}{stand_in}"))?;
        self.field("deadline", &format!("{due} ({})", deadline.basis()))?;
        self.field("quoteId", &tx.params.quote_id)?;
        self.optional("requestId", tx.request_id())?;
        self.optional("fromAddress", tx.params.from_address.as_deref())?;
        self.field("profile", &text::clean(&tx.profile))
    }

    fn words(&mut self, alerts: &[Alert]) -> io::Result<()> {
        let tx = self.tx;
        self.optional("ticket", tx.params.ticket.as_deref())?;
        self.optional("labels", Some(tx.labels.join(", ")).filter(|labels| !labels.is_empty()).as_deref())?;
        tx.notes.iter().try_for_each(|note| self.field("note", note))?;
        let mut alerts: Vec<_> = alerts.iter().collect();
        alerts.sort_by_key(|alert| alert.rule);
        for alert in alerts {
            let mark = row_text::mark(Some(alert.rule.severity()));
            let since = self.clock(alert.raised_at);
            self.field("alert", &format!("{mark} {} since {since}: {}", alert.rule, text::clean(&alert.message)))?;
            if alert.flapping || alert.state(self.now.wall) != AlertState::Firing {
                self.field("  state", &row_text::alert_state(alert, self.now.wall, self.zone))?;
            }
        }
        Ok(())
    }

    fn history(&mut self, history: &[HistoryLine]) -> io::Result<()> {
        writeln!(
            self.out,
            "\nHISTORY (times are UTC{}; --body prints what came with an answer, by its number in [ ])",
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
            if view.changed.len() == difference::MOST {
                writeln!(self.out, "  {:19}    and perhaps more: --body prints it whole", "")?;
            }
        }
        Ok(())
    }
}

/// What the service said, where an empty text is an answer too.
fn verbatim(value: Option<&str>) -> &str {
    match value {
        None => "(none yet)",
        Some("") => "(empty)",
        Some(text) => text,
    }
}

fn with_id(name: &str, id: &ChainId) -> String {
    if name == id.as_str() { name.to_owned() } else { format!("{name} ({id})") }
}

fn step_words(tx: &Transaction, step: &Step) -> String {
    let chain = step.chain_id.as_ref().map(|id| with_id(&route::name_of(tx, id), id));
    let hash = step.transaction_id.as_ref().map(|hash| hash.as_str());
    let parts = [step.status.as_deref(), step.action.as_deref(), chain.as_deref(), hash];
    parts.into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("  ")
}

#[cfg(test)]
mod tests {
    use super::{super::context::testing::Bench, *};
    use crate::domain::{
        fixtures,
        ids::RowId,
        observation::{Failure, Observation, Outcome},
        status::RouterStatus,
    };

    fn args() -> ShowArgs {
        ShowArgs { transaction: format!("{:010}", 1), json: false, raw: false, body: None }
    }

    fn tracked() -> (Bench, RowId) {
        let bench = Bench::new();
        let mut new = fixtures::new(1);
        new.params.ticket = Some("SUP-1".into());
        new.labels = vec!["vip".into()];
        new.notes = vec!["user asked".into()];
        let row = bench.track(new);
        (bench, row)
    }

    fn run(bench: &mut Bench, args: &ShowArgs) -> (String, String, Exit) {
        let (out, err, exit) = bench.run(|cx| show(args, cx));
        (out, err, exit.unwrap())
    }

    fn record() -> StatusRecord {
        let mut record = StatusRecord::bare(RouterStatus::Refund);
        record.bridge_status = Some("source_gateway_called".into());
        record.time_spent.insert("total".into(), 45.into());
        record.to.chain_id = Some(ChainId::new("10"));
        record.steps.push(Step { action: Some("call".into()), status: Some("success".into()), ..Step::default() });
        record.warnings.push("steps: not a list".into());
        record
    }

    fn with_body(body: &str) -> Observation {
        let answer = fixtures::answer(Outcome::Record(Box::new(record())));
        Observation { body: Some(body.into()), ..answer }
    }

    #[test]
    fn before_any_answer_it_says_what_is_known() {
        let (mut bench, _) = tracked();
        let (out, err, exit) = run(&mut bench, &args());
        assert_eq!((err.as_str(), exit), ("", Exit::Fine));
        for line in [
            "VERDICT       NOT ASKED YET",
            "SOURCE        Arbitrum (42161)",
            "DESTINATION   Base (8453)",
            "  block       (none yet)",
            "status        . no answer",
            "submitted     22:13 UTC (first seen; when it was submitted isn't known)",
            "deadline      22:28 UTC (15m; no estimate is known)",
            "ticket        SUP-1",
            "note          user asked",
            "  2023-11-14 22:13:20  tracked from now on",
        ] {
            assert!(out.lines().any(|own| own == line), "{line}\n{out}");
        }
    }

    #[test]
    fn a_record_is_shown_whole_with_its_history() {
        let (mut bench, row) = tracked();
        bench.hear(row, with_body("{}"), 10);
        bench.hear(row, with_body("{}"), 15);
        bench.hear(row, fixtures::fails(Failure::Transport("reset".into())), 20);
        let (out, ..) = run(&mut bench, &args());
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
        let (mut bench, row) = tracked();
        bench.hear(row, with_body("{}"), 10);
        let (out, ..) = run(&mut bench, &ShowArgs { json: true, ..args() });
        let json: serde_json::Value = serde_json::from_str(&out).unwrap();
        assert!(out.starts_with(r#"{"transactionId":"0x"#) && out.lines().count() == 1, "{out}");
        assert_eq!(out.matches("\"notes\":").count(), 1, "{out}");
        assert_eq!(
            (&json["notes"], &json["alerts"]),
            (&serde_json::json!(["user asked"]), &serde_json::json!(["refund"]))
        );
        let first = serde_json::json!(
            {"at": "2023-11-14T22:13:20.000Z", "kind": "imported", "text": "tracked from now on",
             "answer": null, "changed": []}
        );
        assert_eq!(json["history"][0], first);
        assert_eq!(json["history"][1]["kind"], "answer");
    }

    #[test]
    fn raw_is_as_it_came_and_inert_on_a_terminal() {
        let (mut bench, row) = tracked();
        let raw = ShowArgs { raw: true, ..args() };
        let (out, err, exit) = run(&mut bench, &raw);
        assert_eq!((out.as_str(), exit), ("", Exit::Error));
        assert!(err.starts_with("no body has come for 0x") && err.contains("hoptop check"), "{err}");
        let body = format!("{{\n  \"a\": \"\u{1b}]52;c;aGk=\u{7}\u{202e}b\"\n}}{}", "y".repeat(2_000));
        bench.hear(row, with_body(&body), 10);
        assert_eq!(run(&mut bench, &raw).0, body);
        bench.is_terminal = true;
        let expected = format!("{{\n  \"a\": \"]52;c;aGk=b\"\n}}{}\n", "y".repeat(2_000));
        assert_eq!(run(&mut bench, &raw).0, expected);
    }

    #[test]
    fn a_piece_s_end_keeps_its_blank() {
        let line = format!("\t{} tail", "z".repeat(399));
        assert_eq!(inert(&line), format!(" {} tail", "z".repeat(399)));
    }

    #[test]
    fn hostile_words_print_inert() {
        let bench = &mut Bench::new();
        let text = "transactionId,fromChainId,toChainId,quoteId,labels,note\n\
                    0xabcdef12,42161,8453,q,\u{1b}[31mred\u{202e},\u{9b}2Jnote\n";
        let file = super::super::import::ImportArgs {
            file: "-".into(),
            format: super::super::import::FormatArg::Auto,
            dry_run: false,
            follow: false,
            any_chain: false,
        };
        bench.run(|cx| super::super::import::import(&file, &mut text.as_bytes(), cx)).2.unwrap();
        let (out, ..) = run(bench, &ShowArgs { transaction: "abcdef".into(), ..args() });
        assert!(out.contains("labels        [31mred\nnote          2Jnote\n"), "{out:?}");
        assert!(out.chars().all(|letter| letter == '\n' || !letter.is_control()), "{out:?}");
    }

    #[test]
    fn json_and_raw_exclude_each_other() {
        #[derive(clap::Parser)]
        struct Line {
            #[command(flatten)]
            show: ShowArgs,
        }
        let parse =
            |options: &[&str]| <Line as clap::Parser>::try_parse_from([&["show", "0xabcdef"], options].concat());
        assert!(parse(&["--raw"]).is_ok_and(|line| line.show.raw));
        assert!(parse(&["--raw", "--json"]).is_err());
    }

    #[test]
    fn what_is_not_tracked_is_an_error() {
        let (mut bench, _) = tracked();
        let (out, err, exit) = run(&mut bench, &ShowArgs { transaction: "0xffffff".into(), ..args() });
        assert_eq!((out.as_str(), exit), ("", Exit::Error));
        assert!(err.contains("is not tracked"), "{err}");
    }
}
