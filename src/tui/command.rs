//! The table of all commands: name, help, default keys, and the contexts of each.
//!
//! Dispatch, the footer, the help and the table of `assets/docs/keys.md` all follow this table. A key must never do anything
//! outside of it.

/// A part of the screen in which a command applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyContext {
    /// The list has the focus.
    List,
    /// The detail fills the screen, or has the focus.
    Detail,
    /// The alert list.
    Alerts,
    /// A page of text is open: the help, a reply.
    Page,
    /// The detail shows the steps. The keys of `Steps`, `History` and `Raw` take precedence over those of `Detail`.
    Steps,
    /// The detail shows the history.
    History,
    /// The detail shows the last body.
    Raw,
    /// The charts of the statistics.
    Stats,
    /// The log.
    Log,
}

impl KeyContext {
    /// Returns the context in words, for the help and for errors.
    pub fn description(self) -> &'static str {
        match self {
            Self::List => "in the list",
            Self::Detail => "in the detail view",
            Self::Alerts => "in the alerts",
            Self::Page => "on a page of text",
            Self::Steps => "in the detail view's steps",
            Self::History => "in the detail view's history",
            Self::Raw => "in the raw body",
            Self::Stats => "in the charts",
            Self::Log => "in the log",
        }
    }
}

/// A section of the help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HelpSection {
    /// Commands that move the cursor, or open and close.
    Move,
    /// Commands that find transactions, filter and sort.
    Find,
    /// Commands on alerts, tickets, labels, notes and marks.
    Triage,
    /// Commands that copy, open or export.
    Share,
    /// Commands that track and poll.
    Track,
    /// Commands that change what the screen shows.
    View,
}

impl HelpSection {
    /// All groups, in the order of the help.
    pub const ALL: [Self; 6] = [Self::Move, Self::Find, Self::Triage, Self::Share, Self::Track, Self::View];

    /// Whether the commands of the section act on transactions, so that none must run by a guess.
    pub fn acts(self) -> bool {
        match self {
            Self::Triage | Self::Share | Self::Track => true,
            Self::Move | Self::Find | Self::View => false,
        }
    }

    /// Returns the heading of the group.
    pub fn title(self) -> &'static str {
        match self {
            Self::Move => "MOVE AND OPEN",
            Self::Find => "FIND AND FILTER",
            Self::Triage => "TRIAGE",
            Self::Share => "REPLY, COPY, EXPORT",
            Self::Track => "TRACK AND POLL",
            Self::View => "VIEW",
        }
    }
}

/// The target that a command needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// No target, or the command reports a missing target itself.
    Nothing,
    /// The selected transaction, or in the alert list the selected alert.
    One,
    /// The marked transactions if any are marked, otherwise the same as `One`.
    Marked,
}

/// A row of the table.
#[derive(Debug)]
pub struct KeyCommand {
    /// The identifier that `dispatch` matches.
    pub id: Id,
    /// The name in the config file and in the command line.
    pub name: &'static str,
    /// One or two words for the footer; empty if the footer does not show the command.
    pub hint: &'static str,
    /// A sentence about the effect.
    pub help: &'static str,
    /// The default keys, as `key_text` writes them.
    pub keys: &'static [&'static str],
    /// The contexts in which the command applies.
    pub contexts: &'static [KeyContext],
    /// The argument in the command line; `None` if the command takes no argument.
    pub argument: Option<Argument>,
    /// The target that the command needs.
    pub needs: Needs,
    /// The section of the help.
    pub group: HelpSection,
}

/// The argument of a command in the command line.
#[derive(Clone, Copy, Debug)]
pub struct Argument {
    /// The command that takes the argument.
    pub of: ArgumentOf,
    /// The placeholder that the command line shows.
    pub placeholder: &'static str,
}

macro_rules! argument {
    () => {
        None
    };
    ($id:ident $placeholder:literal) => {
        Some(Argument { of: ArgumentOf::$id, placeholder: $placeholder })
    };
}

macro_rules! needs {
    () => {
        Needs::Nothing
    };
    ($needs:ident) => {
        Needs::$needs
    };
}

