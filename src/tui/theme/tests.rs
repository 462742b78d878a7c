//! Tests of the shipped themes: contrast, and distinguishable severities.

use ratatui::style::{Color, Modifier};

use super::{color::shown, *};

fn palette(shipped: ShippedTheme, depth: ColorDepth) -> Palette {
    Palette::shipped(shipped, depth)
}

/// Returns red, green and blue in linear light (sRGB).
fn linear(color: Color) -> [f64; 3] {
    let [red, green, blue] = match color {
        Color::Rgb(red, green, blue) => [red, green, blue],
        Color::Indexed(index) => shown(index),
        other => panic!("the RGB value of {other} is unknown"),
    };
    [red, green, blue].map(|part| match f64::from(part) / 255.0 {
        part if part <= 0.04045 => part / 12.92,
        part => ((part + 0.055) / 1.055).powf(2.4),
    })
}

fn apply(matrix: [[f64; 3]; 3], color: [f64; 3]) -> [f64; 3] {
    matrix.map(|row| row.iter().zip(color).map(|(weight, part)| weight * part).sum())
}

/// Returns the contrast of two colours (WCAG 2).
fn contrast(one: Color, other: Color) -> f64 {
    let luminance = |color| apply([[0.2126, 0.7152, 0.0722]; 3], linear(color))[0] + 0.05;
    let (one, other): (f64, f64) = (luminance(one), luminance(other));
    one.max(other) / one.min(other)
}

#[test]
fn themes_with_their_own_background_have_enough_contrast() {
    for shipped in [ShippedTheme::Light, ShippedTheme::Dark, ShippedTheme::ColorBlind] {
        for depth in [ColorDepth::True, ColorDepth::Indexed] {
            let palette = palette(shipped, depth);
            let (text_color, background) = (palette.text.fg.unwrap(), palette.text.bg.unwrap());
            for (meaning, style) in palette.all() {
                let contrast = contrast(style.fg.unwrap_or(text_color), style.bg.unwrap_or(background));
                assert!(contrast >= 4.5, "{} {meaning} {depth:?}: {contrast:.2}", shipped.name());
            }
        }
    }
}

#[test]
fn severities_differ_from_each_other_and_from_dim_text() {
    for shipped in ShippedTheme::ALL.into_iter().filter(|shipped| *shipped != ShippedTheme::Mono) {
        for depth in [ColorDepth::True, ColorDepth::Indexed, ColorDepth::Sixteen] {
            let theme = Theme::shipped(shipped, DisplayOptions { color: true, depth, ..DisplayOptions::default() });
            let [critical, warning, dim] = [theme.critical(), theme.warning(), theme.dim()];
            for (one, other) in [(critical, warning), (critical, dim), (warning, dim)] {
                assert_ne!(one.fg, other.fg, "{} {depth:?}", shipped.name());
            }
        }
    }
}

#[test]
fn every_meaning_is_legible_in_the_selected_row_and_in_a_tinted_row() {
    for shipped in [ShippedTheme::Light, ShippedTheme::Dark, ShippedTheme::ColorBlind] {
        for depth in [ColorDepth::True, ColorDepth::Indexed] {
            let palette = palette(shipped, depth);
            let text_color = palette.text.fg.unwrap();
            let backgrounds = [palette.selected.bg, palette.tint.bg].into_iter().flatten();
            for background in backgrounds {
                for style in
                    [palette.text, palette.critical, palette.warning, palette.info, palette.good, palette.progress]
                {
                    let contrast = contrast(style.fg.unwrap_or(text_color), background);
                    assert!(contrast >= 3.0, "{} {style:?} on {background} {depth:?}: {contrast:.2}", shipped.name());
                }
            }
        }
    }
}

