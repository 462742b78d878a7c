//! Tests of the drawn log.

use super::*;
use crate::tui::screens::log::state::LogTail;

const WIDE: (u16, u16) = (120, 36);

/// The log of a day with many failures, the newest line last as in the file.
const LOG: &str = "\
2026-11-19T09:00:00.100Z  INFO daily backup created report=BackupReport { bytes: 81920 }
2026-11-20T11:58:40.000Z  WARN undocumented routerTransactionStatus `settling`: stored unchanged about=\"0x2c9b00000000000000000000000000000000000000000000000000000000d0e4\"
2026-11-20T12:10:02.000Z ERROR service unreachable (connect timeout); hoptop retries every 5 to 60 s until it answers
2026-11-20T12:14:30.000Z  INFO the service answers again; polling continues
2026-11-20T13:40:11.000Z  WARN the service answered HTTP 503: <html> about=\"0x9f3c000000000000000000000000000000000000000000000000000000b7e21b\" body=\"<html><title>Zu viel los</title>\\u{1b}[2J\u{1b}[31m 障害が発生しました</html>\"
2026-11-20T14:03:09.000Z  WARN the service throttled the integrator ID: RATE_LIMITED; it asks for a rest of 60 s about=\"0x41aa000000000000000000000000000000000000000000000000000000090fe1\" body=\"{\\\"message\\\":\\\"RATE_LIMITED\\\"}\"
2026-11-20T14:03:10.000Z  WARN HTTP 429: slowed to 0.70 of 1 requests/s; no requests for 60.0 s
";

fn log(size: (u16, u16), text: &str) -> TestDashboard {
    let mut model = dashboard(size);
    press(&mut model, &["@"], now());
    let tail = LogTail { lines: LogTail::parse(text, ""), length: 1, is_cut: false };
    model.apply(Msg::Log(Ok(Some(tail))), now());
    model
}

#[test]
fn a_bad_day() {
    insta::assert_snapshot!(screen(&log(WIDE, LOG)));
}

#[test]
fn a_bad_day_on_a_small_screen() {
    insta::assert_snapshot!(screen(&log(SMALL, LOG)));
}

#[test]
fn the_line_at_the_cursor_is_shown_in_full_below_the_lines_if_it_is_cut() {
    let mut model = log(SMALL, LOG);
    let whole = "no requests for 60.0 s";
    assert_eq!(screen(&model).matches(whole).count(), 1, "the line fits");
    press(&mut model, &["j"], now());
    assert!(screen(&model).contains("\" 60 s | 0x41aa…0fe1 | \"{"), "{}", screen(&model));
    press(&mut model, &["w"], now());
    let whole = screen(&model).matches("throttled the integrator ID").count();
    assert_eq!(whole, 1, "a wrapped line is whole already");
}

#[test]
fn long_lines_wrapped() {
    let mut model = log(SMALL, LOG);
    press(&mut model, &["w"], now());
    insta::assert_snapshot!(screen(&model));
}

#[test]
fn the_line_at_the_cursor_is_visible_at_every_place_also_if_lines_are_wrapped() {
    for keys in [&[][..], &["w"]] {
        let many = LOG.repeat(9);
        for down in [1, 7, 30, 62, 99] {
            let mut model = log((60, 14), &many);
            press(&mut model, keys, now());
            press(&mut model, &vec!["j"; down], now());
            let shown = screen(&model);
            let at_cursor = shown.lines().filter(|line| line.starts_with("\">"));
            assert_eq!(at_cursor.count(), 1, "{shown}");
        }
    }
}

#[test]
fn errors_alone_and_a_text_that_is_looked_for() {
    let mut model = log(SMALL, LOG);
    press(&mut model, &["l", "l", "/"], now());
    type_in(&mut model, "time", now());
    insta::assert_snapshot!(screen(&model));
}

#[test]
fn nothing_logged_and_no_log() {
    let mut model = log(SMALL, "");
    insta::assert_snapshot!(screen(&model));
    model.apply(Msg::Log(Err("There is no log file.".into())), now());
    assert!(screen(&model).contains("There is no log file."));
}

#[test]
fn without_colours_the_levels_are_words() {
    let model = log(SMALL, LOG);
    insta::assert_debug_snapshot!(drawn(&model, &Theme::new(false, false)).backend().buffer());
}

#[test]
fn no_size_shows_an_escape_sequence_of_the_log() {
    for size in [(200, 60), WIDE, SMALL, (40, 9), (20, 3), (1, 1)] {
        for keys in [&["j"][..], &["w", "j", "G"], &["/"]] {
            let mut model = log(size, LOG);
            press(&mut model, keys, now());
            assert!(!screen(&model).contains('\u{1b}'), "{size:?}");
        }
    }
}
