//! The table of all commands: name, help, default keys, contexts, and the function that performs each.
//!
//! Dispatch, the footer, the help and the table of `assets/docs/keys.md` all follow this table. A key must never do
//! anything outside of it.

use crate::domain::named::named;

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

named! {
    /// A section of the help, the most needed first.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum HelpSection: title, ALL {
        /// Commands that move the cursor, or open and close.
        Move "MOVE AND OPEN",
        /// Commands on alerts, tickets, labels, notes and marks.
        Triage "TRIAGE",
        /// Commands that copy, open or export.
        Share "REPLY, COPY, EXPORT",
        /// Commands that find transactions, filter and sort.
        Find "FIND AND FILTER",
        /// Commands that track and poll.
        Track "TRACK AND POLL",
        /// Commands that change what the screen shows.
        View "VIEW",
    }
}

impl HelpSection {
    /// Whether the commands of the section act on transactions, so that none must run by a guess.
    pub fn acts_on_transactions(self) -> bool {
        match self {
            Self::Triage | Self::Share | Self::Track => true,
            Self::Move | Self::Find | Self::View => false,
        }
    }
}

/// The target that a command needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetKind {
    /// The selected transaction, or in the alert list the selected alert.
    One,
    /// The marked transactions if any are marked, otherwise the same as `One`.
    Marked,
}

/// A row of the table.
#[derive(Debug)]
pub struct KeyCommand {
    /// The identifier.
    pub id: CommandId,
    /// The name in the config file and in the command palette.
    pub name: &'static str,
    /// One or two words for the footer; empty if the footer does not show the command.
    pub hint: &'static str,
    /// A sentence about the effect.
    pub help: &'static str,
    /// The default keys, as `key_text` writes them.
    pub keys: &'static [&'static str],
    /// The contexts in which the command applies.
    pub contexts: &'static [KeyContext],
    /// The argument in the command palette; `None` if the command takes no argument.
    pub argument: Option<CommandArgument>,
    /// The target that the command needs; `None` if it needs none, or reports a missing target itself.
    pub target: Option<TargetKind>,
    pub section: HelpSection,
}

/// The argument of a command in the command palette.
#[derive(Clone, Copy, Debug)]
pub struct CommandArgument {
    /// The command that takes the argument.
    pub kind: CommandWithArgument,
    /// The placeholder that the command palette shows.
    pub placeholder: &'static str,
}

macro_rules! optional {
    () => {
        None
    };
    ($value:expr) => {
        Some($value)
    };
}