macro_rules! commands {
    ($($id:ident $group:ident $(needs $needs:ident)? [$($context:ident)*] $name:literal $hint:literal [$($key:literal)*] $help:literal
       $(<$argument:literal>)?;)*) => {
        /// The identifier of a command.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Id { $(#[doc = $help] $id,)* }

        /// The commands that take an argument. The matches on this type ask for the code of a new argument.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum ArgumentOf { $($(#[doc = $argument] $id,)?)* }

        /// Every command, in the order of footer and help.
        pub(crate) const COMMANDS: &[KeyCommand] = &[$(KeyCommand {
            id: Id::$id,
            name: $name,
            hint: $hint,
            help: $help,
            keys: &[$($key),*],
            contexts: &[$(KeyContext::$context),*],
            argument: argument!($($id $argument)?),
            needs: needs!($($needs)?),
            group: HelpSection::$group,
        },)*];
    };
}

commands! {
    Help          View               [List Detail Alerts Stats Log]  "help"          "help"     ["?"]            "show the keys";
    Open          Move needs One     [List Alerts]                   "open"          "open"     ["Enter" "l" "Right"] "open the transaction";
    Back          Move               [Detail Alerts Page Stats Log]  "back"          "back"     ["Esc" "q" "h" "Left"] "go back";
    NextTab       Move               [List Detail]                   "next_tab"      ""         ["]" "Tab"]      "show the next tab of the detail";
    PrevTab       Move               [List Detail]                   "prev_tab"      ""         ["[" "Shift-Tab"] "show the previous tab of the detail";
    DetailDown    Move               [List]                          "detail_down"   ""         ["^E"]           "scroll the detail beside the list down";
    DetailUp      Move               [List]                          "detail_up"     ""         ["^Y"]           "scroll the detail beside the list up";
    NextRow       Move               [Detail]                        "next_row"      ""         ["J" ">"]        "open the next transaction of the list";
    PrevRow       Move               [Detail]                        "prev_row"      ""         ["K" "<"]        "open the previous transaction of the list";
    Clear         Find               [List]                          "clear"         ""         ["Esc"]          "clear the marks; if nothing is marked, clear the filter or close the search";
    Filter        Find               [List]                          "filter"        "filter"   ["/"]            "filter by text or by terms such as is:overdue" <"TERMS">;
    CommandLine   View               [List Detail Alerts Stats Log]  "command_line"  "command"  [":" "^P"]       "run any command by its name";
    Sort          Find               [List]                          "sort"          ""         ["s"]            "choose the sort order" <"KEY,KEY">;
    Reverse       Find               [List]                          "reverse"       ""         ["S"]            "reverse the sort order";
    Columns       View               [List]                          "columns"       ""         ["H"]            "choose the columns and their order" <"NAME,NAME">;
    FullScreen    View needs One     [List Detail]                   "full_screen"   ""         ["f"]            "switch the detail between full screen and beside the list";
    Recent        Find               [List]                          "recent"        ""         ["F"]            "choose from the newest changes, and go to the transaction";
    Pane          View               [List]                          "pane"          ""         ["P"]            "show the detail beside the list, below it, or only its verdict";
    Add           Track              [List Detail Alerts]            "add"           "add"      ["n"]            "add or find: paste hashes, URLs, CSV, JSON, curl or ticket text";
    Quote         Track              [List Detail Alerts]            "quote"         ""         ["T"]            "request a quote, and track a transaction with its quoteId";
    Answer        Share needs Marked  [List Detail Alerts]            "answer"        "answer"   ["c"]            "show the text for the customer, and copy it to the clipboard";
    AnswerFor     Share needs Marked  [List Detail Alerts]            "answer_for"    ""         ["C"]            "show and copy a text: for the customer, for the provider, for the team";
    Copy          Share needs Marked  [List Detail]                   "copy"          ""         ["y"]            "copy a hash, an ID, a link, or the packet for the provider";
    Browser       Share needs One     [List Detail]                   "browser"       ""         ["o"]            "open in the block explorer";
    Links         Share needs One     [List Detail]                   "links"         ""         ["O"]            "show all links, to open or copy one";
    Mark          Triage needs One     [List]                          "mark"          ""         ["Space"]        "mark or unmark, and move down; commands apply to the marked transactions, if any";
    MarkRange     Triage             [List]                          "mark_range"    ""         ["v"]            "start a range; press again to mark it";
    MarkAll       Triage             [List]                          "mark_all"      ""         ["*"]            "mark all shown transactions";
    Acknowledge   Triage needs Marked  [List Detail Alerts]            "acknowledge"   "ack"      ["a"]            "acknowledge the active alerts, with an optional note";
    Snooze        Triage needs Marked  [List Detail Alerts]            "snooze"        ""         ["z"]            "snooze the active alerts: 15 min, 1 h, until the status changes";
    Unacknowledge Triage needs Marked  [List Detail Alerts]            "unacknowledge" ""         []               "end the acknowledgement or snooze, so that the alert fires";
    PollNow       Track needs One     [List Detail]                   "poll_now"      "poll"     ["r"]            "poll this transaction now";
    AskChain      Track needs Marked  [List Detail]                   "ask_chain"     ""         ["V"]            "ask the source chain itself: mined, reverted, pending, or sent on another chain";
    WrongChain    Track needs One     [List Detail]                   "wrong_chain"   ""         ["W"]            "track on the chain where the transaction was found, and poll it";
    PollMarked    Track              [List]                          "poll_marked"   ""         ["R"]            "poll the marked transactions now (asks first above 10)";
    Pause         Track              [List Detail]                   "pause"         ""         ["p"]            "pause polling for a while, or resume it" <"DURATION">;
    Note          Triage needs Marked  [List Detail]                   "note"          ""         ["e"]            "add a note";
    Ticket        Triage needs Marked  [List Detail]                   "ticket"        ""         ["t"]            "set or remove the ticket";
    Labels        Triage needs Marked  [List Detail]                   "labels"        ""         ["L"]            "add or remove labels";
    Export        Share              [List Detail]                   "export"        ""         ["E"]            "export to a new file: the marked transactions, or all shown; in the detail, the open one";
    Untrack       Track needs Marked  [List Detail]                   "untrack"       ""         ["x"]            "stop polling; the transaction is kept";
    Delete        Track              [List Detail]                   "delete"        ""         []               "delete permanently, with all history" <"yes">;
    Undo          Triage             [List Detail Alerts]            "undo"          ""         ["u"]            "undo the last change";
    Redo          Triage             [List Detail Alerts]            "redo"          ""         ["U"]            "redo the change that was undone last";
    Down          Move               [List Detail Alerts Page Stats Log] "down"          ""         ["j" "Down"]     "move down";
    Up            Move               [List Detail Alerts Page Stats Log] "up"            ""         ["k" "Up"]       "move up";
    HalfDown      Move               [List Detail Alerts Page Stats Log] "half_down"     ""         ["^D" "PgDn"]    "move half a page down";
    HalfUp        Move               [List Detail Alerts Page Stats Log] "half_up"       ""         ["^U" "PgUp"]    "move half a page up";
    Top           Move               [List Detail Alerts Page Stats Log] "top"           ""         ["g" "Home"]     "go to the top";
    Bottom        Move               [List Detail Alerts Page Stats Log] "bottom"        ""         ["G" "End"]      "go to the bottom";
    Fold          View               [Raw]                           "fold"          "fold"     ["Enter"]        "fold or unfold a part of the raw body";
    NextMatch     Move               [Raw]                           "next_match"    "next"     ["n"]            "go to the next match in the raw body";
    PrevMatch     Move               [Raw]                           "prev_match"    ""         ["N"]            "go to the previous match in the raw body";
    Changes       View               [History]                       "changes"       "toggle polls" ["v"]            "history: show changes only, or polls too";
    Wrap          View               [Raw Log]                       "wrap"          "wrap"     ["w"]            "wrap or cut long lines of the raw body or the log";
    CopyPart      Share              [Steps Raw]                     "copy_part"     "copy"     ["y"]            "copy the step's hash, or the raw body's value";
    NextAlert     Move               [List Detail]                   "next_alert"    "alert"    ["}"]            "go to the next transaction with an alert";
    PrevAlert     Move               [List Detail]                   "prev_alert"    ""         ["{"]            "go to the previous transaction with an alert";
    Find          Find               [Detail History Raw Log]        "find"          "find"     ["/"]            "find text in the history, the log or the raw body";
    Attention     Find               [List Detail Alerts Stats Log]  "attention"     ""         ["1" "!"]        "show the transactions that need attention";
    Active        Find               [List Detail Alerts Stats Log]  "active"        ""         ["2"]            "show the active transactions";
    Refunds       Find               [List Detail Alerts Stats Log]  "refunds"       ""         ["3"]            "show the refunds";
    Done          Find               [List Detail Alerts Stats Log]  "done"          ""         ["4"]            "show the settled transactions";
    All           Find               [List Detail Alerts Stats Log]  "all"           ""         ["5"]            "show all transactions";
    View6         Find               [List Detail Alerts Stats Log]  "view_6"        ""         ["6"]            "show your saved view 6 (:save NAME)";
    View7         Find               [List Detail Alerts Stats Log]  "view_7"        ""         ["7"]            "show your saved view 7";
    View8         Find               [List Detail Alerts Stats Log]  "view_8"        ""         ["8"]            "show your saved view 8";
    View9         Find               [List Detail Alerts Stats Log]  "view_9"        ""         ["9"]            "show your saved view 9";
    SaveView      Find               [List]                          "save"          ""         []               "save the filtered list as a view, on one of the keys 6 to 9" <"NAME">;
    ForgetView    Find               [List]                          "forget"        ""         []               "forget a saved view, and free its key" <"NAME">;
    Alerts        View               [List Detail]                   "alerts"        ""         ["A"]            "show all alerts";
    Theme         View               [List Detail Alerts Stats Log]  "theme"         ""         []               "choose a colour theme, remembered for the next start" <"NAME">;
    NextState     View               [Alerts]                        "next_state"    "state"    ["]"]            "alerts: show the next state (firing, acknowledged, snoozed, resolved)";
    PrevState     View               [Alerts]                        "prev_state"    ""         ["["]            "alerts: show the previous state";
    FoldRule      View               [Alerts]                        "fold_rule"     "fold"     ["f"]            "alerts: fold or unfold the alerts of a rule; on a folded row, acknowledge and snooze apply to all of them";
    FoldAll       View               [Alerts]                        "fold_all"      ""         ["F"]            "alerts: fold every rule, or unfold all";
    Stats         View               [List Detail Alerts Log]        "stats"         ""         ["%"]            "show charts: outcomes, durations, the budget, the oldest answer";
    OpenRoute     Move               [Stats]                         "open_route"    "list"     ["Enter"]        "charts: show the transfers of the route in the list";
    RouteOrder    View               [Stats]                         "route_order"   "sort"     ["s"]            "charts: sort the routes by number, slowest, or least successful";
    Range         View               [Stats]                         "range"         "time"     ["t"]            "charts: all time, 7 days, 24 hours, or 1 hour";
    Log           View               [List Detail Alerts Stats]      "log"           ""         ["@"]            "show the log: what failed, and when";
    OpenAbout     Move               [Log]                           "open_about"    "open"     ["Enter"]        "log: go to the transaction of the line";
    Level         View               [Log]                           "level"         "level"    ["l"]            "log: show all levels, warnings and errors, or errors only";
    Report        Share              [Log]                           "report"        "report"   ["y"]            "copy an error report, without the integrator ID";
    Redraw        View               [List Detail Alerts Page Stats Log] "redraw"        ""         ["^L"]           "redraw the screen";
    Suspend       View               [List Detail Alerts Page Stats Log] "suspend"       ""         ["^Z"]           "suspend hoptop; fg resumes it";
    Quit          View               [List Detail Alerts Page Stats Log] "quit"          ""         ["^C"]           "quit, from anywhere";
    QuitRoot      View               [List]                          "quit_root"     "quit"     ["q"]            "quit, from the list";
}

