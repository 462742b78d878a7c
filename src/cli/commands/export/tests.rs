use std::{fs, io};

use chrono::FixedOffset;
use proptest::prelude::*;
use sha2::{Digest, Sha256};

use super::*;
use crate::{
    cli::{
        commands::import::{ImportArgs, import},
        context::testing::{CommandFixture, at, parse},
    },
    domain::{
        filter::Filter,
        fixtures,
        ids::{ChainId, RowId, TxHash},
        observation::{Observation, StatusOutcome},
        record::StatusRecord,
        status::RouterStatus,
        text::{FIELD_LIMIT, clean, clean_or_none},
        transaction::{NewTransaction, Tracking, Transaction},
    },
    store::testing,
    tui::export::{CancelFlag, ExportOrder},
};

fn args(format: ExportFormat) -> ExportArgs {
    ExportArgs { format: Some(format), ..ExportArgs::default() }
}

/// Runs an export. Returns standard output, standard error and the exit code.
fn run_export(fixture: &mut CommandFixture, args: &ExportArgs) -> (String, String, Exit) {
    let (out, err, exit) = fixture.run(|cx| export(args, cx));
    (out, err, exit.unwrap())
}

/// Imports a text. Returns standard output and standard error.
fn run_import(fixture: &mut CommandFixture, text: &str) -> (String, String) {
    let args = ImportArgs { file: "-".into(), any_chain: true, ..ImportArgs::default() };
    let (out, err, exit) = fixture.run(|cx| import(&args, &mut text.as_bytes(), cx));
    exit.unwrap();
    (out, err)
}

/// Returns a store with three transactions: one with all parameters and an answer, an untracked one, and one of another
/// profile.
fn three_transactions() -> CommandFixture {
    three_transactions_by(None)
}

/// Like [`three_transactions`], tracked by a person with this name.
fn three_transactions_by(author: Option<&str>) -> CommandFixture {
    let mut fixture = CommandFixture::new();
    fixture.store = fixture.store.with_author(author.map(str::to_owned));
    let mut new = fixtures::new(1);
    new.params.ticket = Some("=HYPERLINK(\"x\")|pipe".into());
    new.params.estimate = Some(std::time::Duration::from_millis(1_500));
    new.params.submitted_at = Some(at(-3_000));
    new.params.from_address = Some("@from".into());
    (new.labels, new.notes) = (vec!["-vip".into(), "b".into()], vec!["+one".into(), "'=two".into()]);
    fixture.observe(fixture.track(new), fixtures::says(RouterStatus::Ongoing), 30);
    let mut untracked = fixtures::new(2);
    untracked.is_untracked = true;
    fixture.track(untracked);
    fixture.track_as("other", fixtures::new(3));
    fixture
}

/// Returns the parameters of all transactions in the store.
fn params(fixture: &CommandFixture) -> Vec<(NewTransaction, Tracking)> {
    let params = |tx: Transaction| {
        let Transaction { params, labels, notes, first_seen_at, tracking, .. } = tx;
        let untracked = tracking == Tracking::Untracked;
        (
            NewTransaction { params, labels, notes, first_seen_at: Some(first_seen_at), is_untracked: untracked },
            tracking,
        )
    };
    fixture.transactions().into_iter().map(params).collect()
}

#[test]
fn export_imports_to_equal_transactions_and_changes_nothing_in_its_own_store() {
    for format in [ExportFormat::Ndjson, ExportFormat::Json, ExportFormat::Csv] {
        let mut fixture = three_transactions();
        let (text, err, exit) =
            run_export(&mut fixture, &ExportArgs { filter: vec!["sort:hash".into()], ..args(format) });
        assert_eq!((err.as_str(), exit), ("", Exit::Success));
        let mut fresh = CommandFixture::new();
        let warning =
            "warning: 1 row names the profile other but is tracked in default; choose another profile with --profile\n";
        assert_eq!(run_import(&mut fresh, &text), ("3 tracked, 0 updated, 0 already tracked\n".into(), warning.into()));
        assert_eq!(params(&fresh), params(&fixture), "{format:?}");
        let own = ExportArgs { filter: vec!["profile:default".into()], ..args(format) };
        let (text, ..) = run_export(&mut fixture, &own);
        let again = run_import(&mut fixture, &text);
        assert_eq!(again, ("0 tracked, 0 updated, 2 already tracked\n".into(), String::new()), "{format:?}");
    }
}

