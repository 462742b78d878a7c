//! The state of the filter line: the typed text, its completions, and the previous filter.
//!
//! Recalling earlier filters must never lose the typed text.

use tui_input::Input;

use crate::{
    domain::{
        filter::{self, NameKind},
        ids::RowId,
    },
    presentation::filter_completion::{Completion, NameMatches, complete, requested_names},
    tui::text_input::{self, Typed},
};

/// The state of the filter line.
#[derive(Debug, Default)]
pub struct FilterLine {
    /// The typed text.
    pub input: Input,
    /// The previous filter, which Esc restores.
    pub before: String,
    /// The transaction that was selected before, which is selected again while the list contains it.
    pub selected: Option<RowId>,
    /// The last tickets or labels from the store.
    names: Option<NameMatches>,
    /// The filters that can be recalled: the previous one, then the used ones, the newest first.
    used: Vec<String>,
    /// The index of the recalled filter among these, and the text that was typed before.
    recalled: Option<(usize, String)>,
}

impl FilterLine {
    /// Returns an empty line, which recalls the present filter first, and then the used ones.
    pub fn new(before: String, selected: Option<RowId>, used: &[String]) -> Self {
        let earlier = used.iter().filter(|used| **used != before).cloned();
        let used = Some(before.clone()).filter(|before| !before.is_empty()).into_iter().chain(earlier).collect();
        Self { before, selected, used, ..Self::default() }
    }

    /// Returns the filter of the typed text: in the previous order, unless an order is typed.
    pub fn filter_text(&self) -> String {
        filter::with_order_of(self.input.value(), &self.before)
    }

    /// Returns the filter that the line recalls next, if nothing is typed.
    pub fn suggestion(&self) -> Option<&str> {
        self.used.first().filter(|_| self.input.value().is_empty() && self.recalled.is_none()).map(String::as_str)
    }

    /// Applies a key or a pasted text. Returns whether the text changed.
    pub(crate) fn edit(&mut self, typed: Typed<'_>) -> bool {
        let is_changed = text_input::edit(&mut self.input, typed);
        if is_changed {
            // A changed filter counts as typed, even if it was recalled.
            self.recalled = None;
        }
        is_changed
    }

    /// Replaces the text, as if a person had typed the new one.
    pub fn set_text(&mut self, text: String) {
        (self.input, self.recalled) = (Input::new(text), None);
    }

    /// Returns the kind and the beginning of the names to read from the store, if the known names don't suffice. Drops
    /// the names of another term.
    pub fn names_to_read(&mut self) -> Option<(NameKind, String)> {
        let text = self.input.value();
        self.names.take_if(|names| !names.matches_request(text));
        let is_known = self.names.as_ref().is_some_and(|names| names.is_final_for(text));
        requested_names(text).filter(|_| !is_known).map(|(of, beginning)| (of, beginning.to_owned()))
    }

    /// Applies names from the store, unless another term is being typed by now.
    pub fn apply_names(&mut self, names: NameMatches) {
        let text = self.input.value();
        if names.matches_request(text) && !self.names.as_ref().is_some_and(|known| known.is_final_for(text)) {
            self.names = Some(names);
        }
    }

    /// Returns the completions of the word that is being typed.
    pub fn completion(&self) -> Completion {
        complete(self.input.value(), self.names.as_ref())
    }

    /// Returns the text after Tab, if Tab changes it. Tab adds the common beginning of all matching keywords, otherwise
    /// the first completion. A complete word is replaced by the next one.
    pub fn completed(&self) -> Option<String> {
        let found = self.completion();
        let (kept, typed) = self.input.value().split_at_checked(found.start)?;
        // The common beginning of several tickets is not a ticket itself, and would hide all of them.
        let is_grammar = requested_names(self.input.value()).is_none();
        if is_grammar && found.common_prefix().len() > typed.len() {
            return Some(format!("{kept}{}", found.common_prefix()));
        }
        let siblings = complete(kept, self.names.as_ref()).words;
        let is_here = |word: &String| word.to_lowercase() == typed.to_lowercase();
        let after = |here: usize| siblings.get((here + 1) % siblings.len());
        let next = found.words.first().or_else(|| siblings.iter().position(is_here).and_then(after))?;
        Some(format!("{kept}{next}"))
    }

