//! Tests of the drawn help: whole, searched, and without a match.

use super::*;

const WIDE: (u16, u16) = (120, 36);

fn help_at(size: (u16, u16), typed: &str) -> TestDashboard {
    let mut model = dashboard(size);
    press(&mut model, &["?"], now());
    type_in(&mut model, typed, now());
    model
}

#[test]
fn the_help() {
    insta::assert_snapshot!("help", screen(&help_at(SMALL, "")));
    insta::assert_snapshot!("help_wide", screen(&help_at(WIDE, "")));
    insta::assert_snapshot!("help_very_wide", screen(&help_at((200, 60), "")));
    let mut model = help_at(SMALL, "");
    press(&mut model, &["End"], now());
    insta::assert_snapshot!("help_scrolled_to_its_end", screen(&model));
}

#[test]
fn the_columns_of_the_help_begin_with_the_most_needed_groups_and_tear_no_group_apart() {
    for (size, tops) in [(WIDE, 2), ((160, 45), 2), ((200, 60), 3)] {
        let drawn = screen(&help_at(size, ""));
        let titles = drawn.lines().find(|line| line.contains("MOVE AND OPEN")).unwrap();
        let found = ["MOVE AND OPEN", "TRIAGE", "REPLY, COPY, EXPORT"].map(|title| titles.contains(title));
        assert_eq!(found, [true, true, tops > 2], "{size:?}");
        for needed in [
            "acknowledge the active",
            "snooze the",
            "add a note",
            "undo the last",
            "FIND AND",
            "filter by text",
            "text for the",
        ] {
            assert!(drawn.contains(needed), "{size:?}: {needed}\n{drawn}");
        }
    }
}

#[test]
fn the_frame_of_the_help_says_which_rows_are_shown_while_there_are_more() {
    for size in [(40, 12), SMALL, WIDE, (160, 45)] {
        let mut model = help_at(size, "");
        assert!(screen(&model).contains(" 1-"), "{size:?}");
        press(&mut model, &["End"], now());
        let drawn = screen(&model);
        let (_, position) = drawn.rsplit_once('╰').unwrap().1.split_once(" of ").unwrap();
        let count: usize = position.split(' ').next().unwrap().parse().unwrap();
        assert!(drawn.contains(&format!("-{count} of {count} ")), "{size:?}");
    }
    assert!(!screen(&help_at(WIDE, "xyzzy")).contains(" 1-"));
}

#[test]
fn the_help_while_it_is_searched() {
    insta::assert_snapshot!("help_searched", screen(&help_at(SMALL, "alert")));
    insta::assert_snapshot!("help_searched_wide", screen(&help_at(WIDE, "overdue")));
    insta::assert_snapshot!("help_with_nothing_found", screen(&help_at(SMALL, "xyzzy")));
}

#[test]
fn a_pasted_word_searches_and_a_pasted_row_opens_the_add_dialog() {
    let mut model = help_at(SMALL, "next ");
    model.apply(Msg::Paste("alert".into()), now());
    assert!(screen(&model).contains("next transaction with an alert"));
    model.apply(Msg::Paste("0xabcdef0123456789,42161,8453,quote-1".into()), now());
    assert!(screen(&model).contains("Add or find"));
}

#[test]
fn esc_clears_the_search_and_then_closes_the_help() {
    let mut model = help_at(SMALL, "jk");
    assert!(screen(&model).contains("Search: jk"));
    press(&mut model, &["Esc"], now());
    assert!(screen(&model).contains("MOVE"));
    press(&mut model, &["Esc"], now());
    assert!(!screen(&model).contains("Search:"));
}

#[test]
fn the_legend_scrolls_with_the_keys_on_a_low_screen() {
    let mut model = help_at((80, 16), "");
    assert!(!screen(&model).contains("Severity"));
    press(&mut model, &["End"], now());
    assert!(screen(&model).contains("Severity"));
}

#[test]
fn the_cursor_of_the_help_is_behind_the_typed_text() {
    let model = help_at(SMALL, "ab");
    drawn(&model, &Theme::new(true, false)).backend_mut().assert_cursor_position((11, 3));
}

#[test]
fn sentences_and_help_name_the_configured_keys() {
    let mut model = filtered_out(SMALL);
    let own = [("clear", "X"), ("all", "a"), ("acknowledge", "^A")];
    let own = own.map(|(name, key)| (name.to_owned(), vec![key.to_owned()]));
    model.setting.keys = crate::tui::keys::Keys::new(&own.into()).unwrap();
    assert!(screen(&model).contains("Press X to clear the filter."));
    press(&mut model, &["?"], now());
    type_in(&mut model, "acknowledge", now());
    assert!(screen(&model).contains("  ^A             acknowledge   acknowledge the active"));
}

/// Returns a dashboard whose filter matches no transaction.
fn filtered_out(size: (u16, u16)) -> TestDashboard {
    let mut model = dashboard(size);
    press(&mut model, &["/"], now());
    type_in(&mut model, "nothing-is-called-so", now());
    press(&mut model, &["Enter"], now());
    model
}
