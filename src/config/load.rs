//! Chooses each setting: flag > environment > config file > default.
//!
//! It must never choose silently between two values of the same source, nor ignore an invalid value that the command
//! uses.

mod beside;
mod id_sources;
mod inputs;

use std::{collections::BTreeMap, fs, io, path::PathBuf};

use self::inputs::{
    DEFAULT_PROFILE, DEFAULT_RPS, SettingInputs, SettingValue, entry, from_file, from_flag, from_variable,
};
use super::{
    CommandLineSettings, chain_nodes,
    environment::Environment,
    error::ConfigError,
    file::{self, Argv, ConfigFile, PollingRank, Retention},
    secret::SecretKeys,
    settings::Settings,
    source::SettingSource,
};
use crate::domain::{span, text::clean, toml_text::TomlError};

/// Loads the settings from the command line, the environment and the config file.
///
/// # Errors
/// If a config file that was named is missing, or a value is invalid.
pub fn load(flags: CommandLineSettings, env: &Environment) -> Result<Settings, ConfigError> {
    load_with(flags, env, read_file)
}

/// Loads the settings; `read` reads the config file.
fn load_with(
    mut flags: CommandLineSettings,
    env: &Environment,
    read: impl FnOnce(&SettingValue<PathBuf>) -> Result<ConfigFile, ConfigError>,
) -> Result<Settings, ConfigError> {
    let inputs = SettingInputs::gather(&mut flags, env, read)?;
    let store_url = inputs.shared_store_url(flags.store)?;
    let (store, store_entries) = inputs.store(store_url.as_ref())?;
    let db = inputs.db(flags.db, store.as_ref().map(|store| &store.address))?;
    let state = inputs.state(flags.state_dir)?;
    let ignores_polling_settings = flags.ignores_polling_settings;
    let base_url = inputs
        .base_url(flags.base_url)
        .or_else(|error| if ignores_polling_settings { Ok(None) } else { Err(error) })?;
    let default_rps = (DEFAULT_RPS, SettingSource::Default);
    let rps =
        inputs.rps(flags.rps).or_else(|error| if ignores_polling_settings { Ok(default_rps) } else { Err(error) })?;
    let (beside, beside_entry) =
        inputs.beside(flags.beside, base_url.as_ref().map(|(url, _)| url), &rps, store_url.as_ref())?;
    let color = inputs.color(flags.color);
    let ascii = from_flag(flags.is_ascii.then_some(true), "--ascii").or_else(|| from_file(inputs.file.ascii, "ascii"));
    let plain = from_flag(flags.is_plain.then_some(true), "--plain")
        .or_else(|| from_variable(env.is_on("ACCESSIBLE").then_some(true), "ACCESSIBLE"));
    let [ascii, plain] = [ascii, plain].map(|choice| choice.unwrap_or((false, SettingSource::Default)));
    let author = inputs.author()?;
    if !ignores_polling_settings {
        inputs.check_id_variables()?;
    }
    let (id, weights, keys) = (inputs.id_source(), inputs.weights(), inputs.keys());
    let keep_bodies = from_file(inputs.file.keep_bodies.map(|Retention(kept)| kept), "keep_bodies");
    let clipboard = from_file(inputs.file.clipboard.clone().map(|Argv(words)| words), "clipboard");
    let mouse = from_file(inputs.file.mouse, "mouse").unwrap_or((true, SettingSource::Default));
    let theme = inputs.theme()?;
    let (alerting, alerting_entries) = inputs.alerting();
    let hyperlinks = from_file(inputs.file.hyperlinks, "hyperlinks").unwrap_or((false, SettingSource::Default));
    let chain_nodes = inputs.chain_nodes()?;
    let entries = vec![
        entry("config", inputs.config.as_ref(), |path| path.display().to_string()),
        entry("profile", Some(&inputs.profile_name), Clone::clone),
        entry("me.name", author.as_ref(), Clone::clone),
        entry("db", Some(&db), |path| path.display().to_string()),
        entry("state_dir", Some(&state), |path| path.display().to_string()),
        entry("base_url", base_url.as_ref(), |url| redact_url(url)),
        entry("rps", Some(&rps), ToString::to_string),
        entry("color", Some(&color), |color| color.name().to_owned()),
        entry("ascii", Some(&ascii), ToString::to_string),
        entry("plain", Some(&plain), ToString::to_string),
        entry("theme", Some(&theme), ToString::to_string),
        entry("clipboard", clipboard.as_ref(), |words| clean(&words.join(" "))),
        entry("mouse", Some(&mouse), ToString::to_string),
        entry("hyperlinks", Some(&hyperlinks), ToString::to_string),
        entry("keep_bodies", keep_bodies.as_ref(), |kept| span::long(*kept)),
        entry("answer", inputs.templates().as_ref(), Clone::clone),
        entry("weights", weights.as_ref(), describe_weights),
        entry("keys", keys.as_ref(), describe_keys),
        entry("chains", chain_nodes.as_ref(), chain_nodes::describe),
    ];
    let secret_variables = inputs.secret_variables(store.as_ref());
    let own_entries = entries.into_iter().chain(alerting_entries).chain([beside_entry]);
    Ok(Settings {
        db: db.0,
        team_rank: inputs.file.team.rank.map(|PollingRank(rank)| rank),
        is_light: inputs.file.team.light.unwrap_or_default(),
        store,
        config_file: inputs.config_file(),
        state_dir: state.0,
        profile: inputs.profile_name.0,
        author: author.map(|(name, _)| name),
        base_url: base_url.map(|(url, _)| url),
        rps: rps.0,
        color: color.0,
        is_ascii: ascii.0,
        is_plain: plain.0,
        theme: theme.0,
        has_hyperlinks: hyperlinks.0,
        clipboard: clipboard.map(|(words, _)| words),
        has_mouse: mouse.0,
        alerting,
        secret_variables,
        beside,
        chain_nodes: chain_nodes.map(|(nodes, _)| nodes).unwrap_or_default(),
        keep_bodies: keep_bodies.map(|(kept, _)| kept),
        answer: inputs.file.answer,
        weights: weights.map(|(weights, _)| weights).unwrap_or_default(),
        keys: keys.map(|(keys, _)| keys).unwrap_or_default(),
        entries: own_entries.chain(store_entries).collect(),
        id,
    })
}