impl Id {
    /// Returns the target that the command needs.
    pub fn needs(self) -> Needs {
        COMMANDS.iter().find(|command| command.id == self).map_or(Needs::Nothing, |command| command.needs)
    }
}

/// Returns the table in Markdown, as `assets/docs/keys.md` must have it.
#[cfg(test)]
fn markdown() -> String {
    let mut table = String::from("| key | does |\n| --- | --- |\n");
    for group in HelpSection::ALL {
        for command in COMMANDS.iter().filter(|command| command.group == group) {
            let keys: Vec<_> = command.keys.iter().map(|key| format!("`{key}`")).collect();
            let keys = if keys.is_empty() { format!("`:{}`", command.name) } else { keys.join(" ") };
            table.push_str(&format!("| {keys} | {} |\n", command.help));
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_key_has_one_command_per_context() {
        use KeyContext::{Alerts, Detail, History, List, Log, Page, Raw, Stats, Steps};
        for context in [List, Detail, Alerts, Page, Steps, History, Raw, Stats, Log] {
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
            assert!(crate::tui::key_text::parse(key).is_some(), "{key}");
        }
    }

    #[test]
    fn names_are_unique() {
        let names: HashSet<_> = COMMANDS.iter().map(|command| command.name).collect();
        assert_eq!(names.len(), COMMANDS.len());
    }

    #[test]
    fn the_guide_to_the_keys_shows_this_table() {
        let guide = include_str!("../../assets/docs/keys.md");
        assert!(guide.contains(&markdown()), "the table of assets/docs/keys.md should be:\n{}", markdown());
    }
}
