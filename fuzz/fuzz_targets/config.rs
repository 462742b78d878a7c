//! The config file: any bytes become checked settings, or a sentence about what is wrong.

#![no_main]

use std::{fs, path::PathBuf, sync::LazyLock};

use hoptop::internals::config::{Environment, CommandLineSettings, load};
use libfuzzer_sys::fuzz_target;
use tempfile::TempDir;

static HOME: LazyLock<(TempDir, PathBuf)> = LazyLock::new(|| {
    let folder =
        if fs::exists("/dev/shm").unwrap_or(false) { tempfile::tempdir_in("/dev/shm") } else { tempfile::tempdir() };
    let folder = folder.expect("a folder");
    let config = folder.path().join("config.toml");
    (folder, config)
});

/// Whether a message is not empty, bounded, and without control characters but line feeds.
fn is_sentence(message: &str) -> bool {
    let is_shown = |character: char| character == '\n' || !character.is_control();
    !message.is_empty() && message.chars().count() <= 10_000 && message.chars().all(is_shown)
}

fuzz_target!(|input: &[u8]| {
    let (home, config) = &*HOME;
    fs::write(config, input).expect("the config file");
    let environment = Environment::fixed(&[], Some(home.path()));
    for ignores_polling_settings in [false, true] {
        let flags = CommandLineSettings { config: Some(config.clone()), ignores_polling_settings, ..CommandLineSettings::default() };
        match load(flags, &environment) {
            Ok(settings) => assert!(settings.rps > 0.0 && settings.rps <= 1_000.0, "{}", settings.rps),
            Err(error) => assert!(is_sentence(&error.to_string()), "{error:?}"),
        }
    }
});