/// Loads the settings as if there were no config file, and without the values that may be wrong: for the checks of
/// `doctor`.
///
/// # Errors
/// If a value of the command line or the environment is invalid nevertheless.
pub(crate) fn load_without_file(flags: CommandLineSettings, env: &Environment) -> Result<Settings, ConfigError> {
    let profile = Some(DEFAULT_PROFILE.to_owned());
    let flags = CommandLineSettings { profile, beside: Vec::new(), ..flags };
    let load = |flags| load_with(flags, env, |_| Ok(ConfigFile::default()));
    load(flags.clone()).or_else(|_| load(CommandLineSettings { rps: Some(DEFAULT_RPS), ..flags }))
}

/// Returns a URL without its user info and its query, which may be secret.
fn redact_url(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let (rest, query) = rest.find(['?', '#']).map_or((rest, ""), |at| (rest.get(..at).unwrap_or_default(), "?..."));
    // In a mistyped URL, user info may stand behind any slash.
    let place = rest.rsplit_once('@').map_or_else(|| rest.to_owned(), |(_, place)| format!("...@{place}"));
    let scheme = if scheme.is_empty() { String::new() } else { format!("{scheme}://") };
    format!("{scheme}{place}{query}")
}

/// Returns labels and their weights as text for people.
fn describe_weights(weights: &BTreeMap<String, f64>) -> String {
    weights.iter().map(|(label, weight)| format!("{} = {weight}", clean(label))).collect::<Vec<_>>().join(", ")
}

/// Returns commands and their keys as text for people.
fn describe_keys(keys: &BTreeMap<String, Vec<String>>) -> String {
    keys.iter().map(|(name, keys)| format!("{name} {}", keys.join(" "))).collect::<Vec<_>>().join(", ")
}

