use std::{fs, future, io::Write as _, time::Duration};

use super::*;
use crate::{
    cli::context::testing::{CommandFixture, at},
    domain::fixtures,
    store::{StoreFault, WakeKind},
};

const HEADER: &str = "transactionId,fromChainId,toChainId,quoteId,ticket\n";

fn args() -> ImportArgs {
    ImportArgs { file: "-".into(), follow: true, ..ImportArgs::default() }
}

fn row(number: usize) -> String {
    format!("0xabcde{number:03x},42161,8453,q-{number},\n")
}

/// Follows a stream of these pieces, which arrive one by one. Returns standard output, standard error and the exit
/// code.
fn follow_pieces(fixture: &mut CommandFixture, pieces: &[&str]) -> (String, String, Exit) {
    follow_with(&args(), fixture, pieces)
}

fn follow_with(args: &ImportArgs, fixture: &mut CommandFixture, pieces: &[&str]) -> (String, String, Exit) {
    let (out, err, ended) = try_follow(args, fixture, pieces);
    (out, err, ended.unwrap())
}

/// Like [`follow_with`], with the error of an import that fails.
fn try_follow(
    args: &ImportArgs,
    fixture: &mut CommandFixture,
    pieces: &[impl AsRef<[u8]>],
) -> (String, String, Result<Exit>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    fixture.run(|cx| {
        runtime.block_on(async {
            let (send, receive) = mpsc::channel(pieces.len().max(1));
            for piece in pieces {
                send.send(Ok(piece.as_ref().to_vec())).await.unwrap();
            }
            drop(send);
            let clock = Clock::starting_at(at(60));
            run(args, FollowedInput::Stream(receive), future::pending(), cx, &clock).await
        })
    })
}

#[test]
fn lines_are_tracked_as_they_arrive_and_bad_lines_are_skipped() {
    let mut fixture = CommandFixture::new();
    let cut = row(2);
    let (first, second) = cut.split_at(9);
    let pieces =
        [&format!("\u{feff}{HEADER}{}{first}", row(1)), second, "0xabcdef12,mars,10,q,\n\n", "\"0xabc\n", &row(3)];
    let (out, err, exit) = follow_pieces(&mut fixture, &pieces);
    assert_eq!((out.as_str(), exit), ("3 tracked, 0 updated, 0 already tracked; 2 bad lines\n", Exit::Error));
    let lines: Vec<_> = err.lines().collect();
    assert!(lines[0].starts_with("line 4: fromChainId: `mars`"), "{err}");
    assert!(lines[1].starts_with("line 6: a quotation mark is never closed"), "{err}");
    assert_eq!((lines.len(), fixture.transactions().len()), (2, 3));
}

#[test]
fn json_result_says_whether_the_input_was_read_to_its_end() {
    let mut fixture = CommandFixture::new();
    let args = ImportArgs { json: true, ..args() };
    let mut follow = |pieces: &[&str]| -> serde_json::Value {
        serde_json::from_str(&follow_with(&args, &mut fixture, pieces).0).unwrap()
    };
    let whole = follow(&[HEADER, &row(1), "0xabcdef12,mars,10,q,\n"]);
    assert_eq!((&whole["imported"], &whole["tracked"], &whole["badLines"]), (&true.into(), &1.into(), &1.into()));
    assert_eq!(whole["errors"], serde_json::json!([]));
    let unusable = follow(&["a,b\n"]);
    assert_eq!((&unusable["imported"], &unusable["tracked"]), (&false.into(), &0.into()));
    assert!(unusable["errors"][0].as_str().unwrap().contains("transactionId"), "{unusable}");
    let missing = ImportArgs { file: "/nowhere/batch.csv".into(), ..args };
    let (out, err, exit) = fixture.run(|cx| super::follow(&missing, cx));
    assert_eq!(exit.unwrap(), Exit::Error);
    assert!(out.contains("\"imported\":false") && out.contains(err.trim_end()), "{out}{err}");
}

#[test]
fn rows_that_another_profile_polls_too_are_named() {
    let mut fixture = CommandFixture::new();
    follow_pieces(&mut fixture, &[HEADER, &row(1)]);
    let params = fixture.transactions().remove(0).params;
    let mut other = CommandFixture::new();
    other.track_as("prod", NewTransaction { params, ..fixtures::new(1) });
    let (_, err, _) = follow_pieces(&mut other, &[HEADER, &row(1)]);
    assert_eq!(err, "warning: also tracked in other profiles: 1 in prod; each profile polls them\n");
}

