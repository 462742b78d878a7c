use std::{fs, io};

use clap::Parser as _;
use proptest::prelude::*;

use super::{
    super::{
        context::testing::{Bench, at},
        import::{FormatArg, ImportArgs, import},
    },
    *,
};
use crate::domain::{
    fixtures,
    ids::{ChainId, TxHash},
    observation::{Observation, Outcome},
    record::StatusRecord,
    status::RouterStatus,
    text::{FIELD_LIMIT, clean, clean_or_none},
    transaction::{NewTransaction, Tracking, Transaction},
};
use crate::store::testing;
use crate::tui::export::{ExportOrder, Leaving};

fn args(format: ExportFormat) -> ExportArgs {
    ExportArgs { format: Some(format), ..ExportArgs::default() }
}

fn exported(bench: &mut Bench, args: &ExportArgs) -> (String, String, Exit) {
    let (out, err, exit) = bench.run(|cx| export(args, cx));
    (out, err, exit.unwrap())
}

fn imported(bench: &mut Bench, text: &str) -> (String, String) {
    let args = ImportArgs { file: "-".into(), format: FormatArg::Auto, dry_run: false, follow: false, any_chain: true };
    let (out, err, exit) = bench.run(|cx| import(&args, &mut text.as_bytes(), cx));
    exit.unwrap();
    (out, err)
}

/// A full one that has an answer, one that is overdue, and one of which nothing is known but the least.
fn three() -> Bench {
    let bench = Bench::new();
    let mut new = fixtures::new(1);
    new.params.ticket = Some("=HYPERLINK(\"x\")|pipe".into());
    new.params.estimate = Some(std::time::Duration::from_millis(1_500));
    new.params.submitted_at = Some(at(-3_000));
    new.params.from_address = Some("@from".into());
    (new.labels, new.notes) = (vec!["-vip".into(), "b".into()], vec!["+one".into(), "'=two".into()]);
    bench.hear(bench.track(new), fixtures::says(RouterStatus::Ongoing), 30);
    let mut untracked = fixtures::new(2);
    untracked.untracked = true;
    bench.track(untracked);
    bench.track_as("other", fixtures::new(3));
    bench
}

/// The parameters as the store keeps them.
fn params(bench: &Bench) -> Vec<(NewTransaction, Tracking)> {
    let params = |tx: Transaction| {
        let Transaction { params, labels, notes, first_seen_at, tracking, .. } = tx;
        let untracked = tracking == Tracking::Untracked;
        (NewTransaction { params, labels, notes, first_seen_at: Some(first_seen_at), untracked }, tracking)
    };
    bench.transactions().into_iter().map(params).collect()
}

#[test]
fn what_is_exported_imports_to_the_same_and_is_known_where_it_came_from() {
    for format in [ExportFormat::Ndjson, ExportFormat::Json, ExportFormat::Csv] {
        let mut bench = three();
        let (text, err, exit) = exported(&mut bench, &ExportArgs { filter: vec!["sort:hash".into()], ..args(format) });
        assert_eq!((err.as_str(), exit), ("", Exit::Fine));
        let mut fresh = Bench::new();
        let elsewhere = "warning: 1 row is of the profile other, and is tracked in default; --profile names the one to track them in\n";
        assert_eq!(imported(&mut fresh, &text), ("3 tracked, 0 updated, 0 known already\n".into(), elsewhere.into()));
        assert_eq!(params(&fresh), params(&bench), "{format:?}");
        let own = ExportArgs { filter: vec!["profile:default".into()], ..args(format) };
        let (text, ..) = exported(&mut bench, &own);
        let again = imported(&mut bench, &text);
        assert_eq!(again, ("0 tracked, 0 updated, 2 known already\n".into(), String::new()), "{format:?}");
    }
}

#[test]
fn a_request_id_of_the_service_that_was_cut_stands_in_no_import_s_way() {
    for format in [ExportFormat::Ndjson, ExportFormat::Csv] {
        let mut bench = Bench::new();
        let mut record = StatusRecord::bare(RouterStatus::Ongoing);
        record.request_id = Some(clean(&"r".repeat(600)));
        let outcome = Outcome::Record(Box::new(record));
        let answer = Observation { outcome, ..fixtures::says(RouterStatus::Ongoing) };
        bench.hear(bench.track(fixtures::new(1)), answer, 30);
        let (text, ..) = exported(&mut bench, &args(format));
        assert!(text.contains("rrr"), "{text}");
        assert_eq!(imported(&mut Bench::new(), &text).0, "1 tracked, 0 updated, 0 known already\n");
        assert_eq!(imported(&mut bench, &text).0, "0 tracked, 0 updated, 1 known already\n");
    }
}

