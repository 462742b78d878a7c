//! THE table of commands: name, help, default keys, where each applies.
//!
//! It drives dispatch, the footer, the help and the README's key table; a key that isn't here does nothing.

/// Where a command applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Context {
    /// The list has the focus.
    List,
    /// The detail fills the screen, or has the focus.
    Detail,
    /// A page of text is open: the help, a reply.
    Page,
}

/// How the help groups commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Moving about.
    Move,
    /// Doing something with transactions.
    Act,
    /// What is shown.
    View,
}

impl Group {
    /// All groups, in the help's order.
    pub const ALL: [Self; 3] = [Self::Move, Self::Act, Self::View];

    /// Its title.
    pub fn title(self) -> &'static str {
        match self {
            Self::Move => "MOVE",
            Self::Act => "ACT",
            Self::View => "VIEW",
        }
    }
}

/// One command.
#[derive(Debug)]
pub struct Command {
    /// What it is dispatched by.
    pub id: Id,
    /// Its name, as in a config file.
    pub name: &'static str,
    /// One or two words for the footer; empty if it isn't shown there.
    pub hint: &'static str,
    /// What it does.
    pub help: &'static str,
    /// Its keys, as `keymap` writes them.
    pub keys: &'static [&'static str],
    /// Where it applies.
    pub contexts: &'static [Context],
    /// Its place in the help.
    pub group: Group,
}

macro_rules! commands {
    ($($id:ident $group:ident [$($context:ident)*] $name:literal $hint:literal [$($key:literal)*] $help:literal;)*) => {
        /// What a command is dispatched by.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Id { $(#[doc = $help] $id,)* }

        /// Every command, in the order of footer and help.
        pub const COMMANDS: &[Command] = &[$(Command {
            id: Id::$id,
            name: $name,
            hint: $hint,
            help: $help,
            keys: &[$($key),*],
            contexts: &[$(Context::$context),*],
            group: Group::$group,
        },)*];
    };
}

commands! {
    Help       View [List Detail]      "help"        "help"     ["?"]             "show the keys";
    Open       Move [List]             "open"        "open"     ["Enter" "l" "Right"] "open the transaction";
    Back       Move [Detail Page]      "back"        "back"     ["Esc" "q" "h" "Left"] "back to the list";
    Clear      View [List]             "clear"       ""         ["Esc"]           "clear the filter";
    Filter     View [List]             "filter"      "filter"   ["/"]             "filter by text or by terms such as is:overdue";
    Add        Act  [List Detail]      "add"         "add"      ["n"]             "add or find: paste a hash, a URL or CSV rows";
    Answer     Act  [List Detail]      "answer"      "answer"   ["c"]             "the reply for the ticket, copied to the clipboard";
    Copy       Act  [List Detail]      "copy"        ""         ["y"]             "copy menu: hashes, IDs, links; y p for the packet that support asks for";
    Browser    Act  [List Detail]      "browser"     ""         ["o"]             "open it in the block explorer";
    Links      Act  [List Detail]      "links"       ""         ["O"]             "all its links, to open or copy";
    PollNow    Act  [List Detail]      "poll_now"    "poll now" ["r"]             "poll this transaction now";
    Untrack    Act  [List Detail]      "untrack"     ""         ["x"]             "stop polling this transaction; it is kept";
    Undo       Act  [List Detail]      "undo"        ""         ["u"]             "take back what was done last";
    Redo       Act  [List Detail]      "redo"        ""         ["U"]             "do again what was taken back";
    Down       Move [List Detail Page] "down"        ""         ["j" "Down"]      "one down";
    Up         Move [List Detail Page] "up"          ""         ["k" "Up"]        "one up";
    HalfDown   Move [List Detail Page] "half_down"   ""         ["^D" "PgDn"]     "half a page down";
    HalfUp     Move [List Detail Page] "half_up"     ""         ["^U" "PgUp"]     "half a page up";
    Top        Move [List Detail Page] "top"         ""         ["g" "Home"]      "to the top";
    Bottom     Move [List Detail Page] "bottom"      ""         ["G" "End"]       "to the bottom";
    NextAlert  Move [List Detail]      "next_alert"  "next alert" ["}"]           "next transaction with an alert";
    PrevAlert  Move [List Detail]      "prev_alert"  ""         ["{"]             "previous transaction with an alert";
    Attention  View [List]             "attention"   ""         ["1" "!"]         "what needs attention";
    Active     View [List]             "active"      ""         ["2"]             "what is under way";
    Refunds    View [List]             "refunds"     ""         ["3"]             "refunds";
    Done       View [List]             "done"        ""         ["4"]             "what is settled";
    All        View [List]             "all"         ""         ["5"]             "everything";
    Redraw     View [List Detail Page] "redraw"      ""         ["^L"]            "draw the screen anew";
    Suspend    View [List Detail Page] "suspend"     ""         ["^Z"]            "suspend hoptop; fg brings it back";
    Quit       View [List Detail Page] "quit"        ""         ["^C"]            "quit, from anywhere";
    QuitRoot   View [List]             "quit_root"   "quit"     ["q"]             "quit, from the list";
}

/// The command that a key stands for in a context.
pub fn lookup(context: Context, key: &str) -> Option<Id> {
    COMMANDS
        .iter()
        .find(|command| command.contexts.contains(&context) && command.keys.contains(&key))
        .map(|command| command.id)
}

/// The footer's commands in a context: their first key, and one or two words.
pub fn hints(context: Context) -> impl Iterator<Item = (&'static str, &'static str)> {
    let shown = move |command: &&Command| !command.hint.is_empty() && command.contexts.contains(&context);
    COMMANDS.iter().filter(shown).filter_map(|command| Some((*command.keys.first()?, command.hint)))
}

/// The table as the README shows it.
pub fn markdown() -> String {
    let mut table = String::from("| key | does |\n| --- | --- |\n");
    for group in Group::ALL {
        for command in COMMANDS.iter().filter(|command| command.group == group) {
            let keys: Vec<_> = command.keys.iter().map(|key| format!("`{key}`")).collect();
            table.push_str(&format!("| {} | {} |\n", keys.join(" "), command.help));
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_key_means_two_things_in_one_context() {
        for context in [Context::List, Context::Detail, Context::Page] {
            let keys = COMMANDS.iter().filter(|command| command.contexts.contains(&context));
            let mut seen = HashSet::new();
            for key in keys.flat_map(|command| command.keys) {
                assert!(seen.insert(key), "{key} in {context:?}");
            }
        }
    }

    #[test]
    fn every_key_can_be_pressed() {
        for key in COMMANDS.iter().flat_map(|command| command.keys) {
            assert!(crate::tui::keymap::parse(key).is_some(), "{key}");
        }
    }

    #[test]
    fn names_are_unique() {
        let names: HashSet<_> = COMMANDS.iter().map(|command| command.name).collect();
        assert_eq!(names.len(), COMMANDS.len());
    }

    #[test]
    fn the_readme_shows_this_table() {
        let readme = include_str!("../../README.md");
        assert!(readme.contains(&markdown()), "the README's key table should be:\n{}", markdown());
    }
}