#[test]
fn export_with_authors_imports_to_equal_transactions() {
    for format in [ExportFormat::Ndjson, ExportFormat::Json, ExportFormat::Csv] {
        let mut fixture = three_transactions_by(Some("Ana"));
        let (text, ..) = run_export(&mut fixture, &args(format));
        let names_authors = format != ExportFormat::Csv;
        assert_eq!(text.contains("\"noteAuthors\":[\"Ana\",\"Ana\"]"), names_authors, "{text}");
        let mut fresh = CommandFixture::new();
        let (out, warnings) = run_import(&mut fresh, &text);
        assert_eq!(out, "3 tracked, 0 updated, 0 already tracked\n");
        assert_eq!(warnings.lines().count(), 1, "{warnings}");
        assert_eq!(params(&fresh).len(), 3);
    }
}

#[test]
fn truncated_request_id_of_the_service_does_not_prevent_an_import() {
    for format in [ExportFormat::Ndjson, ExportFormat::Csv] {
        let mut fixture = CommandFixture::new();
        let mut record = StatusRecord::bare(RouterStatus::Ongoing);
        record.request_id = Some(clean(&"r".repeat(600)));
        let outcome = StatusOutcome::Record(Box::new(record));
        let answer = Observation { outcome, ..fixtures::says(RouterStatus::Ongoing) };
        fixture.observe(fixture.track(fixtures::new(1)), answer, 30);
        let (text, ..) = run_export(&mut fixture, &args(format));
        assert!(text.contains("rrr"), "{text}");
        assert_eq!(run_import(&mut CommandFixture::new(), &text).0, "1 tracked, 0 updated, 0 already tracked\n");
        assert_eq!(run_import(&mut fixture, &text).0, "0 tracked, 0 updated, 1 already tracked\n");
    }
}

#[test]
fn csv_begins_with_the_columns_of_import_and_escapes_formulas() {
    let mut fixture = three_transactions();
    let (out, ..) = run_export(&mut fixture, &ExportArgs { limit: Some(1), ..args(ExportFormat::Csv) });
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
fn markdown_cells_stay_in_their_table() {
    let mut fixture = three_transactions();
    let (out, ..) = run_export(&mut fixture, &args(ExportFormat::Markdown));
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
fn json_equals_the_json_of_list_in_ascii() {
    let mut fixture = three_transactions();
    let mut new = fixtures::new(4);
    new.params.ticket = Some("重要".into());
    fixture.track(new);
    let (json, ..) = run_export(&mut fixture, &args(ExportFormat::Json));
    let list = list::ListArgs { json: true, ..Default::default() };
    let (listed, ..) = fixture.run(|cx| list::list(&list, cx));
    let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    assert_eq!(read(&json), read(&listed));
    assert!(json.is_ascii() && json.lines().count() == 6, "{json}");
    let nothing = ExportArgs { filter: vec!["nowhere".into()], ..args(ExportFormat::Json) };
    assert_eq!(run_export(&mut fixture, &nothing).0, "[]\n");
    let wrong = ExportArgs { filter: vec!["is:overdu".into()], ..args(ExportFormat::Json) };
    assert_eq!(run_export(&mut fixture, &wrong).2, Exit::Usage);
}

#[test]
fn file_is_private_complete_and_in_the_format_of_its_extension() {
    let mut fixture = three_transactions();
    let path = fixture.folder.path().join("all.MD");
    fs::write(&path, "what was there").unwrap();
    let to_file = ExportArgs { output: Some(path.clone()), ..ExportArgs::default() };
    let (out, err, exit) = run_export(&mut fixture, &to_file);
    assert_eq!((out.as_str(), exit), ("", Exit::Success));
    assert_eq!(err, format!("3 transactions written to {}\n", path.display()));
    assert!(fs::read_to_string(&path).unwrap().starts_with("| Transaction |"));
    let permissions = fs::metadata(&path).unwrap().permissions();
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&permissions) & 0o777, 0o600);
    assert_eq!(count_partial_files(&fixture), 0);
    let formats = [("a.csv", Some(ExportFormat::Csv)), ("a.jsonl", Some(ExportFormat::Ndjson)), ("a.txt", None)];
    assert!(formats.iter().all(|(name, format)| ExportFormat::of(Path::new(name)) == *format));
}