#[test]
fn csv_starts_with_what_import_takes_and_nothing_in_it_acts() {
    let mut bench = three();
    let (out, ..) = exported(&mut bench, &ExportArgs { limit: Some(1), ..args(ExportFormat::Csv) });
    let start = "transactionId,fromChainId,toChainId,quoteId,requestId,estimatedRouteDuration,submittedAt,fromAddress,\
                 ticket,labels,notes,";
    assert!(out.starts_with(start), "{out}");
    let mut reader = csv::Reader::from_reader(out.as_bytes());
    let rows: Vec<_> = reader.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), 1);
    let found: Vec<&str> = rows[0].iter().skip(5).take(6).collect();
    let notes = "'+one\n'=two";
    assert_eq!(found, ["1.5", "2023-11-14T21:23:20.000Z", "'@from", "'=HYPERLINK(\"x\")|pipe", "'-vip;b", notes]);
    assert!(rows[0].iter().all(|cell| !cell.starts_with(['=', '+', '-', '@', '\t', '\r'])), "{rows:?}");
}

#[test]
fn markdown_is_a_table_that_nothing_breaks_out_of() {
    let mut bench = three();
    let (out, ..) = exported(&mut bench, &args(ExportFormat::Markdown));
    let hash = format!("0x{:064x}", 1);
    let row = format!(
        "| `{hash}` | Arbitrum to Base | ongoing | 51m | 2023-11-14 21:38:20 UTC | \
         \\=HYPERLINK(\"x\")\\|pipe | OVERDUE by 36m |"
    );
    assert!(out.lines().any(|line| line == row), "{out}");
    assert_eq!(out.lines().nth(1), Some("| --- | --- | --- | --- | --- | --- | --- |"));
    let cells = |line: &str| line.replace("\\|", "").matches('|').count();
    assert!(out.lines().count() == 5 && out.lines().all(|line| cells(line) == 8), "{out}");
}

#[test]
fn json_is_the_view_of_list_in_ascii() {
    let mut bench = three();
    let mut new = fixtures::new(4);
    new.params.ticket = Some("重要".into());
    bench.track(new);
    let (json, ..) = exported(&mut bench, &args(ExportFormat::Json));
    let list = list::ListArgs { json: true, ..Default::default() };
    let (listed, ..) = bench.run(|cx| list::list(&list, cx));
    let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    assert_eq!(read(&json), read(&listed));
    assert!(json.is_ascii() && json.lines().count() == 6, "{json}");
    let nothing = ExportArgs { filter: vec!["nowhere".into()], ..args(ExportFormat::Json) };
    assert_eq!(exported(&mut bench, &nothing).0, "[]\n");
    let wrong = ExportArgs { filter: vec!["is:overdu".into()], ..args(ExportFormat::Json) };
    assert_eq!(exported(&mut bench, &wrong).2, Exit::Usage);
}

#[test]
fn a_file_is_private_whole_and_of_the_format_that_its_name_says() {
    let mut bench = three();
    let path = bench.folder.path().join("all.MD");
    fs::write(&path, "what was there").unwrap();
    let to_file = ExportArgs { output: Some(path.to_str().unwrap().into()), ..ExportArgs::default() };
    let (out, err, exit) = exported(&mut bench, &to_file);
    assert_eq!((out.as_str(), exit), ("", Exit::Fine));
    assert_eq!(err, format!("3 transactions written to {}\n", path.display()));
    assert!(fs::read_to_string(&path).unwrap().starts_with("| Transaction |"));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
    assert_eq!(leftovers(&bench), 0);
    let formats = [("a.csv", Some(ExportFormat::Csv)), ("a.jsonl", Some(ExportFormat::Ndjson)), ("a.txt", None)];
    assert!(formats.iter().all(|(name, format)| ExportFormat::of(name) == *format));
}

