//! Tests of the header, the frames and the tour on the screens beside the list.

use super::*;
use crate::tui::{model::Screen, tour::Tour};

const WIDE: (u16, u16) = (120, 36);
/// The keys of each screen but the list.
const SCREENS: [&str; 4] = ["Enter", "A", "%", "@"];

fn header(model: &Model) -> String {
    let ascii = drawn(model, &Theme::new(false, true)).backend().to_string();
    ascii.lines().next().unwrap_or_default().to_owned()
}

#[test]
fn no_view_of_the_list_looks_open_on_alerts_charts_and_log() {
    for size in [SMALL, WIDE] {
        let list = header(&dashboard(size));
        assert!(list.contains("[5 All 11]"), "{list}");
        for key in SCREENS {
            let mut model = dashboard(size);
            press(&mut model, &[key], now());
            let drawn = header(&model);
            assert_eq!(drawn.contains('['), model.screen == Screen::Detail, "{drawn}");
            // Nothing moves.
            assert_eq!(drawn.replace(['[', ']'], " "), list.replace(['[', ']'], " "));
        }
    }
}

#[test]
fn alerts_and_log_have_frames_as_the_list_has() {
    for key in ["A", "@"] {
        let mut model = dashboard(WIDE);
        press(&mut model, &[key], now());
        assert!(screen(&model).contains("\"╭ "), "{key}");
        let mut model = dashboard(SMALL);
        press(&mut model, &[key], now());
        assert!(!screen(&model).contains('╭'), "{key}");
    }
}

#[test]
fn many_alerts_on_a_small_screen_leave_room_for_what_to_say() {
    let mut model = blank(SMALL);
    let many = |number| answered(sent(number, "9f3c41b7e21b", ["42161", "8453"], 60), RouterStatus::Ongoing, 0, 9);
    let raised = (1..=30).map(|row| alert(Rule::Overdue, Some(RowId(row)), "past its limit of 15m, the minimum"));
    let transactions = (1..=30).map(many).collect();
    change_store(&mut model, everything(transactions, raised.collect()), Some(live_report(ago(0, 1))), now());
    press(&mut model, &["A"], now());
    let drawn = screen(&model);
    assert!(["CASE ", "SAY ", "DO "].into_iter().all(|label| drawn.contains(&format!("\" {label}"))), "{drawn}");
    assert!(drawn.contains("are raising it with the provider"), "{drawn}");
}

#[test]
fn the_key_that_the_tour_names_ends_the_tour_and_nothing_else() {
    for key in SCREENS {
        let mut model = dashboard(WIDE);
        model.tour = Tour::At(1);
        press(&mut model, &[key], now());
        let open = model.screen;
        assert!(screen(&model).contains("Esc ends the tour"), "{open:?}");
        press(&mut model, &["Esc"], now());
        assert_eq!((model.screen, model.tour), (open, Tour::Over));
        press(&mut model, &["Esc"], now());
        assert_eq!(model.screen, Screen::List);
    }
    // A screen that is too low for the tour has the key for its own command.
    let mut model = dashboard((80, 12));
    model.tour = Tour::At(1);
    press(&mut model, &["Enter", "Esc"], now());
    assert_eq!((model.screen, model.tour), (Screen::List, Tour::At(1)));
}
