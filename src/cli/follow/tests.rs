use std::{fs, future, io::Write as _, time::Duration};

use super::{
    super::context::testing::{Bench, at},
    *,
};
use crate::store::Wake;

const HEADER: &str = "transactionId,fromChainId,toChainId,quoteId,ticket\n";

fn args() -> ImportArgs {
    ImportArgs { file: "-".into(), format: FormatArg::Auto, dry_run: false, follow: true, any_chain: false }
}

fn row(number: usize) -> String {
    format!("0xabcde{number:03x},42161,8453,q-{number},\n")
}

/// Follows these pieces, each of which comes by itself, and then the end.
fn followed(bench: &mut Bench, pieces: &[&str]) -> (String, String, Exit) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (out, err, exit) = bench.run(|cx| {
        runtime.block_on(async {
            let clock = Clock::starting_at(at(60));
            let (send, receive) = mpsc::channel(pieces.len().max(1));
            for piece in pieces {
                send.send(Ok(piece.as_bytes().to_vec())).await.unwrap();
            }
            drop(send);
            run(&args(), Feed::Stream(receive), future::pending(), (cx, &clock)).await
        })
    });
    (out, err, exit.unwrap())
}

#[test]
fn lines_are_taken_as_they_come_and_bad_ones_are_passed_over() {
    let mut bench = Bench::new();
    let cut = row(2);
    let (first, second) = cut.split_at(9);
    let pieces =
        [&format!("\u{feff}{HEADER}{}{first}", row(1)), second, "0xabcdef12,mars,10,q,\n\n", "\"0xabc\n", &row(3)];
    let (out, err, exit) = followed(&mut bench, &pieces);
    assert_eq!((out.as_str(), exit), ("3 tracked, 0 updated, 0 known already; 2 bad lines\n", Exit::Error));
    let lines: Vec<_> = err.lines().collect();
    assert!(lines[0].starts_with("line 4: fromChainId: `mars`"), "{err}");
    assert!(lines[1].starts_with("line 6: a quotation mark opens here"), "{err}");
    assert_eq!((lines.len(), bench.transactions().len()), (2, 3));
}

#[test]
fn what_came_together_is_kept_together() {
    let mut bench = Bench::new();
    let commits = bench.store.subscribe(Wake::AnyCommit).unwrap();
    followed(&mut bench, &[HEADER, &[row(1), row(2)].concat(), &row(3)]);
    assert_eq!(*commits.borrow(), 2);
}