fn leftovers(bench: &Bench) -> usize {
    let names = fs::read_dir(bench.folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
    names.filter(|name| name.to_str().unwrap().starts_with(".hoptop-export")).count()
}

#[test]
fn a_failing_write_and_a_signal_leave_the_earlier_file_as_it_was() {
    let mut bench = three();
    let path = bench.folder.path().join("all.csv");
    fs::write(&path, "what was there").unwrap();
    let folder = bench.folder.path().to_owned();
    let half = |mut file: &File| {
        file.write_all(b"half")?;
        Err(io::Error::from(io::ErrorKind::StorageFull).into())
    };
    assert!(beside((&path, &folder), DateTime::UNIX_EPOCH, half).is_err());
    assert_eq!((fs::read_to_string(&path).unwrap().as_str(), leftovers(&bench)), ("what was there", 0));
    let rows = Rows { filter: Filter::everything(), of: String::new(), format: ExportFormat::Csv, limit: None };
    let asked = std::cell::Cell::new(0);
    let second_time = || {
        asked.set(asked.get() + 1);
        (asked.get() == 2).then_some(Exit::Interrupted)
    };
    let (_, err, exit) = bench.run(|cx| {
        let now = cx.now.wall;
        let written = beside((&path, &folder), now, |half| fill(half, &rows, cx, &second_time));
        settle(written, "all.csv", cx)
    });
    assert_eq!(exit.unwrap(), Exit::Interrupted);
    assert!(err.starts_with("interrupted: ") && err.ends_with(" is as it was\n"), "{err}");
    assert_eq!((fs::read_to_string(&path).unwrap().as_str(), leftovers(&bench)), ("what was there", 0));
}

#[test]
fn a_target_that_is_no_file_is_said_or_written_into_but_never_replaced() {
    let mut bench = three();
    let to = |path: &str| ExportArgs { output: Some(path.into()), ..ExportArgs::default() };
    let said = |bench: &mut Bench, path: &str| {
        let (.., result) = bench.run(|cx| export(&to(path), cx));
        super::super::sentence(&result.unwrap_err())
    };
    let missing = said(&mut bench, "/no\u{1b}[31m/such/folder.csv");
    assert_eq!(missing, "/no[31m/such/folder.csv can't be written: there is no such folder; make it, or name another");
    let folder = bench.folder.path().to_str().unwrap().to_owned();
    assert!(said(&mut bench, &folder).ends_with("it is a folder; name a file in it"));
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        assert_eq!(exported(&mut bench, &to("/dev/null")).2, Exit::Fine);
        assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
        let (file, link) = (bench.folder.path().join("real.csv"), bench.folder.path().join("link.csv"));
        fs::write(&file, "").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        for _ in 0..2 {
            exported(&mut bench, &to(link.to_str().unwrap()));
            assert!(fs::symlink_metadata(&link).unwrap().is_symlink() && fs::metadata(&file).unwrap().len() > 0);
            // The second time it leads to what is not there yet.
            fs::remove_file(&file).unwrap();
        }
    }
}

#[test]
fn nothing_of_the_store_is_replaced() {
    let mut bench = three();
    let store = bench.store.path().to_owned();
    fs::create_dir(store.with_file_name("backups")).unwrap();
    let names = ["", "-wal", "-shm", ".presence", ".poller-default", ".damaged-20260101T000000Z"].map(|ending| {
        let mut name = store.clone().into_os_string();
        name.push(ending);
        name.into_string().unwrap()
    });
    let backup = store.with_file_name("backups").join("hoptop.db.20260101T000000Z.backup");
    let around = store.with_file_name("backups").join("../hoptop.db");
    let elsewhere = [backup, around].map(|path| path.into_os_string().into_string().unwrap());
    for output in names.into_iter().chain(elsewhere) {
        let length = || fs::metadata(&output).ok().map(|file| file.len());
        let before = length();
        let to = ExportArgs { output: Some(output.clone()), ..args(ExportFormat::Csv) };
        let (.., refused) = bench.run(|cx| export(&to, cx));
        let said = super::super::sentence(&refused.unwrap_err());
        assert!(said.ends_with("can't be written: it belongs to the store; name another file"), "{said}");
        assert_eq!(length(), before, "{output}");
    }
    assert_eq!(bench.transactions().len(), 3);
    let beside = format!("{}.csv", store.display());
    let to = ExportArgs { output: Some(beside), ..ExportArgs::default() };
    assert_eq!(exported(&mut bench, &to).2, Exit::Fine);
}