/// Reads the config file. A file at the default path may be missing; a file that was named may not.
fn read_file((path, source): &SettingValue<PathBuf>) -> Result<ConfigFile, ConfigError> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound && *source == SettingSource::Default => String::new(),
        Err(error) => {
            return Err(ConfigError::Unreadable { path: path.clone(), source_of_path: source.clone(), error });
        }
    };
    let invalid = |TomlError { line, reason, .. }| ConfigError::Invalid { path: path.clone(), line, reason };
    let file = file::parse(&text).map_err(invalid)?;
    for keys in [SecretKeys::of_file(&file), SecretKeys::of_webhook(&file)] {
        keys.check("the top of the file", path.display().to_string())?;
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{ColorChoice, settings::ProfileConnection};

    const CANARY: &str = "canary-integrator-7f3a";
    const FILE: &str = r#"
        db = "shop.db"
        default_profile = "prod"
        color = "always"
        ascii = true
        [profiles.prod]
        base_url = "https://file.example"
        rps = 10
        integrator_id_env = "SHOP_ID"
        [profiles.test]
        integrator_id_file = "~/secrets/id"
    "#;

    type Variables = &'static [(&'static str, &'static str)];

    /// Creates a home folder with this config file, if given.
    fn home(file: Option<&str>) -> tempfile::TempDir {
        let home = tempfile::tempdir().unwrap();
        if let Some(file) = file {
            fs::create_dir_all(home.path().join(".config/hoptop")).unwrap();
            fs::write(home.path().join(".config/hoptop/config.toml"), file).unwrap();
        }
        home
    }

    fn settings(
        flags: CommandLineSettings,
        variables: &[(&str, &str)],
        file: Option<&str>,
    ) -> Result<Settings, String> {
        let home = home(file);
        let env = Environment::fixed(variables, Some(home.path()));
        load(flags, &env).map_err(|error| {
            let printed = format!("{error} {error:?}");
            assert!(!printed.contains("canary"), "{printed}");
            error.to_string().replace(&home.path().display().to_string(), "HOME")
        })
    }

    fn entry(settings: &Settings, name: &str) -> String {
        let entry = settings.entries.iter().find(|entry| entry.name == name).unwrap();
        format!("{} ({})", entry.value.rsplit('/').next().unwrap(), entry.source)
    }

    #[test]
    fn flag_overrides_environment_overrides_file_overrides_default() {
        let flags = CommandLineSettings {
            db: Some("flag.db".into()),
            profile: Some("test".into()),
            base_url: Some("flag.example".into()),
            rps: Some(3.0),
            state_dir: Some("flag-state".into()),
            color: Some(ColorChoice::Auto),
            is_ascii: true,
            is_plain: true,
            ..CommandLineSettings::default()
        };
        let variables = [
            ("HOPTOP_DB", "env.db"),
            ("HOPTOP_PROFILE", "default"),
            ("HOPTOP_BASE_URL", "env.example"),
            ("HOPTOP_RPS", "2.5"),
            ("HOPTOP_STATE_DIR", "env-state"),
            ("NO_COLOR", "1"),
            ("CLICOLOR_FORCE", "1"),
            ("ACCESSIBLE", "1"),
        ];
        let empty = variables.map(|(name, _)| (name, ""));
        let all = settings(flags, &variables, Some(FILE)).unwrap();
        let env = settings(CommandLineSettings::default(), &variables, Some(FILE)).unwrap();
        let file = settings(CommandLineSettings::default(), &empty, Some(FILE)).unwrap();
        let none = settings(CommandLineSettings::default(), &empty, None).unwrap();
        // The values with flags, environment, file and nothing set, each with its source in brackets.
        let table = [
            ("db", "flag.db (--db) | env.db (HOPTOP_DB) | shop.db (db in the config file) | hoptop.db (default)"),
            (
                "profile",
                "test (--profile) | default (HOPTOP_PROFILE) | prod (default_profile in the config file) | default (default)",
            ),
            (
                "base_url",
                "flag.example (--base-url) | env.example (HOPTOP_BASE_URL) \
                 | file.example (profiles.prod.base_url in the config file) |  (default)",
            ),
            ("rps", "3 (--rps) | 2.5 (HOPTOP_RPS) | 10 (profiles.prod.rps in the config file) | 1 (default)"),
            (
                "state_dir",
                "flag-state (--state-dir) | env-state (HOPTOP_STATE_DIR) | hoptop (default) | hoptop (default)",
            ),
            ("color", "auto (--color) | never (NO_COLOR) | always (color in the config file) | auto (default)"),
            (
                "ascii",
                "true (--ascii) | true (ascii in the config file) | true (ascii in the config file) | false (default)",
            ),
            ("plain", "true (--plain) | true (ACCESSIBLE) | false (default) | false (default)"),
        ];
        for (name, expected) in table {
            assert_eq!([&all, &env, &file, &none].map(|settings| entry(settings, name)).join(" | "), expected);
        }
        assert_eq!((all.rps, none.color, none.base_url), (3.0, ColorChoice::Auto, None));
        assert!(none.db.ends_with(".local/share/hoptop/hoptop.db") && file.db.ends_with(".config/hoptop/shop.db"));
    }

    #[test]
    fn additional_profiles_take_their_settings_from_the_file() {
        let file = format!("beside = ['test', 'prod', 'test', 'default']\n{FILE}");
        let variables =
            [("HOPTOP_RPS", "3"), ("HOPTOP_BASE_URL", "https://env.example"), ("HOPTOP_INTEGRATOR_ID", CANARY)];
        let shown = |settings: &Settings| {
            let of = |account: &ProfileConnection| {
                let url = account.base_url.as_deref().unwrap_or("-");
                format!("{} {url} {} {}", account.profile, account.rps, account.id.is_some())
            };
            settings.beside.iter().map(of).collect::<Vec<_>>()
        };
        let both = settings(CommandLineSettings::default(), &variables, Some(&file)).unwrap();
        assert_eq!(shown(&both), ["test https://env.example 3 true", "default https://env.example 3 false"]);
        assert_eq!(entry(&both, "beside"), "test, default (beside in the config file)");
        let flags = |name: &str| CommandLineSettings {
            beside: vec![name.into()],
            profile: Some("test".into()),
            ..CommandLineSettings::default()
        };
        let one = settings(flags("prod"), &[("SHOP_ID", CANARY)], Some(&file)).unwrap();
        assert_eq!(shown(&one), ["prod https://file.example 10 true"]);
        let unknown = settings(flags("prd"), &[], Some(&file)).unwrap_err();
        assert_eq!(unknown, "no profile `prd` (--beside); did you mean `prod`? known profiles: default, prod, test");
        let wrong = format!("{file}\nrps = 0");
        let wrong = settings(CommandLineSettings::default(), &[], Some(&wrong)).unwrap_err();
        assert!(
            wrong.starts_with("0 is not a valid rate in requests per second (profiles.test.rps in the config file)"),
            "{wrong}"
        );
    }

    #[test]
    fn colour_follows_no_color_and_clicolor_force() {
        let table = [
            (vec![("CLICOLOR_FORCE", "1")], ColorChoice::Always),
            (vec![("CLICOLOR_FORCE", "0")], ColorChoice::Auto),
            (vec![("NO_COLOR", "0")], ColorChoice::Never),
            (vec![("NO_COLOR", "")], ColorChoice::Auto),
        ];
        for (variables, color) in table {
            assert_eq!(
                settings(CommandLineSettings::default(), &variables, None).unwrap().color,
                color,
                "{variables:?}"
            );
        }
    }

    #[test]
    fn name_comes_from_the_variable_or_the_file_and_is_cleaned() {
        let file = "[me]\nname = ' Ana\tB. '";
        let long = "x".repeat(99);
        let author = |variable: &str, file: Option<&str>| {
            let settings = settings(CommandLineSettings::default(), &[("HOPTOP_NAME", variable)], file).unwrap();
            let entry = settings.entries.iter().find(|entry| entry.name == "me.name").unwrap();
            assert_eq!(entry.value, settings.author.clone().unwrap_or_default());
            settings.author
        };
        assert_eq!(author("", None), None);
        assert_eq!(author("", Some(file)).as_deref(), Some("Ana B."));
        assert_eq!(author("Bob\u{7}", Some(file)).as_deref(), Some("Bob"));
        assert_eq!(author(" \u{7}", None), None);
        assert_eq!(author(&long, None).map(|name| name.len()), Some(64));
    }

    #[test]
    fn errors_name_the_source_and_the_fix() {
        let flag = |rps| CommandLineSettings { rps: Some(rps), ..CommandLineSettings::default() };
        let profile = || CommandLineSettings { profile: Some("prd".into()), ..CommandLineSettings::default() };
        let config =
            || CommandLineSettings { config: Some("/nowhere/config.toml".into()), ..CommandLineSettings::default() };
        let none = CommandLineSettings::default;
        let range = "give a number above 0 and up to 1000";
        let table: [(CommandLineSettings, Variables, Option<&str>, String); 11] = [
            (flag(0.0), &[], None, format!("0 is not a valid rate in requests per second (--rps); {range}")),
            (flag(f64::NAN), &[], None, format!("NaN is not a valid rate in requests per second (--rps); {range}")),
            (flag(f64::INFINITY), &[], None, format!("inf is not a valid rate in requests per second (--rps); {range}")),
            (none(), &[("HOPTOP_RPS", "1001")], None, format!("1001 is not a valid rate in requests per second (HOPTOP_RPS); {range}")),
            (
                none(),
                &[("HOPTOP_RPS", CANARY)],
                None,
                format!("the given text is not a valid rate in requests per second (HOPTOP_RPS); {range}"),
            ),
            (
                none(),
                &[],
                Some("[profiles.default]\nrps = -1"),
                format!("-1 is not a valid rate in requests per second (profiles.default.rps in the config file); {range}"),
            ),
            (profile(), &[], Some(FILE), "no profile `prd` (--profile); did you mean `prod`? known profiles: default, prod, test".into()),
            (none(), &[("HOPTOP_PROFILE", "prd")], None, "no profile `prd` (HOPTOP_PROFILE); known profiles: default".into()),
            (
                none(),
                &[],
                Some("default_profile = 'x'"),
                "no profile `x` (default_profile in the config file); known profiles: default".into(),
            ),
            (
                none(),
                &[],
                Some("\nasci = true"),
                "HOME/.config/hoptop/config.toml, line 2: unknown key `asci`; did you mean `ascii`? \
                 known keys: db, store, store_password_env, store_password_file, store_password_command, team, default_profile, beside, color, ascii, theme, clipboard, mouse, notify, bell, on_alert, on_event, events, webhook, webhook_secret_env, webhook_secret_file, webhook_secret_command, webhook_headers, hyperlinks, keep_bodies, me, answer, weights, keys, chains, profiles"
                    .into(),
            ),
            (
                config(),
                &[],
                None,
                "can't read the config file /nowhere/config.toml (--config): No such file or directory (os error 2)"
                    .into(),
            ),
        ];
        for (flags, variables, file, expected) in table {
            assert_eq!(settings(flags, variables, file).unwrap_err(), expected);
        }
    }

    #[test]
    fn missing_home_folder_error_names_the_flags() {
        let env = Environment::fixed(&[], None);
        let store = load(CommandLineSettings::default(), &env).unwrap_err().to_string();
        assert_eq!(store, "no home folder, so the store has no default path; give --db PATH, or set HOPTOP_DB or HOME");
        let flags = CommandLineSettings { db: Some("a.db".into()), ..CommandLineSettings::default() };
        let state = load(flags.clone(), &env).unwrap_err().to_string();
        assert!(state.contains("--state-dir PATH") && state.contains("HOPTOP_STATE_DIR"), "{state}");
        let settings = load(CommandLineSettings { state_dir: Some("s".into()), ..flags }, &env).unwrap();
        assert_eq!(settings.config_file, None);
        assert!(settings.polling().unwrap_err().to_string().ends_with("under [profiles.default] in the config file"));
    }

    fn polling(variables: &[(&str, &str)], file: Option<&str>) -> Result<super::super::PollingSettings, String> {
        let home = home(file);
        let env = Environment::fixed(variables, Some(home.path()));
        let settings = load(CommandLineSettings::default(), &env).unwrap();
        let polling = settings.polling();
        let printed = format!("{env:?} {settings:?} {:?} {:?} {polling:?}", settings.id_source(), settings.entries);
        assert!(!printed.contains("canary"), "{printed}");
        polling.map_err(|error| error.to_string().replace(&home.path().display().to_string(), "HOME"))
    }

    #[test]
    fn polling_error_names_the_missing_setting() {
        const URL: (&str, &str) = ("HOPTOP_BASE_URL", "https://api.example");
        let file = "HOME/.config/hoptop/config.toml";
        let table: [(Variables, Option<&str>, String); 6] = [
            (
                &[],
                None,
                format!(
                    "no base URL: polling needs it; give --base-url URL, set HOPTOP_BASE_URL, or put base_url under [profiles.default] in {file}"
                ),
            ),
            (
                &[URL],
                None,
                format!(
                    "no integrator ID: polling needs it; set HOPTOP_INTEGRATOR_ID, or integrator_id_env, integrator_id_file or \
                integrator_id_command under [profiles.default] in {file}"
                ),
            ),
            (
                &[("SHOP_ID", "")],
                Some(FILE),
                format!(
                    "no integrator ID: SHOP_ID is not set; set it, or change integrator_id_env under [profiles.prod] in {file}"
                ),
            ),
            // The ID in the place of the variable's name isn't printed.
            (
                &[URL],
                Some("[profiles.default]\nintegrator_id_env = \"prod-5f2a\""),
                format!(
                    "no integrator ID: a variable whose name has other characters than letters, digits and `_` is not set; set it, or change integrator_id_env under [profiles.default] in {file}"
                ),
            ),
            (
                &[URL, ("HOPTOP_INTEGRATOR_ID", "canary\nid")],
                None,
                "the integrator ID from HOPTOP_INTEGRATOR_ID can't be used: it contains a space, a line break or another character that an HTTP header can't contain"
                    .into(),
            ),
            (
                &[URL, ("HOPTOP_PROFILE", "test")],
                Some(FILE),
                "no integrator ID from the file HOME/secrets/id: No such file or directory (os error 2)".into(),
            ),
        ];
        for (variables, file, expected) in table {
            assert_eq!(polling(variables, file).unwrap_err(), expected);
        }
    }

    #[test]
    fn profile_with_several_keys_for_the_id_is_refused() {
        let [env, file, command] =
            ["integrator_id_env = 'SHOP_ID'", "integrator_id_file = '/id'", "integrator_id_command = 'pass shop'"];
        let table = [
            (vec![env, file], "integrator_id_env and integrator_id_file"),
            (vec![env, command], "integrator_id_env and integrator_id_command"),
            (vec![command, file], "integrator_id_file and integrator_id_command"),
            (vec![env, file, command], "integrator_id_env and integrator_id_file"),
        ];
        for (keys, named) in table {
            let profile = format!("[profiles.shop]\n{}\n", keys.join("\n"));
            let expected =
                format!("HOME/.config/hoptop/config.toml: the profile `shop` has both {named}; keep one of them");
            // The ID in the environment comes first, but the profile is wrong all the same.
            let variables = [("HOPTOP_PROFILE", "shop"), ("HOPTOP_INTEGRATOR_ID", CANARY)];
            assert_eq!(settings(CommandLineSettings::default(), &variables, Some(&profile)).unwrap_err(), expected);
            let beside = CommandLineSettings { beside: vec!["shop".into()], ..CommandLineSettings::default() };
            assert_eq!(settings(beside, &[], Some(&profile)).unwrap_err(), expected);
            // A profile that isn't used has no effect.
            assert!(settings(CommandLineSettings::default(), &[], Some(&profile)).is_ok());
        }
    }

    #[test]
    fn id_is_read_from_its_source_and_never_printed() {
        let command = format!("[profiles.default]\nintegrator_id_command = 'echo {CANARY}'");
        const URL: (&str, &str) = ("HOPTOP_BASE_URL", "https://api.example");
        let sources: [(Variables, Option<&str>); 4] = [
            (&[URL, ("HOPTOP_INTEGRATOR_ID", CANARY)], None),
            (&[URL, ("HOPTOP_INTEGRATOR_ID", CANARY), ("SHOP_ID", "other-integrator-id")], Some(FILE)),
            (&[URL, ("HOPTOP_INTEGRATOR_ID", ""), ("SHOP_ID", CANARY)], Some(FILE)),
            (&[URL], Some(&command)),
        ];
        for (variables, file) in sources {
            let polling = polling(variables, file).unwrap();
            assert_eq!((polling.id.expose(), polling.warnings.len()), (CANARY, 0));
        }
    }

    #[test]
    fn file_with_the_id_is_named_by_a_variable() {
        const URL: (&str, &str) = ("HOPTOP_BASE_URL", "https://api.example");
        const ID_FILE: (&str, &str) = ("HOPTOP_INTEGRATOR_ID_FILE", "/no/such/id");
        // The variable comes before the profile.
        let missing = polling(&[URL, ID_FILE, ("SHOP_ID", CANARY)], Some(FILE)).unwrap_err();
        assert!(missing.starts_with("no integrator ID from the file /no/such/id"), "{missing}");
        let both = settings(CommandLineSettings::default(), &[ID_FILE, ("HOPTOP_INTEGRATOR_ID", CANARY)], Some(FILE))
            .unwrap_err();
        assert_eq!(
            both,
            "the environment has both HOPTOP_INTEGRATOR_ID and HOPTOP_INTEGRATOR_ID_FILE; keep one of them"
        );
    }

    #[test]
    fn label_weights_are_read_from_the_file_and_shown() {
        let settings =
            settings(CommandLineSettings::default(), &[], Some("[weights]\nvip = 4\n\"batch 9\" = 0.5")).unwrap();
        assert_eq!(settings.weights, BTreeMap::from([("batch 9".to_owned(), 0.5), ("vip".to_owned(), 4.0)]));
        assert_eq!(entry(&settings, "weights"), "batch 9 = 0.5, vip = 4 (weights in the config file)");
    }
}
