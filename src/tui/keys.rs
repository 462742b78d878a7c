//! The key bindings in force: the defaults of the command table, with the replacements from the config file.
//!
//! A key must never have two commands in one context: such settings are refused before the screen opens.

use std::collections::BTreeMap;

use super::{
    command::{COMMANDS, CommandId, KeyCommand, KeyContext},
    key_text,
};

/// Commands and their keys, in the order of the table.
#[derive(Clone, Debug)]
pub struct Keys(Vec<(&'static KeyCommand, Vec<String>)>);

/// An invalid `[keys]` setting of the config file: what is wrong, and the way out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("keys: {0}")]
pub struct KeyError(String);

/// How a key is written, for errors.
const KEY_FORMAT: &str = "write a key as j, ^D, Enter, Esc, Tab, Space, Up, Down, Left, Right, PgUp, PgDn, Home or End";

impl Default for Keys {
    /// Returns the default keys of the table.
    fn default() -> Self {
        let own = |command: &'static KeyCommand| (command, command.keys.iter().map(|key| (*key).to_owned()).collect());
        Self(COMMANDS.iter().map(own).collect())
    }
}

impl Keys {
    /// Returns the default keys, with the keys of the named commands replaced.
    ///
    /// # Errors
    /// An unknown command, an unknown key, or a key that two commands share in one context.
    pub fn new(own: &BTreeMap<String, Vec<String>>) -> Result<Self, KeyError> {
        let mut keys = Self::default();
        for (name, wanted) in own {
            let Some((command, keys)) = keys.0.iter_mut().find(|(command, _)| command.name == name) else {
                let hint = nearest_name(name).map_or_else(String::new, |near| format!(", did you mean `{near}`?"));
                let reason = format!("there is no command `{name}`{hint}; `hoptop help keys` lists all of them");
                return Err(KeyError(reason));
            };
            let parse = |key: &String| {
                let error = || KeyError(format!("`{key}` for {} is not a key; {KEY_FORMAT}", command.name));
                // As a press of the key is named: `^r` is `^R`.
                key_text::parse(key).and_then(key_text::name).ok_or_else(error)
            };
            *keys = wanted.iter().map(parse).collect::<Result<_, _>>()?;
        }
        keys.drop_reassigned_keys(own);
        keys.conflict().map_or(Ok(keys), Err)
    }

    /// Removes default keys that a person gave to another command, but never the last key of a command. So a new
    /// default key breaks no older settings.
    fn drop_reassigned_keys(&mut self, own: &BTreeMap<String, Vec<String>>) {
        let (taken, others): (Vec<_>, Vec<_>) =
            self.0.iter_mut().partition(|(command, _)| own.contains_key(command.name));
        for (command, keys) in others {
            let is_taken = |key: &String| {
                let shares =
                    |other: &KeyCommand| other.contexts.iter().any(|context| command.contexts.contains(context));
                taken.iter().any(|(other, others)| shares(other) && others.contains(key))
            };
            if keys.iter().any(|key| !is_taken(key)) {
                keys.retain(|key| !is_taken(key));
            }
        }
    }

    fn conflict(&self) -> Option<KeyError> {
        for (index, (second, keys)) in self.0.iter().enumerate() {
            for (first, others) in self.0.iter().take(index) {
                let shared = first.contexts.iter().find(|context| second.contexts.contains(context));
                let key = keys.iter().find(|key| others.contains(key));
                if let (Some(context), Some(key)) = (shared, key) {
                    let (first, second, context) = (first.name, second.name, context.description());
                    return Some(KeyError(format!(
                        "`{key}` is bound to both {first} and {second} {context}; give one of them another key, or none: {second} = []"
                    )));
                }
            }
        }
        None
    }

    /// Returns every command with its keys, in the order of the table.
    pub fn all(&self) -> impl Iterator<Item = (&'static KeyCommand, &[String])> {
        self.0.iter().map(|(command, keys)| (*command, keys.as_slice()))
    }

    /// Returns the keys of a command.
    pub fn of(&self, id: CommandId) -> &[String] {
        self.all().find(|(command, _)| command.id == id).map_or(&[], |(_, keys)| keys)
    }

    /// Returns the name of a command in a sentence: the first key, or `:name` if the command has no key.
    pub fn shown(&self, id: CommandId) -> String {
        let name = || COMMANDS.iter().find(|command| command.id == id).map(|command| format!(":{}", command.name));
        self.first_key(id).map(str::to_owned).or_else(name).unwrap_or_default()
    }

    /// Returns the first key of a command, if the command has a key.
    pub fn first_key(&self, id: CommandId) -> Option<&str> {
        self.of(id).first().map(String::as_str)
    }

    /// Returns the command of a key. Earlier contexts take precedence.
    pub fn lookup(&self, contexts: &[KeyContext], key: &str) -> Option<CommandId> {
        let within = |context: &KeyContext| self.of_key(key).find(|command| command.contexts.contains(context));
        contexts.iter().find_map(within).map(|command| command.id)
    }

    /// Returns the commands of a key in all contexts.
    pub fn of_key(&self, key: &str) -> impl Iterator<Item = &'static KeyCommand> {
        self.all().filter(move |(_, keys)| keys.iter().any(|own| own == key)).map(|(command, _)| command)
    }

    /// Returns the commands for the footer in these contexts: the first key and the hint of each command.
    pub fn hints(&self, contexts: &[KeyContext]) -> impl Iterator<Item = (CommandId, &str, &'static str)> {
        // Each command appears once, in the first context that has it.
        let first = |command: &KeyCommand| contexts.iter().find(|context| command.contexts.contains(context)).copied();
        let within = move |context: &KeyContext| {
            let context = *context;
            self.all().filter(move |(command, _)| !command.hint.is_empty() && first(command) == Some(context))
        };
        let shown =
            contexts.iter().flat_map(within).filter_map(|(command, keys)| Some((command, keys.first()?.as_str())));
        // A key that an earlier context binds to another command does not run this one.
        let matching = shown.filter(|(command, key)| self.lookup(contexts, key) == Some(command.id));
        matching.map(|(command, key)| (command.id, key, command.hint))
    }
}

/// Returns the most similar name of a command, if any is similar.
fn nearest_name(name: &str) -> Option<&'static str> {
    let by_distance = COMMANDS.iter().map(|command| (strsim::osa_distance(name, command.name), command.name));
    by_distance.min().filter(|(far, _)| *far <= 3).map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Settings as in the config file: names of commands, each with its keys.
    type KeySettings<'a> = &'a [(&'a str, &'a [&'a str])];

    fn keys(own: KeySettings<'_>) -> Result<Keys, KeyError> {
        let owned = |keys: &[&str]| keys.iter().map(|key| (*key).to_owned()).collect();
        Keys::new(&own.iter().map(|(name, keys)| ((*name).to_owned(), owned(keys))).collect())
    }

    #[test]
    fn configured_keys_replace_the_default_keys() {
        let own = keys(&[("down", &["J", "Down"]), ("poll_now", &[]), ("up", &["j"])]).unwrap();
        assert_eq!(own.lookup(&[KeyContext::List], "J"), Some(CommandId::Down));
        assert_eq!(own.lookup(&[KeyContext::List], "j"), Some(CommandId::Up));
        assert_eq!((own.lookup(&[KeyContext::List], "r"), own.lookup(&[KeyContext::List], "k")), (None, None));
        assert_eq!(own.of(CommandId::Down), ["J", "Down"]);
        assert_eq!(
            [CommandId::Down, CommandId::PollNow, CommandId::Undo].map(|id| own.shown(id)),
            ["J", ":poll_now", "u"]
        );
        // The footer leaves out commands without a key.
        assert!(own.hints(&[KeyContext::List]).all(|(_, _, hint)| hint != "poll"));
        assert!(Keys::default().hints(&[KeyContext::List]).any(|hint| hint == (CommandId::PollNow, "r", "poll")));
    }

    #[test]
    fn control_key_is_the_same_in_small_letters() {
        let own = keys(&[("poll_now", &["^r"])]).unwrap();
        assert_eq!(
            (own.lookup(&[KeyContext::List], "^R"), own.shown(CommandId::PollNow)),
            (Some(CommandId::PollNow), "^R".to_owned())
        );
        assert!(keys(&[("poll_now", &["^x"]), ("down", &["^X"])]).is_err());
    }

    #[test]
    fn invalid_setting_is_reported_with_a_way_out() {
        let table: [(KeySettings<'_>, &str); 4] = [
            (&[("pol_now", &["r"])], "keys: there is no command `pol_now`, did you mean `poll_now`?"),
            (&[("juggle", &["r"])], "keys: there is no command `juggle`; `hoptop help keys`"),
            (&[("down", &["Ctrl-J"])], "keys: `Ctrl-J` for down is not a key; write a key as j, ^D"),
            (
                &[("up", &["r"])],
                "keys: `r` is bound to both poll_now and up in the list; give one of them another key, or none: up = []",
            ),
        ];
        for (own, message) in table {
            let error = keys(own).unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}");
        }
    }
}
