//! The structure of the config file. Errors name the line and the nearest valid key (`cases.md` 58).
//!
//! The file holds the source of an integrator ID and never the ID. A message must never repeat an invalid value, which
//! may be an ID in the wrong place.

use std::{collections::BTreeMap, fmt, path::PathBuf, time::Duration};

use serde::{
    Deserialize, Deserializer,
    de::{Error, SeqAccess, Visitor},
};

use super::ColorChoice;
use crate::domain::{
    notification::{NotificationMode, NotifiedEvent},
    reply::ReplyTemplates,
    span,
    text::clean,
    toml_text::{self, TomlError},
};

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ConfigFile {
    /// The path of the store.
    pub db: Option<PathBuf>,
    /// The URL of the team's store.
    pub store: Option<String>,
    /// The variable that holds the password of the team's store.
    pub store_password_env: Option<String>,
    /// The file that holds the password of the team's store and nothing else.
    pub store_password_file: Option<PathBuf>,
    /// The command that prints the password of the team's store and nothing else.
    pub store_password_command: Option<Argv>,
    /// This machine's part in the team.
    #[serde(default)]
    pub team: TeamEntry,
    /// The profile to use if no other source names one.
    pub default_profile: Option<String>,
    /// The profiles that the dashboard polls and shows in addition to the active profile.
    #[serde(default)]
    pub beside: Vec<String>,
    /// When to use colour.
    pub color: Option<ColorChoice>,
    /// Whether to draw with ASCII characters only.
    pub ascii: Option<bool>,
    /// The theme of the dashboard: the name of a built-in theme, or the path of a theme file.
    pub theme: Option<String>,
    /// The command that reads a text from its standard input and copies it to the clipboard.
    pub clipboard: Option<Argv>,
    /// Whether the dashboard responds to the mouse.
    pub mouse: Option<bool>,
    /// How the dashboard notifies of alerts on the desktop.
    pub notify: Option<NotificationMode>,
    /// Whether the bell rings with a notification.
    pub bell: Option<bool>,
    /// The command that receives each event on its standard input. The former name is accepted.
    #[serde(alias = "on_alert")]
    pub on_event: Option<Argv>,
    /// The events that the command and the webhook receive.
    pub events: Option<Vec<NotifiedEvent>>,
    /// The address that each event is posted to.
    pub webhook: Option<String>,
    /// The variable that holds the secret of the webhook's signature.
    pub webhook_secret_env: Option<String>,
    /// The file that holds the secret of the webhook's signature and nothing else.
    pub webhook_secret_file: Option<PathBuf>,
    /// The command that prints the secret of the webhook's signature and nothing else.
    pub webhook_secret_command: Option<Argv>,
    /// Headers of the webhook's requests: for each name, the variable that holds the value.
    #[serde(default)]
    pub webhook_headers: BTreeMap<String, String>,
    /// Whether links on the screen are terminal hyperlinks as well.
    pub hyperlinks: Option<bool>,
    /// How long bodies of settled transactions are kept; for ever if unset.
    pub keep_bodies: Option<Retention>,
    /// The person who uses hoptop.
    #[serde(default)]
    pub me: PersonSettings,
    /// Templates for the reply to a ticket.
    #[serde(default)]
    pub answer: ReplyTemplates,
    /// The weight of a delay for transactions with these labels.
    #[serde(default)]
    pub weights: BTreeMap<String, DelayWeight>,
    /// Keys of the dashboard, by the names of their commands. The dashboard validates the names.
    #[serde(default)]
    pub keys: BTreeMap<String, KeyNames>,
    /// The nodes of chains, by the chain's ID.
    #[serde(default)]
    pub chains: BTreeMap<String, ChainNode>,
    /// The profiles by name.
    #[serde(default)]
    pub profiles: BTreeMap<String, ProfileEntry>,
}

/// The person who uses hoptop.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PersonSettings {
    /// The person's name on notes, tickets, labels and handled alerts.
    pub name: Option<String>,
}

/// A profile: a base URL, one integrator ID by reference, and its budget.
#[derive(Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ProfileEntry {
    /// The base URL of the service.
    pub base_url: Option<String>,
    /// The limit in requests per second.
    pub rps: Option<f64>,
    /// The variable that holds the integrator ID.
    pub integrator_id_env: Option<String>,
    /// The file that holds the integrator ID and nothing else.
    pub integrator_id_file: Option<PathBuf>,
    /// The command that prints the integrator ID and nothing else.
    pub integrator_id_command: Option<Argv>,
    /// The URL of the team's store.
    pub store: Option<String>,
    /// The variable that holds the password of the team's store.
    pub store_password_env: Option<String>,
    /// The file that holds the password of the team's store and nothing else.
    pub store_password_file: Option<PathBuf>,
    /// The command that prints the password of the team's store and nothing else.
    pub store_password_command: Option<Argv>,
}

