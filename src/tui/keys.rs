//! Which key stands for which command: the table's own, and what a person put in their place.
//!
//! It must never let a key stand for two commands at one place: that is refused before the screen opens.

use std::collections::BTreeMap;

use super::{
    command::{COMMANDS, Command, Context, Id},
    keymap,
};

/// Commands and their keys, in the table's order.
#[derive(Clone, Debug)]
pub struct Keys(Vec<(&'static Command, Vec<String>)>);

/// Why keys can't be as the config file says.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// There is no such command.
    #[error("keys: there is no command `{name}`{}; `?` in the dashboard names all of them", hint(.nearest))]
    NoCommand {
        /// What stands there.
        name: String,
        /// The most similar name of a command.
        nearest: Option<&'static str>,
    },
    /// There is no such key.
    #[error(
        "keys: `{key}` for {command} is no key; write one as j, ^D, Enter, Esc, Tab, Space, Up, Down, Left, Right, PgUp, PgDn, Home or End"
    )]
    NoKey {
        /// What stands there.
        key: String,
        /// For which command.
        command: &'static str,
    },
    /// One key would stand for two commands.
    #[error(
        "keys: `{key}` would stand for both {first} and {second} {place}; give one of them another key, or none: {second} = []"
    )]
    Conflict {
        /// The key.
        key: String,
        /// A command.
        first: &'static str,
        /// Another one.
        second: &'static str,
        /// Where both apply.
        place: &'static str,
    },
}

fn hint(nearest: &Option<&'static str>) -> String {
    nearest.map_or_else(String::new, |name| format!(", did you mean `{name}`?"))
}

impl Default for Keys {
    /// As the table has them.
    fn default() -> Self {
        let own = |command: &'static Command| (command, command.keys.iter().map(|key| (*key).to_owned()).collect());
        Self(COMMANDS.iter().map(own).collect())
    }
}

impl Keys {
    /// The table's, but for commands that a person gave other keys, by their names.
    ///
    /// # Errors
    /// If a command or a key doesn't exist, or a key would stand for two commands.
    pub fn new(own: &BTreeMap<String, Vec<String>>) -> Result<Self, KeyError> {
        let mut keys = Self::default();
        for (name, wanted) in own {
            let Some((command, keys)) = keys.0.iter_mut().find(|(command, _)| command.name == name) else {
                return Err(KeyError::NoCommand { name: name.clone(), nearest: nearest(name) });
            };
            if let Some(key) = wanted.iter().find(|key| keymap::parse(key).is_none()) {
                return Err(KeyError::NoKey { key: key.clone(), command: command.name });
            }
            keys.clone_from(wanted);
        }
        keys.conflict().map_or(Ok(keys), Err)
    }

    fn conflict(&self) -> Option<KeyError> {
        for (index, (second, keys)) in self.0.iter().enumerate() {
            for (first, others) in self.0.iter().take(index) {
                let shared = first.contexts.iter().find(|context| second.contexts.contains(context));
                let key = keys.iter().find(|key| others.contains(key));
                if let (Some(context), Some(key)) = (shared, key) {
                    let (first, second) = (first.name, second.name);
                    return Some(KeyError::Conflict { key: key.clone(), first, second, place: context.place() });
                }
            }
        }
        None
    }

    /// Every command with its keys, in the table's order.
    pub fn all(&self) -> impl Iterator<Item = (&'static Command, &[String])> {
        self.0.iter().map(|(command, keys)| (*command, keys.as_slice()))
    }

    /// The keys of a command.
    pub fn of(&self, id: Id) -> &[String] {
        self.all().find(|(command, _)| command.id == id).map_or(&[], |(_, keys)| keys)
    }

    /// How a sentence names a command: its first key, or what is typed if it has none.
    pub fn shown(&self, id: Id) -> String {
        let command = self.all().find(|(command, _)| command.id == id);
        let shown = |(command, keys): (&Command, &[String])| {
            keys.first().cloned().unwrap_or_else(|| format!(":{}", command.name))
        };
        command.map(shown).unwrap_or_default()
    }

    /// The command that a key stands for where these contexts apply, the first before the others.
    pub fn lookup(&self, contexts: &[Context], key: &str) -> Option<Id> {
        let within = |context: &Context| {
            let mut meant = self
                .all()
                .filter(|(command, keys)| command.contexts.contains(context) && keys.iter().any(|own| own == key));
            meant.next()
        };
        contexts.iter().find_map(within).map(|(command, _)| command.id)
    }

    /// The footer's commands where these contexts apply: their first key, and one or two words.
    pub fn hints(&self, contexts: &[Context]) -> impl Iterator<Item = (&str, &'static str)> {
        // Once, where it applies first.
        let first = |command: &Command| contexts.iter().find(|context| command.contexts.contains(context)).copied();
        let within = move |context: &Context| {
            let context = *context;
            self.all().filter(move |(command, _)| !command.hint.is_empty() && first(command) == Some(context))
        };
        let shown =
            contexts.iter().flat_map(within).filter_map(|(command, keys)| Some((command, keys.first()?.as_str())));
        // What an earlier context has taken the key of isn't meant by it.
        let meant = shown.filter(|(command, key)| self.lookup(contexts, key) == Some(command.id));
        meant.map(|(command, key)| (key, command.hint))
    }
}

/// The most similar name of a command, if any is similar.
fn nearest(name: &str) -> Option<&'static str> {
    let by_distance = COMMANDS.iter().map(|command| (strsim::osa_distance(name, command.name), command.name));
    by_distance.min().filter(|(far, _)| *far <= 3).map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names of commands, each with its keys.
    type Own<'a> = &'a [(&'a str, &'a [&'a str])];

    fn keys(own: Own<'_>) -> Result<Keys, KeyError> {
        let owned = |keys: &[&str]| keys.iter().map(|key| (*key).to_owned()).collect();
        Keys::new(&own.iter().map(|(name, keys)| ((*name).to_owned(), owned(keys))).collect())
    }

    #[test]
    fn own_keys_take_the_place_of_the_table_s() {
        let own = keys(&[("down", &["J", "Down"]), ("poll_now", &[]), ("up", &["j"])]).unwrap();
        assert_eq!(own.lookup(&[Context::List], "J"), Some(Id::Down));
        assert_eq!(own.lookup(&[Context::List], "j"), Some(Id::Up));
        assert_eq!((own.lookup(&[Context::List], "r"), own.lookup(&[Context::List], "k")), (None, None));
        assert_eq!(own.of(Id::Down), ["J", "Down"]);
        assert_eq!([Id::Down, Id::PollNow, Id::Undo].map(|id| own.shown(id)), ["J", ":poll_now", "u"]);
        // What has no key has no place in the footer.
        assert!(own.hints(&[Context::List]).all(|(_, hint)| hint != "poll"));
        assert!(Keys::default().hints(&[Context::List]).any(|hint| hint == ("r", "poll")));
    }

    #[test]
    fn what_can_not_be_is_named_with_the_way_out() {
        let table: [(Own<'_>, &str); 4] = [
            (&[("pol_now", &["r"])], "keys: there is no command `pol_now`, did you mean `poll_now`?"),
            (&[("juggle", &["r"])], "keys: there is no command `juggle`; `?` in the dashboard"),
            (&[("down", &["Ctrl-J"])], "keys: `Ctrl-J` for down is no key; write one as j, ^D"),
            (
                &[("up", &["r"])],
                "keys: `r` would stand for both poll_now and up in the list; give one of them another key, or none: up = []",
            ),
        ];
        for (own, message) in table {
            let error = keys(own).unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}");
        }
    }
}
