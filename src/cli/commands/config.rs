//! `hoptop config`: prints every setting with its value and source, or a config file template.
//!
//! The command must never show more of the integrator ID than its last four characters.

use std::io::Write;

use clap::Args;
use color_eyre::eyre::Result;
use serde::Serialize;

use crate::{
    cli::output::schema::Schema,
    config::{SettingEntry, Settings},
    domain::text,
    runtime::exit::Exit,
};

/// A config file that explains every setting and sets none.
const TEMPLATE: &str = include_str!("../../../assets/config.toml");

/// The text below the options in the help.
pub(crate) const EXAMPLES: &str = "\
Examples:
  # Print the effective settings and their sources
  hoptop config
  # Print the settings of another profile
  hoptop --profile test config
  # Write a config file with every setting, commented out
  hoptop config --template > ~/.config/hoptop/config.toml";

/// The arguments of `hoptop config`.
#[derive(Args, Debug)]
pub(crate) struct ConfigArgs {
    /// Print a config file template with every setting commented out
    #[arg(long)]
    pub template: bool,
    /// Print one JSON object
    #[arg(long, conflicts_with = "template")]
    pub json: bool,
}

/// The settings as `--json` prints them.
#[derive(Serialize)]
struct ConfigView {
    schema: Schema,
    settings: Vec<SettingView>,
}

#[derive(Serialize)]
struct SettingView {
    name: &'static str,
    /// `None` if the setting isn't set.
    value: Option<String>,
    source: String,
}

/// Prints the template.
pub(crate) fn template(out: &mut dyn Write) -> Result<Exit> {
    out.write_all(TEMPLATE.as_bytes())?;
    Ok(Exit::Success)
}

/// Prints each setting: name, value and source.
pub(crate) fn config(args: &ConfigArgs, settings: &Settings, out: &mut dyn Write) -> Result<Exit> {
    let integrator_id = settings.integrator_id().map(|(id, _)| id);
    let (id, source) = match (settings.id_source(), &integrator_id) {
        (Some(source), Ok(id)) => (id.last4(), source),
        (Some(source), Err(error)) => (format!("unusable: {error}"), source),
        (None, _) => (String::new(), "default".to_owned()),
    };
    // Another setting may contain the ID by mistake.
    let redacted = |value: &str| match &integrator_id {
        Ok(id) => id.redact(value.to_owned()),
        Err(_) => value.to_owned(),
    };
    let view = |name: &'static str, value: &str, source: &str| SettingView {
        name,
        value: text::clean_or_none(value),
        source: text::clean(source),
    };
    let entries = settings.entries.iter();
    let mut views: Vec<_> =
        entries.map(|SettingEntry { name, value, source }| view(name, &redacted(value), &source.to_string())).collect();
    views.push(view("integrator_id", &id, &source));
    if args.json {
        writeln!(out, "{}", serde_json::to_string(&ConfigView { schema: Schema::Config, settings: views })?)?;
        return Ok(Exit::Success);
    }
    for SettingView { name, value, source } in views {
        writeln!(out, "{name:<14}  {}  ({source})", value.as_deref().unwrap_or("-"))?;
    }
    Ok(Exit::Success)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::config::{self, CommandLineSettings, Environment};

    const CANARY: &str = "canary-integrator-7f3a";

    fn settings(file: &str) -> (tempfile::TempDir, Settings) {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir_all(home.path().join(".config/hoptop")).unwrap();
        fs::write(home.path().join(".config/hoptop/config.toml"), file).unwrap();
        let env = Environment::fixed(&[("PROD_INTEGRATOR_ID", CANARY)], Some(home.path()));
        let settings =
            config::load(CommandLineSettings { rps: Some(3.0), ..CommandLineSettings::default() }, &env).unwrap();
        (home, settings)
    }

    fn printed(settings: &Settings) -> String {
        let mut out = Vec::new();
        config(&ConfigArgs { template: false, json: false }, settings, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn each_setting_has_its_source_and_the_id_shows_only_its_end() {
        let file = "default_profile = 'prod'\n[profiles.prod]\nbase_url = 'https://api.example'\n\
                    integrator_id_env = 'PROD_INTEGRATOR_ID'";
        let (_home, settings) = settings(file);
        let printed = printed(&settings);
        assert!(!printed.contains("canary"), "{printed}");
        for line in [
            "profile         prod  (default_profile in the config file)",
            "base_url        https://api.example  (profiles.prod.base_url in the config file)",
            "rps             3  (--rps)",
            "keep_bodies     -  (default)",
        ] {
            assert!(printed.lines().any(|printed| printed == line), "{line}\n{printed}");
        }
        assert!(printed.lines().any(|line| line.starts_with("integrator_id   …7f3a  (")), "{printed}");
    }

    #[test]
    fn id_in_another_setting_is_not_printed() {
        let file = format!(
            "default_profile = 'prod'\nclipboard = ['put', '{CANARY}']\n[profiles.prod]\n\
             base_url = 'https://me:{CANARY}@api.example/v1?id={CANARY}'\nintegrator_id_env = 'PROD_INTEGRATOR_ID'"
        );
        let (_home, known) = settings(&file);
        let (_home, unknown) = settings(&file.replace("PROD_INTEGRATOR_ID", "UNSET").replace("'put', ", "'put'] #"));
        for settings in [known, unknown] {
            let printed = printed(&settings);
            assert!(!printed.contains("canary"), "{printed}");
            assert!(printed.contains("base_url        https://...@api.example/v1?...  ("), "{printed}");
        }
    }

    #[test]
    fn template_is_valid_unchanged_and_with_every_example_enabled() {
        let (_home, as_it_is) = settings(TEMPLATE);
        assert!(printed(&as_it_is).contains("integrator_id   -  (default)"));
        let whole: String = TEMPLATE
            .lines()
            .filter(|line| !line.starts_with("# "))
            .map(|line| format!("{}\n", line.strip_prefix('#').unwrap_or(line)))
            .collect();
        let (_home, whole) = settings(&whole);
        let unset: Vec<_> = whole.entries.iter().filter(|entry| entry.value.is_empty()).collect();
        assert!(unset.is_empty(), "{unset:?}");
        assert!(whole.answer.markdown.is_some() && whole.answer.text.is_some());
        assert_eq!(printed(&whole).lines().last().unwrap().split_whitespace().nth(1), Some("…7f3a"));
    }
}