    /// Recalls the used filter that is this many steps earlier. Step 0 is the typed text, step 1 the latest used
    /// filter. Returns `false` if there is no such filter.
    pub fn recall(&mut self, further: isize) -> bool {
        let here = self.recalled.as_ref().map_or(0, |(index, _)| index + 1);
        let index = here.saturating_add_signed(further).min(self.used.len());
        if index == here {
            return false;
        }
        let (_, typed) = self.recalled.take().unwrap_or_else(|| (0, self.input.value().to_owned()));
        match index.checked_sub(1).and_then(|index| Some((index, self.used.get(index)?))) {
            None => self.input = Input::new(typed),
            Some((index, text)) => {
                self.input = Input::new(text.clone());
                self.recalled = Some((index, typed));
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> FilterLine {
        FilterLine { input: Input::new(text.into()), ..FilterLine::default() }
    }

    #[test]
    fn tab_adds_the_common_beginning_then_the_first_completion_then_the_next_word() {
        let after = |text: &str| line(text).completed().unwrap_or_default();
        let words_of = |text: &str| line(text).completion().words;
        assert_eq!(after("vip is:uns"), "vip is:unsettled");
        assert_eq!(after("is:"), format!("is:{}", words_of("is:")[0]));
        let words = words_of("is:");
        let mut text = String::from("is:");
        let gone_through: Vec<String> = (0..=words.len())
            .map(|_| {
                text = after(&text);
                text["is:".len()..].to_owned()
            })
            .collect();
        assert_eq!(gone_through, [&words[..], &words[..1]].concat(), "after the last word comes the first");
        assert_eq!(after("").len(), words_of("")[0].len());
        assert_eq!([line("0xab").completed(), line("ticket:SUP").completed()], [None, None]);
    }

    fn named(prefix: &str, words: &[&str], has_all: bool) -> NameMatches {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        NameMatches { kind: NameKind::Ticket, prefix: prefix.into(), words, has_all }
    }

    #[test]
    fn tab_cycles_through_the_names_from_the_store() {
        let mut line = line("vip ticket:s");
        assert_eq!(line.names_to_read(), Some((NameKind::Ticket, "s".into())));
        line.apply_names(named("s", &["SUP-1", "SUP-2"], true));
        let mut seen = Vec::new();
        for _ in 0..3 {
            let text = line.completed().unwrap();
            line.set_text(text.clone());
            assert_eq!(line.names_to_read(), None, "all names with this beginning are known");
            seen.push(text);
        }
        assert_eq!(seen, ["SUP-1", "SUP-2", "SUP-1"].map(|word| format!("vip ticket:{word}")));
        line.set_text("vip ticket:sup-1".into());
        assert_eq!(line.completed().unwrap(), "vip ticket:SUP-2", "the case of letters does not matter");
        line.set_text("label:s".into());
        assert_eq!((line.completed(), line.names_to_read()), (None, Some((NameKind::Label, "s".into()))));
    }

    #[test]
    fn names_for_another_beginning_are_not_offered() {
        let mut line = line("ticket:su");
        line.apply_names(named("sup", &["SUP-1"], true));
        assert_eq!(line.completion().words, [""; 0], "the names are for a longer beginning, which was deleted again");
        line.apply_names(named("su", &["SUE", "SUP-1"], true));
        line.apply_names(named("", &["ABC"], false));
        assert_eq!(line.completion().words, ["SUE", "SUP-1"], "the answer to the first request came last");
        line.set_text("ticket:SUP-1 ticket:".into());
        assert_eq!(
            (line.names_to_read(), line.completion().words),
            (Some((NameKind::Ticket, String::new())), Vec::new())
        );
    }

    #[test]
    fn truncated_names_are_requested_again_as_the_text_grows() {
        let mut line = line("ticket:s");
        line.apply_names(named("s", &["SUP-1", "SUP-10"], false));
        assert_eq!(line.completed().unwrap(), "ticket:SUP-1", "a whole name, not the common beginning");
        line.set_text("ticket:SUP-2".into());
        assert_eq!(line.names_to_read(), Some((NameKind::Ticket, "SUP-2".into())));
    }

    #[test]
    fn typed_text_returns_after_recalled_filters() {
        let mut line = FilterLine { used: used(), ..line("chain:ba") };
        let mut recall = |further| line.recall(further).then(|| line.input.value().to_owned());
        assert_eq!(recall(-1), None);
        let there_and_back = [1, 1, 1, -1, -1, -1].map(|further| recall(further).unwrap_or_default());
        assert_eq!(there_and_back, ["is:overdue", "vip", "", "is:overdue", "chain:ba", ""]);
        assert!(!FilterLine::default().recall(1));
    }

    fn used() -> Vec<String> {
        ["is:overdue", "vip"].map(str::to_owned).to_vec()
    }

    #[test]
    fn line_opens_empty_and_the_previous_filter_is_recalled_first() {
        let mut line = FilterLine::new("vip sort:age".into(), None, &used());
        assert_eq!((line.input.value(), line.suggestion()), ("", Some("vip sort:age")));
        assert_eq!(line.filter_text(), "sort:age", "the order stays");
        line.recall(1);
        assert_eq!((line.input.value(), line.suggestion()), ("vip sort:age", None));
        line.set_text("base".into());
        assert_eq!(line.filter_text(), "base sort:age");
        line.set_text("base sort:due".into());
        assert_eq!(line.filter_text(), "base sort:due");
    }

    #[test]
    fn a_changed_recalled_filter_counts_as_typed() {
        let mut line = FilterLine { used: used(), ..line("chain:ba") };
        line.recall(1);
        assert!(line.edit(Typed::Key(crossterm::event::KeyCode::Char('x').into())));
        line.recall(1);
        line.recall(-1);
        assert_eq!(line.input.value(), "is:overduex");
    }
}