/// Matrices from a colour to the colour that people see: with usual vision, and without one kind of cones (Machado,
/// Oliveira and Fernandes 2009, severity 1.0).
const VISIONS: [(&str, [[f64; 3]; 3]); 3] = [
    ("usual", [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
    ("protanopia", [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]),
    (
        "deuteranopia",
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    ),
];

/// Returns the coordinates of a linear colour in CIELAB (D65).
fn lab(color: [f64; 3]) -> [f64; 3] {
    const XYZ: [[f64; 3]; 3] =
        [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]];
    let bend = |part: f64| if part > 0.008856 { part.cbrt() } else { 7.787 * part + 16.0 / 116.0 };
    let [x, y, z] = apply(XYZ, color.map(|part| part.clamp(0.0, 1.0)));
    let [x, y, z] = [bend(x / 0.95047), bend(y), bend(z / 1.08883)];
    [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
}

fn distance(one: [f64; 3], other: [f64; 3]) -> f64 {
    one.iter().zip(other).map(|(one, other)| (one - other).powi(2)).sum::<f64>().sqrt()
}

#[test]
fn severities_are_distinguishable_for_every_kind_of_colour_vision() {
    /// Ten times the difference that is just noticeable.
    const APART: f64 = 23.0;
    for depth in [ColorDepth::True, ColorDepth::Indexed] {
        let palette = palette(ShippedTheme::ColorBlind, depth);
        let meanings = [palette.critical, palette.warning, palette.info, palette.good, palette.text];
        for (vision, matrix) in VISIONS {
            let seen = meanings.map(|style| lab(apply(matrix, linear(style.fg.unwrap()))));
            for (index, one) in seen.iter().enumerate() {
                for (behind, other) in seen.iter().enumerate().skip(index + 1) {
                    let distance = distance(*one, *other);
                    assert!(distance >= APART, "{vision} {depth:?}: {index} and {behind} are {distance:.1} apart");
                }
            }
        }
    }
}

#[test]
fn statuses_of_the_outcome_bar_have_different_colours() {
    let unknown = RouterStatus::Unknown("settling".to_owned());
    let statuses: Vec<_> = RouterStatus::DOCUMENTED.iter().map(Some).chain([None]).collect();
    for shipped in ShippedTheme::ALL.into_iter().filter(|shipped| *shipped != ShippedTheme::Mono) {
        for depth in [ColorDepth::True, ColorDepth::Indexed] {
            let theme = Theme::shipped(shipped, DisplayOptions { color: true, depth, ..DisplayOptions::default() });
            let shown = |status| theme.text().patch(theme.status(status)).fg;
            for (index, one) in statuses.iter().enumerate() {
                for other in statuses.iter().skip(index + 1) {
                    assert_ne!(shown(*one), shown(*other), "{} {depth:?}: {one:?} and {other:?}", shipped.name());
                }
            }
            // The bar draws statuses with one colour with different symbols.
            assert_eq!(shown(Some(&unknown)), shown(Some(&RouterStatus::NeedsGas)));
        }
    }
    // Of the theme for every kind of colour vision, the colours differ enough for every kind.
    for (vision, matrix) in VISIONS {
        let theme = Theme::shipped(
            ShippedTheme::ColorBlind,
            DisplayOptions { color: true, depth: ColorDepth::True, ..DisplayOptions::default() },
        );
        let seen = |status| lab(apply(matrix, linear(theme.text().patch(theme.status(status)).fg.unwrap())));
        for (index, one) in statuses.iter().enumerate() {
            for other in statuses.iter().skip(index + 1) {
                let distance = distance(seen(*one), seen(*other));
                assert!(distance >= 11.0, "{vision}: {one:?} and {other:?} are {distance:.1} apart");
            }
        }
    }
}

#[test]
fn severities_use_colours_of_okabe_and_ito_only() {
    const EIGHT: [u32; 8] = [0x00_0000, 0xe6_9f00, 0x56_b4e9, 0x00_9e73, 0xf0_e442, 0x00_72b2, 0xd5_5e00, 0xcc_79a7];
    let palette = palette(ShippedTheme::ColorBlind, ColorDepth::True);
    for style in [palette.critical, palette.warning, palette.info, palette.good, palette.progress] {
        let Some(Color::Rgb(red, green, blue)) = style.fg else { panic!("{style:?}") };
        assert!(EIGHT.contains(&u32::from_be_bytes([0, red, green, blue])), "{style:?}");
    }
}

#[test]
fn the_selection_is_visible_in_every_theme_with_and_without_colours() {
    for shipped in ShippedTheme::ALL {
        for color in [true, false] {
            let theme = Theme::shipped(shipped, DisplayOptions { color, ..DisplayOptions::default() });
            let selected = theme.selected();
            let is_filled = selected.bg.is_some_and(|background| theme.text().bg != Some(background));
            assert!(selected.add_modifier.contains(Modifier::BOLD), "{}", shipped.name());
            assert!(is_filled || selected.add_modifier.contains(Modifier::REVERSED), "{}", shipped.name());
        }
    }
}

#[test]
fn without_colours_every_theme_is_colourless() {
    let none = DisplayOptions::default();
    let own = Theme::custom("own.toml", "[text]\nfg = 'red'\nbg = 'blue'", none).unwrap();
    for theme in ShippedTheme::ALL.map(|shipped| Theme::shipped(shipped, none)).iter().chain([&own]) {
        for (meaning, style) in theme.palette.all() {
            assert!(style.fg.is_none() && style.bg.is_none(), "{} {meaning}", theme.name());
        }
    }
}

#[test]
fn an_unknown_theme_is_reported_with_the_known_ones() {
    let error = |name| Theme::named(name, DisplayOptions::default()).unwrap_err().to_string();
    assert_eq!(
        error("drak"),
        "unknown theme `drak`, did you mean `dark`?; choose one of default, light, dark, colour-blind, mono, or give the \
         path of your own theme, such as ./own.toml"
    );
    assert!(error("solarized\u{1b}[31m").starts_with("unknown theme `solarized[31m`; choose one of default"));
    let own = Theme::custom("own.toml", "\n[critical]\nfg = 'rde'", DisplayOptions::default()).unwrap_err().to_string();
    assert_eq!(own, "own.toml, line 3: fg: `rde` is not a colour; did you mean `red`?");
}