/// The table. A row has the fields of [`KeyCommand`], then the function that performs the command. `$expand` is a macro
/// that takes all rows: this module makes the list of commands, `update/dispatch.rs` calls the functions. Names in the
/// functions are those of `update/dispatch.rs`.
macro_rules! command_table {
    ($expand:ident) => {
        $expand! {
            Help          View               [List Detail Alerts Stats Log]  "help"          "help"     ["?"]            "show the keys"
                => |model, _| { model.dialog = Dialog::Help(HelpPage::default()) };
            Open          Move needs One     [List Alerts]                   "open"          "open"     ["Enter" "l" "Right"] "open the transaction"
                => |model, now| open(model, now.mono);
            Back          Move               [Detail Alerts Page Stats Log]  "back"          "back"     ["Esc" "q" "h" "Left"] "go back; a search ends first"
                => |model, now| back(model, now.mono);
            NextTab       Move needs One     [List Detail]                   "next_tab"      ""         ["]" "Tab"]      "show the next tab of the detail"
                => |model, _| detail::update::show_neighbor_tab(model, Direction::Forwards);
            PrevTab       Move needs One     [List Detail]                   "prev_tab"      ""         ["[" "Shift-Tab"] "show the previous tab of the detail"
                => |model, _| detail::update::show_neighbor_tab(model, Direction::Backwards);
            DetailDown    Move needs One     [List]                          "detail_down"   ""         ["^E"]           "scroll the detail beside the list down"
                => |model, _| detail::update::scroll_beside_list(model, DETAIL_STEP);
            DetailUp      Move needs One     [List]                          "detail_up"     ""         ["^Y"]           "scroll the detail beside the list up"
                => |model, _| detail::update::scroll_beside_list(model, -DETAIL_STEP);
            NextRow       Move               [Detail]                        "next_row"      ""         ["J" ">"]        "open the next transaction of the list"
                => |model, _| model.list.move_by(1);
            PrevRow       Move               [Detail]                        "prev_row"      ""         ["K" "<"]        "open the previous transaction of the list"
                => |model, _| model.list.move_by(-1);
            Filter        Find               [List]                          "filter"        "filter"   ["/"]            "filter by text or by terms such as is:overdue" <"TERMS">
                => |model, _| filter::update::open(model);
            Clear         Find               [List]                          "clear"         ""         ["Esc"]          "clear the marks; if nothing is marked, clear the filter or close the search"
                => |model, now| clear(model, now.mono);
            CommandLine   View               [List Detail Alerts Stats Log]  "command_line"  "command"  [":" "^P"]       "run any command by its name"
                => |model, _| open_command_line(model, "");
            Sort          Find               [List]                          "sort"          ""         ["s"]            "choose the sort order" <"KEY,KEY">
                => |model, _| arrangement::open_orders(model);
            Reverse       Find               [List]                          "reverse"       ""         ["S"]            "reverse the sort order"
                => arrangement::reverse_order;
            Columns       View               [List]                          "columns"       ""         ["H"]            "choose the columns and their order" <"NAME,NAME">
                => |model, _| arrangement::open_columns(model, 0);
            FullScreen    View needs One     [List Detail]                   "full_screen"   ""         ["f"]            "switch the detail between full screen and beside the list"
                => |model, now| full_screen(model, now.mono);
            Recent        Find               [List]                          "recent"        ""         ["F"]            "choose one of the newest changes, and go to its transaction"
                => |model, now| open_recent(model, now.mono);
            Pane          View               [List]                          "pane"          ""         ["P"]            "place the detail beside the list or below the list, or show only the verdict"
                => |model, now| next_pane(model, now.mono);
            Add           Track              [List Detail Alerts]            "add"           "add"      ["n"]            "add or find: paste hashes, URLs, CSV, JSON, curl or ticket text"
                => |model, _| { model.dialog = Dialog::Add(Box::default()) };
            Quote         Track              [List Detail Alerts]            "quote"         ""         ["T"]            "request a quote, and track a transaction with its quoteId"
                => |model, _| quote::update::open(model);
            Answer        Share needs Marked  [List Detail Alerts]            "answer"        "answer"   ["c"]            "show the text for the customer, and copy it to the clipboard"
                => |model, now| reply::update::open(model, Audience::Customer, now);
            AnswerFor     Share needs Marked  [List Detail Alerts]            "answer_for"    ""         ["C"]            "show and copy the text for the customer, the provider or the team"
                => |model, now| reply::update::choose_audience(model, now.mono);
            Copy          Share needs Marked  [List Detail Alerts]            "copy"          ""         ["y"]            "copy a hash, an ID, a link, or the packet for the provider"
                => |model, now| reply::update::load(model, TextUse::Menu, now);
            Browser       Share needs One     [List Detail Alerts]            "browser"       ""         ["o"]            "open the transaction in the block explorer"
                => copy::update::browse;
            Links         Share needs One     [List Detail Alerts]            "links"         ""         ["O"]            "show all links, to open or copy one"
                => copy::update::links;
            Mark          Triage needs One     [List]                          "mark"          ""         ["Space"]        "mark or unmark, and move down; commands apply to the marked transactions, if any"
                => |model, _| marks::toggle(model);
            MarkRange     Triage needs One   [List]                          "mark_range"    ""         ["v"]            "start a range; press again to mark the range"
                => |model, now| marks::range(model, now.mono);
            MarkAll       Triage             [List]                          "mark_all"      ""         ["*"]            "mark all shown transactions"
                => |model, _| model.effects.push(Effect::FindMarks(MarkRequest::Shown));
            Acknowledge   Triage needs Marked  [List Detail Alerts]            "acknowledge"   "ack"      ["a"]            "acknowledge the active alerts, with an optional note" <"NOTE">
                => |model, now| acknowledge(model, now.mono);
            Snooze        Triage needs Marked  [List Detail Alerts]            "snooze"        ""         ["z"]            "snooze the active alerts: 15 min, 1 h, until the status changes"
                => |model, now| actions::snooze(model, now.mono);
            Unacknowledge Triage needs Marked  [List Detail Alerts]            "unacknowledge" ""         []               "end the acknowledgement or snooze, so that the alert fires again"
                => |model, now| actions::unacknowledge(model, now.mono);
            PollNow       Track needs One     [List Detail Alerts]            "poll_now"      "poll"     ["r"]            "poll this transaction now"
                => poll::poll_selected;
            AskChain      Track needs Marked  [List Detail]                   "ask_chain"     ""         ["V"]            "ask the source chain itself: mined, reverted, pending, or sent on another chain"
                => |model, now| chain::ask(model, now.mono);
            WrongChain    Track needs One     [List Detail]                   "wrong_chain"   ""         ["W"]            "set the source chain to the one where the transaction was found, then poll"
                => |model, now| chain::correct_source(model, now.mono);
            PollMarked    Track              [List]                          "poll_marked"   ""         ["R"]            "poll the marked transactions now (asks first above 10)"
                => poll::poll_marked;
            Pause         Track              [List Detail]                   "pause"         ""         ["p"]            "pause polling for a while, or resume it" <"DURATION">
                => poll::pause;
            Note          Triage needs Marked  [List Detail Alerts]            "note"          ""         ["e"]            "add a note" <"TEXT">
                => |model, now| actions::prompt_for_targets(model, PromptKind::Note, now.mono);
            Ticket        Triage needs Marked  [List Detail Alerts]            "ticket"        ""         ["t"]            "set or remove the ticket" <"TICKET">
                => |model, now| actions::ticket(model, now.mono);
            Labels        Triage needs Marked  [List Detail Alerts]            "labels"        ""         ["L"]            "add or remove labels" <"+NEW -OLD">
                => |model, now| actions::prompt_for_targets(model, PromptKind::Labels, now.mono);
            Export        Share              [List Detail]                   "export"        ""         ["E"]            "export to a new file: the marked transactions, or all shown; in the detail, the open one" <"FILE">
                => actions::export;
            Untrack       Track needs Marked  [List Detail]                   "untrack"       ""         ["x"]            "stop polling; the transaction is kept"
                => |model, now| actions::untrack(model, now.mono);
            Delete        Track              [List Detail]                   "delete"        ""         []               "delete permanently, with all history" <"yes">
                => |model, _| open_command_line(model, "delete ");
            Undo          Triage             [List Detail Alerts]            "undo"          ""         ["u"]            "undo the last change"
                => |model, _| model.effects.push(Effect::Undo { confirmed: None });
            Redo          Triage             [List Detail Alerts]            "redo"          ""         ["U"]            "redo the change that was last undone"
                => |model, _| model.effects.push(Effect::Redo);
            Down          Move               [List Detail Alerts Page Stats Log] "down"          ""         ["j" "Down"]     "move down"
                => |model, _| scroll(model, 1);
            Up            Move               [List Detail Alerts Page Stats Log] "up"            ""         ["k" "Up"]       "move up"
                => |model, _| scroll(model, -1);
            HalfDown      Move               [List Detail Alerts Page Stats Log] "half_down"     ""         ["^D" "PgDn"]    "move half a page down"
                => |model, _| scroll(model, half_page(model));
            HalfUp        Move               [List Detail Alerts Page Stats Log] "half_up"       ""         ["^U" "PgUp"]    "move half a page up"
                => |model, _| scroll(model, -half_page(model));
            Top           Move               [List Detail Alerts Page Stats Log] "top"           ""         ["g" "Home"]     "go to the top"
                => |model, _| scroll(model, isize::MIN);
            Bottom        Move               [List Detail Alerts Page Stats Log] "bottom"        ""         ["G" "End"]      "go to the bottom"
                => |model, _| scroll(model, isize::MAX);
            Fold          View               [Raw]                           "fold"          "fold"     ["Enter"]        "fold or unfold a part of the raw body"
                => |model, _| model.detail.raw.toggle_fold();
            NextMatch     Move               [Raw]                           "next_match"    "next"     ["n"]            "go to the next match in the raw body"
                => |model, _| model.detail.raw.go_to_match(Direction::Forwards);
            PrevMatch     Move               [Raw]                           "prev_match"    ""         ["N"]            "go to the previous match in the raw body"
                => |model, _| model.detail.raw.go_to_match(Direction::Backwards);
            Changes       View               [History]                       "changes"       "toggle polls" ["v"]            "history: show changes only, or polls too"
                => |model, _| detail::update::toggle_changes_only(model);
            Wrap          View               [Raw Log]                       "wrap"          "wrap"     ["w"]            "wrap or cut long lines of the raw body or the log"
                => |model, _| toggle_wrap(model);
            CopyPart      Share              [Steps Raw]                     "copy_part"     "copy"     ["y"]            "copy the step's hash, or the raw body's value"
                => detail::update::copy;
            NextAlert     Move               [List Detail]                   "next_alert"    "alert"    ["}"]            "go to the next transaction with an alert"
                => |model, _| find_alert(model, Direction::Forwards);
            PrevAlert     Move               [List Detail]                   "prev_alert"    ""         ["{"]            "go to the previous transaction with an alert"
                => |model, _| find_alert(model, Direction::Backwards);
            Find          Find               [Detail History Raw Log]        "find"          "find"     ["/"]            "find text in the history, the log or the raw body"
                => |model, _| detail::update::open_find(model);
            Attention     Find               [List Detail Alerts Stats Log]  "attention"     ""         ["1" "!"]        "show the transactions that need attention"
                => |model, _| views::show_tab(model, Tab::Attention);
            Active        Find               [List Detail Alerts Stats Log]  "active"        ""         ["2"]            "show the active transactions"
                => |model, _| views::show_tab(model, Tab::Active);
            Refunds       Find               [List Detail Alerts Stats Log]  "refunds"       ""         ["3"]            "show the refunds"
                => |model, _| views::show_tab(model, Tab::Refunds);
            Done          Find               [List Detail Alerts Stats Log]  "done"          ""         ["4"]            "show the settled transactions"
                => |model, _| views::show_tab(model, Tab::Done);
            All           Find               [List Detail Alerts Stats Log]  "all"           ""         ["5"]            "show all transactions"
                => |model, _| views::show_tab(model, Tab::All);
            View6         Find               [List Detail Alerts Stats Log]  "view_6"        ""         ["6"]            "show your saved view 6 (:save NAME)"
                => |model, now| views::show(model, OwnTab::Six, now);
            View7         Find               [List Detail Alerts Stats Log]  "view_7"        ""         ["7"]            "show your saved view 7"
                => |model, now| views::show(model, OwnTab::Seven, now);
            View8         Find               [List Detail Alerts Stats Log]  "view_8"        ""         ["8"]            "show your saved view 8"
                => |model, now| views::show(model, OwnTab::Eight, now);
            View9         Find               [List Detail Alerts Stats Log]  "view_9"        ""         ["9"]            "show your saved view 9"
                => |model, now| views::show(model, OwnTab::Nine, now);
            SaveView      Find               [List]                          "save"          ""         []               "save the filtered list as a view, on one of the keys 6 to 9" <"NAME">
                => |model, _| open_command_line(model, "save ");
            ForgetView    Find               [List]                          "forget"        ""         []               "forget a saved view, and free its key" <"NAME">
                => |model, _| open_command_line(model, "forget ");
            Alerts        View               [List Detail]                   "alerts"        ""         ["A"]            "show all alerts"
                => |model, now| alerts::update::open_all_tab(model, now.mono);
            Theme         View               [List Detail Alerts Stats Log]  "theme"         ""         []               "choose a colour theme, remembered for the next start" <"NAME">
                => |model, _| theme::open(model);
            NextState     View               [Alerts]                        "next_state"    "state"    ["]"]            "alerts: show the next state (firing, acknowledged, snoozed, resolved)"
                => |model, _| model.alert_list.show_next_tab(Direction::Forwards);
            PrevState     View               [Alerts]                        "prev_state"    ""         ["["]            "alerts: show the previous state"
                => |model, _| model.alert_list.show_next_tab(Direction::Backwards);
            FoldRule      View               [Alerts]                        "fold_rule"     "fold"     ["f"]            "alerts: fold or unfold the alerts of a rule; on a folded row, most commands apply to all of them"
                => |model, _| model.alert_list.toggle_fold();
            FoldAll       View               [Alerts]                        "fold_all"      ""         ["F"]            "alerts: fold every rule, or unfold all"
                => |model, _| model.alert_list.toggle_all_folds();
            Stats         View               [List Detail Alerts Log]        "stats"         ""         ["%"]            "show charts: outcomes, durations, the budget, the oldest answer"
                => |model, now| open_side_screen(model, Screen::Stats, now.mono);
            OpenRoute     Move               [Stats]                         "open_route"    "list"     ["Enter"]        "charts: show the transfers of the route in the list"
                => |model, _| stats::update::open_route(model);
            RouteOrder    View               [Stats]                         "route_order"   "sort"     ["s"]            "charts: sort the routes by number, median duration, or success rate"
                => |model, _| model.stats.sort_by(Direction::Forwards.neighbor(&RouteOrder::ALL, model.stats.order));
            Range         View               [Stats]                         "range"         "time"     ["t"]            "charts: choose all time, 7 days, 24 hours, or 1 hour"
                => |model, _| stats::update::next_range(model);
            Log           View               [List Detail Alerts Stats]      "log"           ""         ["@"]            "show the log: what failed, and when"
                => |model, now| open_side_screen(model, Screen::Log, now.mono);
            OpenAbout     Move               [Log]                           "open_about"    "open"     ["Enter"]        "log: go to the transaction that the line names"
                => |model, now| log::update::find_transaction(model, now.mono);
            Level         View               [Log]                           "level"         "level"    ["l"]            "log: show all levels, warnings and errors, or errors only"
                => |model, _| model.log.narrow();
            Report        Share              [Log]                           "report"        "report"   ["y"]            "copy an error report, without the integrator ID"
                => |model, now| log::update::report(model, now);
            Redraw        View               [List Detail Alerts Page Stats Log] "redraw"        ""         ["^L"]           "redraw the screen"
                => |model, _| model.effects.push(Effect::Redraw);
            Suspend       View               [List Detail Alerts Page Stats Log] "suspend"       ""         ["^Z"]           "suspend hoptop; fg resumes it"
                => |model, _| model.effects.push(Effect::Suspend);
            Quit          View               [List Detail Alerts Page Stats Log] "quit"          ""         ["^C"]           "quit, from anywhere"
                => |model, _| model.effects.push(Effect::Quit);
            QuitRoot      View               [List]                          "quit_root"     "quit"     ["q"]            "quit, from the list"
                => |model, _| model.effects.push(Effect::Quit);
        }
    };
}
pub(in crate::tui) use command_table;

