//! The pictures of the README and the guides, recorded from the program in a real pseudo-terminal. One session gives
//! the still pictures and the moving one, so that their numbers agree.
//!
//! `assets/pictures/make.sh` writes the pictures; the test compares them with a new recording.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test fails by panicking"
)]
mod demo;
#[path = "../in_process_transport/mod.rs"]
mod in_process_transport;
#[path = "../session/mod.rs"]
mod session;
mod svg;

use std::{env, fs, path::Path, process::Command};

use session::Session;
use svg::PictureFrame;

const SIZE: (u16, u16) = (120, 36);

/// A scene of the session.
struct Scene {
    /// The keys that lead from the scene before to this one.
    keys: &'static [&'static str],
    /// A text that the screen must show.
    shows: &'static str,
    /// The caption below the moving picture; `None` for a scene that is only a still picture.
    caption: Option<(Option<&'static str>, &'static str)>,
    /// The name of the still picture, if there is one.
    still: Option<&'static str>,
}

const SCENES: [Scene; 6] = [
    Scene {
        keys: &[],
        shows: "SAY",
        caption: Some((None, "The most urgent transfer is on top: verdict, what to say, what to do")),
        still: Some("overview"),
    },
    Scene {
        keys: &["j", "j"],
        shows: "OVERDUE",
        caption: Some((Some("j"), "moves to an overdue transfer")),
        still: None,
    },
    Scene {
        keys: &["\r"],
        shows: "SOURCE",
        caption: Some((Some("Enter"), "opens it: both ends, links and IDs")),
        still: Some("detail"),
    },
    Scene {
        keys: &["]", "]"],
        shows: "Timing",
        caption: Some((Some("]"), "shows how long it takes, beside the forecast of its route")),
        still: Some("timing"),
    },
    Scene {
        keys: &["c"],
        shows: "clipboard",
        caption: Some((Some("c"), "copies the reply for the customer")),
        still: None,
    },
    Scene {
        keys: &["\u{1b}", "\u{1b}", "%"],
        shows: "settled",
        caption: Some((Some("%"), "shows all transfers: outcomes, durations, the use of the budget")),
        still: Some("charts"),
    },
];

/// Shows the demo in its own terminal.
#[test]
#[ignore = "run by the other test in its own terminal"]
fn child_that_shows_the_demo() {
    demo::show();
}

/// Plays the session, and returns its screens, one a scene.
fn record() -> Vec<vt100::Screen> {
    let home = tempfile::tempdir().unwrap();
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--ignored", "--exact", "child_that_shows_the_demo", "--test-threads=1", "--nocapture"]);
    command.env("HOME", home.path()).env("TMPDIR", home.path()).env("LANG", "C.UTF-8");
    let mut session = Session::start(&command, SIZE);
    let mut steps = 0;
    session.wait_for_output(&demo::mark_of(steps));
    let mut screens = Vec::new();
    for scene in &SCENES {
        for key in scene.keys {
            session.press(key);
            steps += 1;
            session.wait_for_output(&demo::mark_of(steps));
        }
        let text = session.text();
        assert!(text.contains(scene.shows), "there is no `{}` on the screen:\n{text}", scene.shows);
        screens.push(session.screen().clone());
    }
    session.press("\u{3}");
    assert_eq!(session.end().0.exit_code(), 0);
    screens
}

/// Writes a picture, or compares it with the file.
fn check(name: &str, now: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("assets/pictures/{name}.svg"));
    if env::var_os("HOPTOP_WRITE_PICTURES").is_some() {
        fs::write(&path, now).unwrap();
        return;
    }
    let kept = fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
    // Not `assert_eq`: the message would have thousands of lines.
    assert!(kept == now, "{name}.svg differs from the recorded screen; to update: assets/pictures/make.sh");
}

#[test]
fn pictures_match_the_recorded_session() {
    let screens = record();
    let scenes = || SCENES.iter().zip(&screens);
    for (scene, screen) in scenes() {
        scene.still.into_iter().for_each(|name| check(name, &svg::still(screen)));
    }
    let frames: Vec<PictureFrame> =
        scenes().filter_map(|(scene, screen)| Some(PictureFrame { screen, caption: scene.caption? })).collect();
    let moving = svg::moving(&frames);
    assert!(moving.len() < 300_000, "the moving picture has {} bytes", moving.len());
    // A site that shows the picture allows no script and loads no other file.
    for forbidden in ["<script", "href", "url(", "@import", "<image", "<foreignObject"] {
        assert!(!moving.contains(forbidden), "{forbidden}");
    }
    assert_eq!(moving.matches("<g class=\"f f").count(), frames.len());
    check("session", &moving);
}