#[test]
fn lines_that_arrive_together_are_tracked_in_one_commit() {
    let mut fixture = CommandFixture::new();
    let commits = fixture.store.subscribe(WakeKind::AnyCommit).unwrap();
    follow_pieces(&mut fixture, &[HEADER, &[row(1), row(2)].concat(), &row(3)]);
    assert_eq!(*commits.borrow(), 2);
}

#[test]
fn json_lines_are_followed_and_the_last_line_needs_no_line_end() {
    let mut fixture = CommandFixture::new();
    let object = |hash: &str, colour: &str| {
        format!(r#"{{"transactionId":"{hash}","fromChainId":1,"toChainId":10,"quoteId":"q","colour":"{colour}"}}"#)
    };
    let pieces = [format!("{}\n", object("0xabcdef", "red")), object("0xbcdefa", "blue")];
    let (out, err, exit) = follow_pieces(&mut fixture, &[&pieces[0], &pieces[1]]);
    assert_eq!((out.as_str(), exit), ("2 tracked, 0 updated, 0 already tracked; 0 bad lines\n", Exit::Success));
    assert_eq!(err, "warning: unknown column `colour` ignored\n");
}

#[test]
fn unusable_input_ends_the_import_at_once() {
    let (_, err, exit) = follow_pieces(&mut CommandFixture::new(), &["[{}", "]"]);
    assert!(exit == Exit::Usage && err.contains("a JSON array can't be followed"), "{err}");
    let (_, err, exit) = follow_pieces(&mut CommandFixture::new(), &["a,b\n", &row(1)]);
    assert!(exit == Exit::Error && err.starts_with("line 1: the first row is not a header"), "{err}");
}

#[test]
fn endless_line_is_skipped_in_bounded_memory() {
    let mut fixture = CommandFixture::new();
    let long = "x".repeat(LineReader::LINE_LIMIT / 2 + 1);
    let (out, err, _) = follow_pieces(&mut fixture, &[HEADER, &long, &long, &long, "\n", &row(1)]);
    assert!(err.starts_with("line 2: the record is longer than 4 MiB"), "{err}");
    assert_eq!(out, "1 tracked, 0 updated, 0 already tracked; 1 bad line\n");
}

#[test]
fn signal_ends_the_import_with_its_exit_code_and_an_incomplete_line_is_not_tracked() {
    let mut fixture = CommandFixture::new();
    let path = fixture.folder.path().join("growing.csv");
    fs::write(&path, format!("{HEADER}{}{}", row(1), row(2).trim_end())).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    let (out, err, exit) = fixture.run(|cx| {
        runtime.block_on(async {
            let clock = Clock::starting_at(at(60));
            let input = FollowedInput::open(&path, &clock).unwrap();
            let signal = async {
                tokio::time::sleep(Duration::from_secs(1)).await;
                Exit::Terminated
            };
            run(&args(), input, signal, cx, &clock).await
        })
    });
    assert_eq!(
        (out.as_str(), exit.unwrap()),
        ("1 tracked, 0 updated, 0 already tracked; 0 bad lines\n", Exit::Terminated)
    );
    assert_eq!(err, "the last line has no line end yet and was not tracked\n");
}

#[test]
fn last_line_of_a_replaced_file_is_tracked_and_a_truncated_line_is_reported() {
    let mut fixture = CommandFixture::new();
    let (out, err, ()) = fixture.run(|cx| {
        let (args, clock) = (args(), Clock::starting_at(at(60)));
        let mut target =
            ImportTarget { store: &cx.store, profile: &cx.profile, clock: &clock, err: cx.err, listener: None };
        let mut stream = ImportStream::new(&args);
        for (number, reason) in [(1, RestartReason::Replaced), (2, RestartReason::Truncated)] {
            stream.split(format!("{HEADER}{}", row(number).trim_end()).as_bytes());
            stream.end_file(reason);
            stream.collect_batch(&mut target).unwrap();
            stream.restart(&args);
        }
        let bad = stream.totals.bad_lines;
        writeln!(cx.out, "{bad}").unwrap();
    });
    assert_eq!(
        (out.as_str(), err.as_str()),
        ("1\n", "line 2: the file was truncated before this line was complete; the line was ignored\n")
    );
}

#[test]
fn file_that_is_filled_again_without_a_header_keeps_its_columns() {
    let mut fixture = CommandFixture::new();
    let (_, err, rows) = fixture.run(|cx| {
        let (args, clock) = (args(), Clock::starting_at(at(60)));
        let mut target =
            ImportTarget { store: &cx.store, profile: &cx.profile, clock: &clock, err: cx.err, listener: None };
        let mut stream = ImportStream::new(&args);
        let pieces = [format!("{HEADER}{}", row(1)), row(2), row(3), format!("quoteId;note\n{}", row(4))];
        pieces.map(|piece| {
            stream.split(piece.as_bytes());
            stream.end_file(RestartReason::Truncated);
            stream.collect_batch(&mut target).unwrap();
            let tracked = stream.batch.len();
            stream.restart(&args);
            tracked
        })
    });
    assert_eq!(rows, [1, 1, 1, 0]);
    let kept = "warning: line 1 is not a header, so the columns of the previous file apply\n";
    let invalid = err.strip_prefix(&kept.repeat(2)).unwrap();
    assert!(invalid.starts_with("line 1: the header has no transactionId"), "{invalid}");
}

#[tokio::test(start_paused = true)]
async fn write_that_fails_for_a_while_is_repeated_and_reported_once() {
    let (clock, mut err) = (Clock::starting_at(at(0)), Vec::new());
    let full = || StoreError::from(StoreFault::CommitFailed("there is no room left on the disk".into()));
    let mut faults = vec![full(), full(), full()];
    let attempt = || future::ready(Ok(faults.pop().map_or(Ok("kept"), Err)));
    assert_eq!(retry(attempt, &clock, &mut err).await.unwrap().unwrap(), "kept");
    assert_eq!(clock.now().mono.0, 3 * INTERVAL);
    let lines = format!("{}; hoptop tries again until it can be saved\nthe store can be written again\n", full());
    assert_eq!(String::from_utf8(err).unwrap(), lines);
    let permanent = || future::ready(Ok(Err::<(), _>(StoreError::Closed)));
    assert!(retry(permanent, &clock, &mut Vec::new()).await.unwrap().is_err());
}

#[test]
fn lines_that_can_never_be_saved_are_named_by_the_first_line() {
    let mut fixture = CommandFixture::new();
    fs::rename(fixture.store.path(), fixture.folder.path().join("elsewhere.db")).unwrap();
    let (.., ended) = try_follow(&args(), &mut fixture, &[format!("{HEADER}bad\n{}", row(1))]);
    let error = crate::cli::error_line(&ended.unwrap_err());
    assert!(error.starts_with("line 3 and the lines after it were not saved: the store's file "), "{error}");
}

#[tokio::test(start_paused = true)]
async fn file_is_followed_through_growth_truncation_refilling_and_replacement() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("growing");
    fs::write(&path, "one\n").unwrap();
    let mut input = FollowedInput::open(&path, &Clock::starting_at(at(0))).unwrap();
    let bytes = |text: &str| InputPiece::Bytes(text.as_bytes().to_vec());
    assert_eq!(input.next().await.unwrap(), bytes("one\n"));
    fs::File::options().append(true).open(&path).unwrap().write_all(b"two\n").unwrap();
    assert_eq!(input.next().await.unwrap(), bytes("two\n"));
    fs::write(&path, "3\n").unwrap();
    assert_eq!(input.next().await.unwrap(), InputPiece::Restart(RestartReason::Truncated));
    assert_eq!(input.next().await.unwrap(), bytes("3\n"));
    // Between two checks truncated, and filled again with at least as many bytes.
    fs::write(&path, "4\n").unwrap();
    assert_eq!(input.next().await.unwrap(), InputPiece::Restart(RestartReason::Rewritten));
    assert_eq!(input.next().await.unwrap(), bytes("4\n"));
    fs::write(&path, "5\nsix\n").unwrap();
    assert_eq!(input.next().await.unwrap(), InputPiece::Restart(RestartReason::Rewritten));
    assert_eq!(input.next().await.unwrap(), bytes("5\nsix\n"));
    fs::rename(&path, folder.path().join("old")).unwrap();
    let waiting = tokio::time::timeout(Duration::from_secs(1), input.next()).await;
    assert!(waiting.is_err(), "{waiting:?}");
    fs::write(&path, "another\n").unwrap();
    // The writer may still have the old file open.
    let waiting = tokio::time::timeout(INTERVAL, input.next()).await;
    assert!(waiting.is_err(), "{waiting:?}");
    fs::File::options().append(true).open(folder.path().join("old")).unwrap().write_all(b"late").unwrap();
    assert_eq!(input.next().await.unwrap(), bytes("late"));
    assert_eq!(input.next().await.unwrap(), InputPiece::Restart(RestartReason::Replaced));
    assert_eq!(input.next().await.unwrap(), bytes("another\n"));
}

#[test]
fn gzip_data_is_named_instead_of_followed() {
    let (_, err, exit) = try_follow(&args(), &mut CommandFixture::new(), &[[0x1f_u8, 0x8b, 8, 0]]);
    assert!(err.contains("gzip data can't be followed; unpack it first"), "{err}");
    assert_eq!(exit.unwrap(), Exit::Usage);
}