/// Returns the number of partial files in the store's folder.
fn count_partial_files(fixture: &CommandFixture) -> usize {
    let names = fs::read_dir(fixture.folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
    names.filter(|name| name.to_str().unwrap().starts_with(".hoptop-export")).count()
}

#[test]
fn failed_write_and_signal_leave_the_existing_file_unchanged() {
    let mut fixture = three_transactions();
    let path = fixture.folder.path().join("all.csv");
    fs::write(&path, "what was there").unwrap();
    let folder = fixture.folder.path().to_owned();
    let failing_write = |out: &mut dyn Write| {
        out.write_all(b"half")?;
        Err(io::Error::from(io::ErrorKind::StorageFull).into())
    };
    assert!(replace_file(&path, &folder, DateTime::UNIX_EPOCH, failing_write).is_err());
    assert_eq!((fs::read_to_string(&path).unwrap().as_str(), count_partial_files(&fixture)), ("what was there", 0));
    let checks = std::cell::Cell::new(0);
    let fails_at_second_check = || {
        checks.set(checks.get() + 1);
        if checks.get() == 2 { Err(eyre!("a signal")) } else { Ok(()) }
    };
    let (_, err, exit) = fixture.run(|cx| {
        let (reader, now) = (cx.store.reader()?, cx.now.wall);
        let rows = reader.listing(&Filter::everything(), now).all()?;
        let options = ExportOptions { format: ExportFormat::Csv, filter_text: "", now, zone: cx.zone };
        let written =
            replace_file(&path, &folder, now, |out| write_rows(&reader, &rows, options, out, &fails_at_second_check));
        finish(written, Some(Exit::Interrupted), "all.csv", cx)
    });
    assert_eq!(exit.unwrap(), Exit::Interrupted);
    assert!(err.starts_with("interrupted: ") && err.ends_with(" is unchanged\n"), "{err}");
    assert_eq!((fs::read_to_string(&path).unwrap().as_str(), count_partial_files(&fixture)), ("what was there", 0));
}

#[test]
fn target_that_is_no_file_is_refused_or_written_to_but_never_replaced() {
    let mut fixture = three_transactions();
    let to = |path: &str| ExportArgs { output: Some(path.into()), ..ExportArgs::default() };
    let error = |fixture: &mut CommandFixture, path: &str| {
        let (.., result) = fixture.run(|cx| export(&to(path), cx));
        crate::cli::error_line(&result.unwrap_err())
    };
    let missing = error(&mut fixture, "/no\u{1b}[31m/such/folder.csv");
    assert_eq!(
        missing,
        "/no[31m/such/folder.csv can't be written: there is no such folder; create it or choose another name"
    );
    let folder = fixture.folder.path().to_str().unwrap().to_owned();
    assert!(error(&mut fixture, &folder).ends_with("it is a folder; choose a file in that folder"));
    assert_eq!(run_export(&mut fixture, &to("/dev/null")).2, Exit::Success);
    assert!(std::os::unix::fs::FileTypeExt::is_char_device(&fs::metadata("/dev/null").unwrap().file_type()));
    let (file, link) = (fixture.folder.path().join("real.csv"), fixture.folder.path().join("link.csv"));
    fs::write(&file, "").unwrap();
    std::os::unix::fs::symlink(&file, &link).unwrap();
    for _ in 0..2 {
        run_export(&mut fixture, &to(link.to_str().unwrap()));
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink() && fs::metadata(&file).unwrap().len() > 0);
        // The second time, the target of the link doesn't exist.
        fs::remove_file(&file).unwrap();
    }
}