#[test]
fn json_lines_are_followed_and_the_last_one_needs_no_end() {
    let mut bench = Bench::new();
    let object = |hash: &str, colour: &str| {
        format!(r#"{{"transactionId":"{hash}","fromChainId":1,"toChainId":10,"quoteId":"q","colour":"{colour}"}}"#)
    };
    let pieces = [format!("{}\n", object("0xabcdef", "red")), object("0xbcdefa", "blue")];
    let (out, err, exit) = followed(&mut bench, &[&pieces[0], &pieces[1]]);
    assert_eq!((out.as_str(), exit), ("2 tracked, 0 updated, 0 known already; 0 bad lines\n", Exit::Fine));
    assert_eq!(err, "warning: the column `colour` is unknown and is ignored\n");
}

#[test]
fn what_can_never_be_followed_ends_it_at_once() {
    let (_, err, exit) = followed(&mut Bench::new(), &["[{}", "]"]);
    assert!(exit == Exit::Usage && err.contains("a JSON array has an end"), "{err}");
    let (_, err, exit) = followed(&mut Bench::new(), &["a,b\n", &row(1)]);
    assert!(exit == Exit::Error && err.starts_with("line 1: this is no header row"), "{err}");
}

#[test]
fn a_line_without_end_is_passed_over_in_bounded_memory() {
    let mut bench = Bench::new();
    let long = "x".repeat(LineReader::LINE_LIMIT / 2 + 1);
    let (out, err, _) = followed(&mut bench, &[HEADER, &long, &long, &long, "\n", &row(1)]);
    assert!(err.starts_with("line 2: more than 4 MiB"), "{err}");
    assert_eq!(out, "1 tracked, 0 updated, 0 known already; 1 bad line\n");
}

#[test]
fn a_signal_ends_it_with_its_code_and_half_a_line_is_not_taken() {
    let mut bench = Bench::new();
    let path = bench.folder.path().join("growing.csv");
    fs::write(&path, format!("{HEADER}{}{}", row(1), row(2).trim_end())).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    let (out, err, exit) = bench.run(|cx| {
        runtime.block_on(async {
            let clock = Clock::starting_at(at(60));
            let feed = Feed::open(path.to_str().unwrap(), &clock).unwrap();
            let signal = async {
                tokio::time::sleep(Duration::from_secs(1)).await;
                Exit::Terminated
            };
            run(&args(), feed, signal, (cx, &clock)).await
        })
    });
    assert_eq!(
        (out.as_str(), exit.unwrap()),
        ("1 tracked, 0 updated, 0 known already; 0 bad lines\n", Exit::Terminated)
    );
    assert_eq!(err, "the last line has no end yet and was not taken\n");
}

#[test]
fn the_last_line_of_a_file_that_was_replaced_is_taken_and_one_that_was_cut_is_named() {
    let mut bench = Bench::new();
    let (out, err, ()) = bench.run(|cx| {
        let (args, clock) = (args(), Clock::starting_at(at(60)));
        let mut sink = Sink { store: &cx.store, profile: &cx.profile, clock: &clock, err: cx.err, listener: None };
        let mut following = Following::new(&args);
        for (number, why) in [(1, Why::Replaced), (2, Why::Truncated)] {
            following.split(format!("{HEADER}{}", row(number).trim_end()).as_bytes());
            following.leave(why);
            following.report(&mut sink).unwrap();
            following.turn(&args);
        }
        let Totals { bad, .. } = following.totals;
        writeln!(cx.out, "{bad}").unwrap();
    });
    assert_eq!(
        (out.as_str(), err.as_str()),
        ("1\n", "line 2: it had no end yet when it was cut off, and was not taken\n")
    );
}

#[tokio::test(start_paused = true)]
async fn what_can_not_be_kept_for_a_while_is_tried_again_and_that_is_said_once() {
    let (clock, mut said) = (Clock::starting_at(at(0)), Vec::new());
    let full = || StoreError::Commit("there is no room left on the disk".into());
    let mut faults = vec![full(), full(), full()];
    let attempt = || future::ready(Ok(faults.pop().map_or(Ok("kept"), Err)));
    assert_eq!(insist(attempt, &clock, &mut said).await.unwrap().unwrap(), "kept");
    assert_eq!(clock.now().mono.0, 3 * INTERVAL);
    let words = format!("{}; it is tried again until it can be kept\nthe store keeps things again\n", full());
    assert_eq!(String::from_utf8(said).unwrap(), words);
    let lasting = || future::ready(Ok(Err::<(), _>(StoreError::Closed)));
    assert!(insist(lasting, &clock, &mut Vec::new()).await.unwrap().is_err());
}

#[cfg(unix)]
#[test]
fn what_can_never_be_kept_is_named_by_its_first_line() {
    let mut bench = Bench::new();
    fs::rename(bench.store.path(), bench.folder.path().join("elsewhere.db")).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (.., ended) = bench.run(|cx| {
        runtime.block_on(async {
            let (send, receive) = mpsc::channel(1);
            send.send(Ok(format!("{HEADER}bad\n{}", row(1)).into_bytes())).await.unwrap();
            run(&args(), Feed::Stream(receive), future::pending(), (cx, &Clock::starting_at(at(60)))).await
        })
    });
    let said = super::super::sentence(&ended.unwrap_err());
    assert!(said.starts_with("line 3 and what came after it were not kept: the store "), "{said}");
}

#[tokio::test(start_paused = true)]
async fn a_file_is_followed_through_growth_truncation_and_replacement() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("growing");
    fs::write(&path, "one\n").unwrap();
    let mut feed = Feed::open(path.to_str().unwrap(), &Clock::starting_at(at(0))).unwrap();
    let bytes = |text: &str| Piece::Bytes(text.as_bytes().to_vec());
    assert_eq!(feed.next().await.unwrap(), bytes("one\n"));
    fs::File::options().append(true).open(&path).unwrap().write_all(b"two\n").unwrap();
    assert_eq!(feed.next().await.unwrap(), bytes("two\n"));
    fs::write(&path, "3\n").unwrap();
    assert_eq!(feed.next().await.unwrap(), Piece::Anew(Why::Truncated));
    assert_eq!(feed.next().await.unwrap(), bytes("3\n"));
    fs::rename(&path, folder.path().join("old")).unwrap();
    let waiting = tokio::time::timeout(Duration::from_secs(1), feed.next()).await;
    assert!(waiting.is_err(), "{waiting:?}");
    fs::write(&path, "another\n").unwrap();
    // Whoever writes has the old one open for a while yet.
    let waiting = tokio::time::timeout(INTERVAL, feed.next()).await;
    assert!(waiting.is_err(), "{waiting:?}");
    fs::File::options().append(true).open(folder.path().join("old")).unwrap().write_all(b"late").unwrap();
    assert_eq!(feed.next().await.unwrap(), bytes("late"));
    assert_eq!(feed.next().await.unwrap(), Piece::Anew(Why::Replaced));
    assert_eq!(feed.next().await.unwrap(), bytes("another\n"));
}