macro_rules! commands {
    ($($id:ident $section:ident $(needs $target:ident)? [$($context:ident)*] $name:literal $hint:literal [$($key:literal)*] $help:literal
       $(<$argument:literal>)? => $perform:expr;)*) => {
        /// The identifier of a command.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum CommandId { $(#[doc = $help] $id,)* }

        /// The commands that take an argument. The matches on this type ask for the code of a new argument.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum CommandWithArgument { $($(#[doc = $argument] $id,)?)* }

        /// Every command, in the order of footer and help.
        pub(crate) const COMMANDS: &[KeyCommand] = &[$(KeyCommand {
            id: CommandId::$id,
            name: $name,
            hint: $hint,
            help: $help,
            keys: &[$($key),*],
            contexts: &[$(KeyContext::$context),*],
            argument: optional!($(CommandArgument { kind: CommandWithArgument::$id, placeholder: $argument })?),
            target: optional!($(TargetKind::$target)?),
            section: HelpSection::$section,
        },)*];
    };
}

command_table!(commands);

impl CommandId {
    /// Returns the target that the command needs.
    pub fn target_kind(self) -> Option<TargetKind> {
        COMMANDS.iter().find(|command| command.id == self).and_then(|command| command.target)
    }
}

/// Returns the table in Markdown, as `assets/docs/keys.md` must have it.
#[cfg(test)]
fn markdown() -> String {
    let mut table = String::from("| key | does |\n| --- | --- |\n");
    for section in HelpSection::ALL {
        for command in COMMANDS.iter().filter(|command| command.section == section) {
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