/// The node of a chain. Its address may hold a key.
#[derive(Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ChainNode {
    /// The address, or `service` for the first https address of the service's list.
    pub rpc: Option<String>,
    /// The variable that holds the address.
    pub rpc_env: Option<String>,
    /// The file that holds the address and nothing else.
    pub rpc_file: Option<PathBuf>,
    /// The command that prints the address and nothing else.
    pub rpc_command: Option<Argv>,
    /// The requests per second of the node's host.
    pub rps: Option<f64>,
}

/// This machine's part in the team.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TeamEntry {
    /// The place of this machine in the order in which machines take over polling.
    pub rank: Option<PollingRank>,
    /// Whether this machine's replica leaves the bodies of answers in the database.
    pub light: Option<bool>,
}

/// A place in the order in which machines take over polling, from 0 (first) to 9.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "i64")]
pub(super) struct PollingRank(pub u8);

impl TryFrom<i64> for PollingRank {
    type Error = &'static str;

    fn try_from(rank: i64) -> Result<Self, Self::Error> {
        let rank = u8::try_from(rank).ok().filter(|rank| *rank <= 9);
        rank.map(Self).ok_or("give a whole number from 0 to 9; the machine with the lowest number polls first")
    }
}

/// A retention time of at least an hour.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Retention(pub Duration);

impl TryFrom<String> for Retention {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let kept = span::parse(&text).ok().filter(|kept| *kept >= Duration::from_secs(60 * 60));
        kept.map(Self).ok_or("give a duration of at least one hour, like 36h or 90d")
    }
}

/// The weight of a delay, from 0.01 to 100. The default is 1.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(try_from = "f64")]
pub(super) struct DelayWeight(pub f64);

impl TryFrom<f64> for DelayWeight {
    type Error = &'static str;

    fn try_from(weight: f64) -> Result<Self, Self::Error> {
        let fits = (0.01..=100.0).contains(&weight);
        fits.then_some(Self(weight)).ok_or("choose a weight between 0.01 and 100; the default is 1")
    }
}

/// A program and its arguments, at least the program; no shell is involved.
#[derive(Clone)]
pub(super) struct Argv(pub Vec<String>);

impl<'de> Deserialize<'de> for Argv {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expected = r#"a command, as text or as an array: ["program", "argument"]"#;
        let words = match deserializer.deserialize_any(TextOrArrayVisitor(expected))? {
            // Splitting such a text at blanks would silently run a different command.
            TextOrArray::Text(text) if text.contains(['"', '\'', '\\', '$', '|', ';', '&', '<', '>', '*', '`']) => {
                let reason = r#"a command with quotes or shell characters must be an array: ["sh", "-c", "…"]"#;
                return Err(D::Error::custom(reason));
            }
            TextOrArray::Text(text) => text.split_whitespace().map(str::to_owned).collect(),
            TextOrArray::Array(words) => words,
        };
        match words.first().is_none_or(String::is_empty) {
            true => Err(D::Error::custom("the command is empty")),
            false => Ok(Self(words)),
        }
    }
}

/// The keys of a command: none, one or several.
#[derive(Clone)]
pub(super) struct KeyNames(pub Vec<String>);

impl<'de> Deserialize<'de> for KeyNames {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expected = r#"a key, as "^R", or an array of keys: ["r", "^R"]"#;
        let keys = match deserializer.deserialize_any(TextOrArrayVisitor(expected))? {
            TextOrArray::Text(key) => vec![key],
            TextOrArray::Array(keys) => keys,
        };
        Ok(Self(keys.iter().map(|key| clean(key)).collect()))
    }
}

/// One text, or an array of texts.
enum TextOrArray {
    Text(String),
    Array(Vec<String>),
}