#[test]
fn the_options_are_read() {
    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        export: ExportArgs,
    }
    let read = Line::try_parse_from("export is:overdue --format ndjson -o out label:vip --limit 3".split(' ')).unwrap();
    let ExportArgs { filter, format, output, limit } = read.export;
    assert_eq!((filter.len(), format, output.as_deref(), limit), (2, Some(ExportFormat::Ndjson), Some("out"), Some(3)));
}

/// Hostile text, as it stands in the store: through the sanitiser, and shorter than what was cut.
fn words(most: usize) -> impl Strategy<Value = String> {
    let piece = prop_oneof![any::<String>(), "['=+@|;,\"\\\\-]{1,4}", "[a-z\u{301}重]{1,8}"];
    prop::collection::vec(piece, 1..4)
        .prop_map(move |pieces| clean(&pieces.concat().chars().take(most).collect::<String>()))
        .prop_filter("nothing is left", |text| !text.is_empty() && text.chars().count() < FIELD_LIMIT)
}

prop_compose! {
    fn transaction()(
        number in any::<u16>(),
        hash in "[!-~&&[^/]]{6,90}",
        quote_id in words(60),
        others in prop::collection::vec(prop::option::of(words(60)), 3),
        (labels, notes) in (prop::collection::vec(words(20), 0..4), prop::collection::vec(words(60), 0..4)),
        (estimate, submitted, seen) in (prop::option::of(0..600_000_000_u64), prop::option::of(0..4_000_000_000_000_i64), prop::option::of(-90_000..0_i64)),
        untracked in any::<bool>(),
    ) -> NewTransaction {
        let mut new = fixtures::new(number.into());
        new.params.transaction_id = TxHash::new(format!("{hash}{number}"));
        new.params.from_chain = ChainId::new(format!("chain-{}", number % 3));
        new.params.quote_id = quote_id;
        [new.params.request_id, new.params.from_address, new.params.ticket] = others.try_into().unwrap();
        new.params.estimate = estimate.map(std::time::Duration::from_millis);
        new.params.submitted_at = submitted.and_then(DateTime::from_timestamp_millis);
        new.labels = labels.iter().filter_map(|label| clean_or_none(&label.replace(';', ""))).collect();
        new.notes = notes;
        new.notes.dedup();
        (new.first_seen_at, new.untracked) = (seen.map(at), untracked);
        new
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_was_told_comes_back(batch in prop::collection::vec(transaction(), 1..4)) {
        let mut bench = Bench::new();
        for new in batch {
            testing::track(&bench.store, "default", vec![new], at(0));
        }
        for format in [ExportFormat::Ndjson, ExportFormat::Csv] {
            let (text, ..) = exported(&mut bench, &ExportArgs { filter: vec!["sort:age".into()], ..args(format) });
            prop_assert!(text.chars().all(|letter| letter == '\n' || !letter.is_control()));
            let mut fresh = Bench::new();
            let (_, warnings) = imported(&mut fresh, &text);
            prop_assert_eq!(warnings, "");
            let (mut there, mut here) = (params(&fresh), params(&bench));
            for all in [&mut there, &mut here] {
                all.sort_by_key(|(new, _)| (new.params.from_chain.clone(), new.params.transaction_id.key()));
            }
            prop_assert_eq!(there, here);
            let (again, _) = imported(&mut bench, &text);
            prop_assert!(again.starts_with("0 tracked, 0 updated, "), "{}", again);
        }
    }
}

/// What the dashboard asks for.
fn order(bench: &Bench, file: &str, rows: Vec<RowId>) -> Result<String, String> {
    let order = ExportOrder {
        file: file.to_owned(),
        rows,
        now: at(60),
        zone: FixedOffset::east_opt(0).unwrap(),
        leaving: Leaving::default(),
    };
    to_new_file(&bench.store, &order)
}

#[test]
fn the_dashboard_s_export_is_a_new_file_in_the_format_of_its_name() {
    let bench = three();
    let folder = tempfile::tempdir().unwrap();
    let rows = bench.store.reader().unwrap().listing(&Filter::everything(), at(60)).all().unwrap();
    for (name, begins) in [("a.csv", "transactionId,"), ("a.md", "| Transaction"), ("a.json", "["), ("a.ndjson", "{")] {
        let file = folder.path().join(name);
        let params = order(&bench, file.to_str().unwrap(), rows[..2].to_vec()).unwrap();
        assert_eq!(params, format!("2 transactions written to {}", file.display()));
        assert!(fs::read_to_string(&file).unwrap().starts_with(begins), "{name}");
    }
}

#[test]
fn the_dashboard_s_export_replaces_nothing_and_touches_no_store() {
    let bench = three();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.csv");
    fs::write(&file, "mine").unwrap();
    let refused = |name: &str| order(&bench, name, Vec::new()).unwrap_err();
    assert_eq!(refused(file.to_str().unwrap()), "there is such a file already; name another");
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
    assert!(refused("transfers").starts_with("the name says no format"));
    let missing = folder.path().join("missing/a.csv");
    assert_eq!(refused(missing.to_str().unwrap()), "there is no such folder; make it, or name another");
    let beside = format!("{}-wal.csv", bench.store.path().display());
    assert_eq!(refused(&beside), "it belongs to the store; name another file");
    let entries = fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(entries, 1, "no half file is left");
}

#[test]
fn an_export_ends_when_nobody_waits_for_it() {
    let bench = three();
    let folder = tempfile::tempdir().unwrap();
    let rows = bench.store.reader().unwrap().listing(&Filter::everything(), at(60)).all().unwrap();
    let leaving = Leaving::default();
    leaving.leave();
    let file = folder.path().join("a.csv").to_str().unwrap().to_owned();
    let order = ExportOrder { file, rows, now: at(60), zone: FixedOffset::east_opt(0).unwrap(), leaving };
    assert!(to_new_file(&bench.store, &order).unwrap_err().contains("was left"));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_page_tells_of_all_and_of_each_and_nothing_in_it_is_markup_from_outside() {
    let mut bench = Bench::new();
    let mut hostile = fixtures::new(1);
    hostile.params.ticket = Some("<script>alert(1)</script>".into());
    hostile.labels = vec!["\"onmouseover=\"x".into()];
    let row = bench.track(hostile);
    let mut record = StatusRecord::bare(RouterStatus::Success);
    record.from.url = Some("javascript:alert(1)".into());
    record.to.url = Some("https://explorer.example/tx/1".into());
    bench.hear(
        row,
        Observation { outcome: Outcome::Record(Box::new(record)), ..fixtures::says(RouterStatus::Success) },
        30,
    );
    bench.hear(bench.track(fixtures::new(2)), fixtures::says(RouterStatus::PartialSuccess), 30);
    bench.track(fixtures::new(3));
    let (page, err, exit) = exported(&mut bench, &args(ExportFormat::Html));
    assert_eq!((err.as_str(), exit), ("", Exit::Fine));
    for part in [
        "<h1>3 transfers</h1>",
        "Outcomes: 1 need attention",
        "&#60;script&#62;alert(1)&#60;/script&#62;",
        "<a href=\"https://explorer.example/tx/1\" rel=\"noopener noreferrer\">destination</a>",
        "Half of them within",
        "default-src 'none'",
    ] {
        assert!(page.contains(part), "{part} isn't in it:\n{page}");
    }
    assert!(!page.contains("javascript:") && !page.contains("\"onmouseover=\"x"), "{page}");
    // Nothing is fetched from anywhere.
    let outside = page.split("<tbody>").next().unwrap();
    assert!(!outside.contains("http://") && !outside.contains("https://"), "{outside}");
    assert_eq!((page.matches("<tr>").count(), page.matches("</html>").count()), (4, 1));
    let nothing = ExportArgs { filter: vec!["status:refund".into()], ..args(ExportFormat::Html) };
    let (page, ..) = exported(&mut bench, &nothing);
    assert!(
        page.contains("Nothing matched")
            && page.contains("Those that match: status:refund.")
            && page.ends_with("</html>\n"),
        "{page}"
    );
    assert_eq!(ExportFormat::of("batch.html"), Some(ExportFormat::Html));
}
