//! Tests of the drawn add dialog: each verdict, fields, wide letters, small screens.

use super::*;

const WIDE: (u16, u16) = (120, 36);

fn known() -> String {
    overdue().params.transaction_id.to_string()
}

/// Returns a line for every verdict: known, needs input with a guess, ready, duplicate, no hash.
fn text() -> String {
    let digits = |digit: &str| digit.repeat(64);
    format!(
        "{}\nhttps://arbiscan.io/tx/0x{}\n0x{},42161,8453,q_8d1\n0x{} again\nmy swap is stuck\n0x{},sol,base,q_9",
        known(),
        digits("4"),
        digits("7"),
        digits("7"),
        digits("8"),
    )
}

fn pasted(size: (u16, u16), text: &str, keys: &[&str]) -> TestDashboard {
    let mut model = dashboard(size);
    model.apply(Msg::Paste(text.into()), now());
    press(&mut model, keys, now());
    model
}

pub(super) fn filling_in(size: (u16, u16)) -> TestDashboard {
    let mut model = pasted(size, &text(), &["Tab", "j", "Enter"]);
    type_in(&mut model, "bas", now());
    model
}

pub(super) fn hostile(size: (u16, u16)) -> TestDashboard {
    let hash = "9".repeat(64);
    let text = format!(
        "\u{1b}[2J\u{202e}票票票票票票票票票票票票票票票票票票票票票票票票票票票票票票票票票票票票票票票票\n\
         0x{hash},osmosis-999999999999999999,鎖,{}\n0x{hash},1,10,票票票票票票票票票票",
        "q".repeat(200)
    );
    pasted(size, &text, &["Tab"])
}

#[test]
fn at_each_step() {
    insta::assert_snapshot!("add_results_small", screen(&pasted(SMALL, &text(), &["Tab"])));
    insta::assert_snapshot!("add_needs_input_small", screen(&pasted(SMALL, &text(), &["Tab", "j"])));
    insta::assert_snapshot!("add_filling_in_small", screen(&filling_in(SMALL)));
    insta::assert_snapshot!("add_filling_in_wide", screen(&filling_in(WIDE)));
    insta::assert_snapshot!("add_filling_in_narrow", screen(&filling_in((40, 9))));
    insta::assert_snapshot!("add_results_narrow", screen(&pasted((40, 9), &text(), &["Tab"])));
    insta::assert_snapshot!("add_hostile_small", screen(&hostile(SMALL)));
    let mut leaving = filling_in(SMALL);
    press(&mut leaving, &["Esc"], now());
    insta::assert_snapshot!("add_leaving_small", screen(&leaving));
    let body =
        format!(r#"{{"id":"0x{}","routerTransactionStatus":"ongoing","integratorId":"secret-id"}}"#, "5".repeat(64));
    let record = screen(&pasted(SMALL, &body, &["Tab"]));
    assert!(!record.contains("secret-id"), "{record}");
    insta::assert_snapshot!("add_record_small", record);
}

#[test]
fn the_verdict_and_the_hash_of_each_line_are_shown_at_any_width() {
    for columns in [40, 55, 60, 70, 80, 120, 200] {
        let shown = screen(&pasted((columns, 24), &text(), &["Tab"]));
        for words in ["= known", "? needs input", "+ ready", "- duplicate", "- no hash found"] {
            assert!(shown.contains(words), "{columns}: {words}\n{shown}");
        }
        assert!(shown.contains("0x7777…7777"), "{columns}\n{shown}");
    }
}