#[test]
fn files_of_the_store_are_never_replaced() {
    let mut fixture = three_transactions();
    let store = fixture.store.path().to_owned();
    fs::create_dir(store.with_file_name("backups")).unwrap();
    let names = [
        "",
        "-wal",
        "-shm",
        ".presence",
        ".poller-default",
        ".damaged-20260101T000000Z",
        ".before-restore-20260101T000000Z",
        ".lost-20260101T000000Z.jsonl",
        ".without-log-20260101T000000Z",
        ".lease-default",
    ]
    .map(|ending| {
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
        let to = ExportArgs { output: Some(output.clone().into()), ..args(ExportFormat::Csv) };
        let (.., refused) = fixture.run(|cx| export(&to, cx));
        let error = crate::cli::error_line(&refused.unwrap_err());
        assert!(error.ends_with("can't be written: it belongs to the store; choose another name"), "{error}");
        // The store itself may append to its log meanwhile.
        let has_grown = output.ends_with("-wal") && length() > before;
        assert!(has_grown || length() == before, "{output}");
    }
    assert_eq!(fixture.transactions().len(), 3);
    let beside = format!("{}.csv", store.display());
    let to = ExportArgs { output: Some(beside.into()), ..ExportArgs::default() };
    assert_eq!(run_export(&mut fixture, &to).2, Exit::Success);
}

#[test]
fn options_are_parsed() {
    let words = ["export", "is:overdue", "--format", "ndjson", "-o", "out", "label:vip", "--limit", "3"];
    let ExportArgs { filter, format, output, limit } = parse(&words).unwrap();
    assert_eq!(
        (filter.len(), format, output.as_deref(), limit),
        (2, Some(ExportFormat::Ndjson), Some(Path::new("out")), Some(3))
    );
}

/// Generates hostile texts as the store holds them: cleaned, and shorter than the limit of a field.
fn hostile_text(most: usize) -> impl Strategy<Value = String> {
    let piece = prop_oneof![any::<String>(), "['=+@|;,\"\\\\-]{1,4}", "[a-z\u{301}重]{1,8}"];
    prop::collection::vec(piece, 1..4)
        .prop_map(move |pieces| clean(&pieces.concat().chars().take(most).collect::<String>()))
        .prop_filter("nothing is left", |text| !text.is_empty() && text.chars().count() < FIELD_LIMIT)
}

prop_compose! {
    fn transaction()(
        number in any::<u16>(),
        hash in "[!-~&&[^/]]{6,90}",
        quote_id in hostile_text(60),
        others in prop::collection::vec(prop::option::of(hostile_text(60)), 3),
        (labels, notes) in (prop::collection::vec(hostile_text(20), 0..4), prop::collection::vec(hostile_text(60), 0..4)),
        (estimate, submitted, seen) in (prop::option::of(0..600_000_000_u64), prop::option::of(0..1_700_000_000_000_i64), prop::option::of(-90_000..0_i64)),
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
        (new.first_seen_at, new.is_untracked) = (seen.map(at), untracked);
        new
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn exported_parameters_are_imported_unchanged(batch in prop::collection::vec(transaction(), 1..4)) {
        let mut fixture = CommandFixture::new();
        for new in batch {
            testing::track(&fixture.store, "default", vec![new], at(0));
        }
        for format in [ExportFormat::Ndjson, ExportFormat::Csv] {
            let (text, ..) = run_export(&mut fixture, &ExportArgs { filter: vec!["sort:age".into()], ..args(format) });
            prop_assert!(text.chars().all(|letter| letter == '\n' || !letter.is_control()));
            let mut fresh = CommandFixture::new();
            let (_, warnings) = run_import(&mut fresh, &text);
            prop_assert_eq!(warnings, "");
            let (mut imported, mut original) = (params(&fresh), params(&fixture));
            for all in [&mut imported, &mut original] {
                all.sort_by_key(|(new, _)| (new.params.from_chain.clone(), new.params.transaction_id.key()));
            }
            prop_assert_eq!(imported, original);
            let (again, _) = run_import(&mut fixture, &text);
            prop_assert!(again.starts_with("0 tracked, 0 updated, "), "{}", again);
        }
    }
}

/// Exports rows as the dashboard does.
fn export_from_dashboard(fixture: &CommandFixture, file: &str, rows: Vec<RowId>) -> Result<String, String> {
    let order = ExportOrder {
        file: file.to_owned(),
        rows,
        now: at(60),
        zone: FixedOffset::east_opt(0).unwrap(),
        cancel_flag: CancelFlag::default(),
    };
    to_new_file(&fixture.store, &order)
}

#[test]
fn export_from_the_dashboard_is_a_new_file_in_the_format_of_its_extension() {
    let fixture = three_transactions();
    let folder = tempfile::tempdir().unwrap();
    let rows = fixture.store.reader().unwrap().listing(&Filter::everything(), at(60)).all().unwrap();
    for (name, begins) in [("a.csv", "transactionId,"), ("a.md", "| Transaction"), ("a.json", "["), ("a.ndjson", "{")] {
        let file = folder.path().join(name);
        let params = export_from_dashboard(&fixture, file.to_str().unwrap(), rows[..2].to_vec()).unwrap();
        assert_eq!(params, format!("2 transactions written to {}", file.display()));
        assert!(fs::read_to_string(&file).unwrap().starts_with(begins), "{name}");
    }
}

#[test]
fn export_from_the_dashboard_replaces_no_file_and_no_file_of_the_store() {
    let fixture = three_transactions();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.csv");
    fs::write(&file, "mine").unwrap();
    let refused = |name: &str| export_from_dashboard(&fixture, name, Vec::new()).unwrap_err();
    assert_eq!(refused(file.to_str().unwrap()), "the file already exists; choose another name");
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
    assert!(refused("transfers").starts_with("the name has no known extension"));
    let missing = folder.path().join("missing/a.csv");
    assert_eq!(refused(missing.to_str().unwrap()), "there is no such folder; create it or choose another name");
    let beside = format!("{}-wal.csv", fixture.store.path().display());
    assert_eq!(refused(&beside), "it belongs to the store; choose another name");
    let entries = fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(entries, 1, "no partial file is left");
}

#[test]
fn export_ends_when_the_dashboard_is_closed() {
    let fixture = three_transactions();
    let folder = tempfile::tempdir().unwrap();
    let rows = fixture.store.reader().unwrap().listing(&Filter::everything(), at(60)).all().unwrap();
    let cancel_flag = CancelFlag::default();
    cancel_flag.cancel();
    let file = folder.path().join("a.csv").to_str().unwrap().to_owned();
    let order = ExportOrder { file, rows, now: at(60), zone: FixedOffset::east_opt(0).unwrap(), cancel_flag };
    assert!(to_new_file(&fixture.store, &order).unwrap_err().contains("was closed"));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn page_has_totals_and_each_transfer_and_no_markup_from_outside() {
    let mut fixture = CommandFixture::new();
    let mut hostile = fixtures::new(1);
    hostile.params.submitted_at = Some(at(0));
    hostile.params.ticket = Some("<script>alert(1)</script>".into());
    hostile.labels = vec!["\"onmouseover=\"x".into()];
    let row = fixture.track(hostile);
    let mut record = StatusRecord::bare(RouterStatus::Success);
    record.from.url = Some("javascript:alert(1)".into());
    record.to.url = Some("https://explorer.example/tx/1".into());
    fixture.observe(row, fixtures::says(RouterStatus::Ongoing), 20);
    fixture.observe(
        row,
        Observation { outcome: StatusOutcome::Record(Box::new(record)), ..fixtures::says(RouterStatus::Success) },
        30,
    );
    fixture.observe(fixture.track(fixtures::new(2)), fixtures::says(RouterStatus::PartialSuccess), 30);
    fixture.track(fixtures::new(3));
    let (page, err, exit) = run_export(&mut fixture, &args(ExportFormat::Html));
    assert_eq!((err.as_str(), exit), ("", Exit::Success));
    for part in [
        "<h1>3 transfers</h1>",
        "Outcomes: 1 needs attention",
        "&#60;script&#62;alert(1)&#60;/script&#62;",
        "<a href=\"https://explorer.example/tx/1\" rel=\"noopener noreferrer\">destination</a>",
        "Half settled within 30s, 9 in 10 within 30s, all 1 within 30s. Not counted: 1 that settled unobserved",
        "settled or passed their deadline",
        "default-src 'none'",
    ] {
        assert!(page.contains(part), "{part} isn't in the page:\n{page}");
    }
    assert!(!page.contains("javascript:") && !page.contains("\"onmouseover=\"x"), "{page}");
    // The page loads nothing from the network.
    let outside = page.split("<tbody>").next().unwrap();
    assert!(!outside.contains("http://") && !outside.contains("https://"), "{outside}");
    assert_eq!((page.matches("<tr>").count(), page.matches("</html>").count()), (4, 1));
    // The policy admits this style and this script by their hashes, and nothing else.
    let between =
        |tag: &str| page.split(&format!("<{tag}>")).nth(1).unwrap().split(&format!("</{tag}>")).next().unwrap();
    let policy = page.lines().find(|line| line.contains("Content-Security-Policy")).unwrap();
    for (directive, tag) in [("style-src", "style"), ("script-src", "script")] {
        let expected = format!("{directive} 'sha256-{}';", base64(&Sha256::digest(between(tag))));
        assert!(policy.contains(&expected), "the policy needs {expected}: {policy}");
    }
    assert!(!policy.contains("unsafe") && !page.contains(" style=\"") && !page.contains(" onclick"), "{page}");
    let nothing = ExportArgs { filter: vec!["status:refund".into()], ..args(ExportFormat::Html) };
    let (page, ..) = run_export(&mut fixture, &nothing);
    assert!(
        page.contains("Nothing matched") && page.contains("Filter: status:refund.") && page.ends_with("</html>\n"),
        "{page}"
    );
    assert_eq!(ExportFormat::of(Path::new("batch.html")), Some(ExportFormat::Html));
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let group = |bytes: &[u8]| {
        let padded = [bytes[0], bytes.get(1).copied().unwrap_or(0), bytes.get(2).copied().unwrap_or(0)];
        let number = padded.iter().fold(0_usize, |number, byte| number << 8 | usize::from(*byte));
        let digit = |index: usize| char::from(DIGITS[number >> (18 - 6 * index) & 63]);
        (0..4).map(|index| if index <= bytes.len() { digit(index) } else { '=' }).collect::<String>()
    };
    bytes.chunks(3).map(group).collect()
}