/// Reads one text or an array of texts; the field says what is expected.
struct TextOrArrayVisitor(&'static str);

impl<'de> Visitor<'de> for TextOrArrayVisitor {
    type Value = TextOrArray;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.0)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<TextOrArray, E> {
        Ok(TextOrArray::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<TextOrArray, A::Error> {
        let mut texts = Vec::new();
        while let Some(text) = sequence.next_element()? {
            texts.push(text);
        }
        Ok(TextOrArray::Array(texts))
    }
}

/// Parses the text of the config file, or returns the line of an error and the reason.
pub(super) fn parse(text: &str) -> Result<ConfigFile, TomlError> {
    toml_text::parse(text).map_err(|mut error: TomlError| {
        let reason = match error.unknown_key.as_deref() {
            Some("integrator_id") => {
                "integrator_id: an ID is never written into this file; use integrator_id_env, integrator_id_file or \
                 integrator_id_command"
            }
            Some("store_password") => {
                "store_password: a password is never written into this file; use store_password_env, \
                 store_password_file or store_password_command"
            }
            Some(key @ ("base_url" | "rps" | "integrator_id_env" | "integrator_id_file" | "integrator_id_command")) => {
                &format!("{key}: this key belongs to a profile; put it under [profiles.default]")
            }
            Some(_) | None => return error,
        };
        error.reason = reason.to_owned();
        error
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_a_complete_file() {
        let text = r#"
            db = "hoptop.db"
            default_profile = "prod"
            color = "never"
            ascii = true
            mouse = false
            clipboard = ["wl-copy", "--trim-newline"]
            [weights]
            vip = 4
            "batch 9" = 0.5
            [keys]
            poll_now = "^R"
            untrack = []
            [profiles.prod]
            base_url = "https://api.example"
            rps = 10
            integrator_id_command = "pass show hoptop"
            [profiles.test]
            integrator_id_command = ["sh", "-c", "pass show hoptop | head -1"]
        "#;
        let file = parse(text).ok().unwrap();
        assert_eq!((file.color, file.ascii), (Some(ColorChoice::Never), Some(true)));
        assert_eq!((file.mouse, file.clipboard.unwrap().0.join(" ")), (Some(false), "wl-copy --trim-newline".into()));
        assert_eq!((file.weights["vip"], file.weights["batch 9"]), (DelayWeight(4.0), DelayWeight(0.5)));
        assert_eq!((file.keys["poll_now"].0.as_slice(), file.keys["untrack"].0.len()), (&["^R".to_owned()][..], 0));
        let command = file.profiles["prod"].integrator_id_command.clone().unwrap();
        assert_eq!((command.0[0].as_str(), command.0.len()), ("pass", 3));
        assert_eq!(file.profiles["test"].integrator_id_command.clone().unwrap().0.len(), 3);
        assert_eq!(file.profiles["prod"].rps, Some(10.0));
    }

    #[test]
    fn errors_name_the_line_and_the_nearest_key() {
        let table = [
            ("\nasci = true", 2, "unknown key `asci`; did you mean `ascii`? known keys: db, store, store_password_env"),
            ("[profiles.p]\nrps = 1\nbse_url = 'x'", 3, "unknown key `bse_url`; did you mean `base_url`?"),
            ("[profiles.p]\nqqqqqqqq = 'x'", 2, "unknown key `qqqqqqqq`; known keys: base_url, rps"),
            ("[profile.p]\nrps = 1", 1, "unknown key `profile`; did you mean `profiles`?"),
            ("[profiles.p]\nintegrator_id = 'canary'", 2, "integrator_id: an ID is never written into this file"),
            ("store_password = 'canary'", 1, "store_password: a password is never written into this file"),
            (
                "[profiles.p]\nstore_password = 'canary'",
                2,
                "store_password: a password is never written into this file",
            ),
            ("rps = 10", 1, "rps: this key belongs to a profile; put it under [profiles.default]"),
            ("stor = 'canary'", 1, "unknown key `stor`; did you mean `store`?"),
            ("[team]\nrnk = 1", 2, "unknown key `rnk`; did you mean `rank`? known keys: rank, light"),
            ("[team]\nrank = 10", 2, "rank: give a whole number from 0 to 9; the machine"),
            ("[team]\nrank = -1", 2, "rank: give a whole number from 0 to 9"),
            ("[team]\nrank = 'canary'", 2, "rank: found text, expected a whole number"),
            ("[profiles.p]\n\nrps = 'canary'", 3, "rps: found text, expected a number"),
            ("ascii = 1", 1, "ascii: found a whole number, expected true or false"),
            ("color = 'canary'", 1, "color: found other text, expected one of auto, always, never"),
            ("color = 'alwais'", 1, "expected one of auto, always, never; did you mean `always`?"),
            ("profiles = 'canary'", 1, "profiles: found text, expected a table"),
            (
                "[profiles.p]\nintegrator_id_command = 5",
                2,
                "integrator_id_command: found a whole number, expected a command",
            ),
            ("[profiles.p]\nintegrator_id_command = 'a \"b\"'", 2, "must be an array"),
            ("[profiles.p]\nintegrator_id_command = []", 2, "the command is empty"),
            ("clipboard = 5", 1, "clipboard: found a whole number, expected a command"),
            ("mouse = 'canary'", 1, "mouse: found text, expected true or false"),
            ("keep_bodies = '5m'", 1, "keep_bodies: give a duration of at least one hour"),
            ("[weights]\nvip = 0", 2, "vip: choose a weight between 0.01 and 100"),
            ("[weights]\nvip = 'canary'", 2, "vip: found text"),
            ("[keys]\nup = 5", 2, "up: found a whole number, expected a key, as \"^R\", or an array of keys"),
            ("db = ", 1, "db: "),
            ("[profiles.p]\nrps = 1\nrps = 2", 3, "rps: duplicate key"),
        ];
        for (text, line, part) in table {
            let TomlError { line: at, reason, .. } = parse(text).err().unwrap();
            assert!(at == line && reason.contains(part) && !reason.contains("canary"), "{text}\n{at}: {reason}");
        }
    }
}
