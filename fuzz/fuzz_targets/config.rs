//! The config file: any bytes become checked settings, or a sentence about what is wrong.

#![no_main]

#[path = "../../tests/hostile/invariants.rs"]
#[allow(dead_code, reason = "a target uses a part of them")]
mod invariants;

use std::{fs, path::PathBuf, sync::LazyLock};

use hoptop::internals::config::{Environment, Flags, load};
use libfuzzer_sys::fuzz_target;
use tempfile::TempDir;

static HOME: LazyLock<(TempDir, PathBuf)> = LazyLock::new(|| {
    let folder =
        if fs::exists("/dev/shm").unwrap_or(false) { tempfile::tempdir_in("/dev/shm") } else { tempfile::tempdir() };
    let folder = folder.expect("a folder");
    let config = folder.path().join("config.toml");
    (folder, config)
});

fuzz_target!(|input: &[u8]| {
    let (home, config) = &*HOME;
    fs::write(config, input).expect("the config file");
    let environment = Environment::fixed(&[], Some(home.path()));
    for without_polling in [false, true] {
        let flags = Flags { config: Some(config.clone()), without_polling, ..Flags::default() };
        match load(flags, &environment) {
            Ok(settings) => assert!(settings.rps > 0.0 && settings.rps <= 1_000.0, "{}", settings.rps),
            Err(error) => invariants::assert_message(&error.to_string()),
        }
    }
});
