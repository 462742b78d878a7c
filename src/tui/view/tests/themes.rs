//! Tests of styles: every screen without colours, the list in every theme.

use ratatui::style::Style;

use super::*;
use crate::tui::theme::{DisplayOptions, ShippedTheme};

/// Returns the drawn text, and below the text the runs that have another style than most cells, by row and column.
fn styled(terminal: &Terminal<TestBackend>) -> String {
    let buffer = terminal.backend().buffer();
    let rows = buffer.content.chunks(usize::from(buffer.area.width.max(1)));
    let common = common(buffer);
    let mut text = format!("{}\nmost: {}\n", terminal.backend(), words(common));
    for (number, row) in rows.enumerate() {
        let mut column = 0;
        for run in row.chunk_by(|one, other| one.style() == other.style()) {
            let shown: String = run.iter().map(Cell::symbol).collect();
            if run[0].style() != common {
                text.push_str(&format!("{number:>2}:{column:<3} {:<34} {}\n", words(run[0].style()), shown.trim_end()));
            }
            column += run.len();
        }
    }
    text
}

/// Returns the style that most cells have.
fn common(buffer: &Buffer) -> Style {
    let styles: std::collections::HashSet<_> = buffer.content.iter().map(Cell::style).collect();
    let count = |style: &Style| buffer.content.iter().filter(|cell| cell.style() == *style).count();
    styles.into_iter().max_by_key(count).unwrap()
}

fn words(style: Style) -> String {
    let color = |color: Option<Color>| color.filter(|color| *color != Color::Reset).map(|color| color.to_string());
    let (letters, ground) = (color(style.fg), color(style.bg).map(|ground| format!("on {ground}")));
    let attributes = style.add_modifier.iter_names().map(|(name, _)| name.to_lowercase());
    let words: Vec<_> = letters.into_iter().chain(ground).chain(attributes).collect();
    if words.is_empty() { "plain".into() } else { words.join(" ") }
}

#[test]
fn every_screen_without_colours() {
    let theme = Theme::new(false, false);
    for (name, make) in SCREENS {
        insta::assert_snapshot!(format!("mono_{}", name.replace(' ', "_")), styled(&drawn(&make(SMALL), &theme)));
    }
}

#[test]
fn the_list_in_every_theme() {
    for shipped in ShippedTheme::ALL {
        let theme = Theme::shipped(shipped, DisplayOptions { color: true, ..DisplayOptions::default() });
        let name = format!("theme_{}", shipped.name().replace('-', "_"));
        insta::assert_snapshot!(name, styled(&drawn(&dashboard(SMALL), &theme)));
    }
}

#[test]
fn a_theme_with_a_background_fills_every_cell() {
    for shipped in [ShippedTheme::Light, ShippedTheme::Dark, ShippedTheme::ColorBlind] {
        let theme = Theme::shipped(shipped, DisplayOptions { color: true, ..DisplayOptions::default() });
        let ground = theme.text();
        // Screens with wide letters are left out: the second half of a wide letter is drawn with the first.
        for (name, make) in SCREENS.iter().filter(|(name, _)| !name.starts_with("hostile")) {
            let terminal = drawn(&make(SMALL), &theme);
            let grounds = [ground.bg, theme.selected().bg, theme.tint().bg];
            let bare = |cell: &&Cell| !grounds.contains(&Some(cell.bg)) || cell.fg == Color::Reset;
            assert_eq!(terminal.backend().buffer().content.iter().find(bare), None, "{name} in {}", shipped.name());
        }
    }
}

#[test]
fn a_theme_that_was_chosen_by_name_is_remembered() {
    let mut model = dashboard(SMALL);
    let run = |model: &mut TestDashboard, text: &str| {
        press(model, &[":"], now());
        type_in(model, text, now());
        press(model, &["Enter"], now())
    };
    use crate::tui::model::view_state::ChosenTheme;
    run(&mut model, "theme dark");
    assert!(model.status_message.as_ref().unwrap().text.starts_with("Colours are off"));
    model.configured_theme = Some("default".into());
    run(&mut model, "theme dark");
    let chosen = ChosenTheme { name: "dark".into(), instead_of: "default".into() };
    assert_eq!(model.view_state_to_save().theme, Some(chosen.clone()));
    run(&mut model, "theme blind");
    assert_eq!(model.view_state_to_save().theme.unwrap().name, ShippedTheme::ColorBlind.name());
    run(&mut model, "theme dark");
    assert_eq!(run(&mut model, "theme qqq"), []);
    assert!(model.status_message.as_ref().unwrap().text.starts_with("No theme `qqq`; the themes are default, light"));
    assert_eq!(model.view_state_to_save().theme, Some(chosen));
    run(&mut model, "theme configured");
    assert_eq!(model.view_state_to_save().theme, None);
}
