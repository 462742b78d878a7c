//! The filter's line: what is being typed, what it may go on with, and what held before.
//!
//! It must never lose what a person typed to a filter that they only looked at.

use crossterm::event::{Event, KeyEvent};
use tui_input::{Input, backend::crossterm::EventHandler};

use crate::domain::{
    filter::{Completion, Named, Names, asked, complete},
    ids::RowId,
};

/// The line's state.
#[derive(Debug, Default)]
pub struct FilterLine {
    /// What is being typed.
    pub input: Input,
    /// What held before, and holds again if it is left by Esc.
    pub before: String,
    /// What was selected before: selected again whenever it is shown.
    pub selected: Option<RowId>,
    /// What the store named last.
    names: Option<Names>,
    /// Which of the filters that were used stands there, if one was fetched back, and what had been typed before.
    fetched: Option<(usize, String)>,
}

impl FilterLine {
    /// A line that begins with what holds.
    pub fn new(before: String, selected: Option<RowId>) -> Self {
        // What is typed is another term.
        let gap = if before.is_empty() { "" } else { " " };
        Self { input: Input::new(format!("{before}{gap}")), before, selected, ..Self::default() }
    }

    /// A key that edits; whether it did.
    pub fn edit(&mut self, key: KeyEvent) -> bool {
        let is_news = self.input.handle_event(&Event::Key(key)).is_some_and(|change| change.value);
        if is_news {
            // It is what is typed now, wherever it came from.
            self.fetched = None;
        }
        is_news
    }

    /// Puts a text there, as if it was typed.
    pub fn write(&mut self, text: String) {
        (self.input, self.fetched) = (Input::new(text), None);
    }

    /// What the store is to be asked for now: which names, and how they begin. What it said before of something else is
    /// forgotten.
    pub fn asks(&mut self) -> Option<(Named, String)> {
        let text = self.input.value();
        self.names.take_if(|names| !names.concern(text));
        let is_known = self.names.as_ref().is_some_and(|names| names.suffice(text));
        asked(text).filter(|_| !is_known).map(|(of, beginning)| (of, beginning.to_owned()))
    }

    /// Takes in what the store names, unless something else is being typed by now.
    pub fn take(&mut self, names: Names) {
        let text = self.input.value();
        if names.concern(text) && !self.names.as_ref().is_some_and(|known| known.suffice(text)) {
            self.names = Some(names);
        }
    }

    /// What may stand in the place of the word that is being typed.
    pub fn offers(&self) -> Completion {
        complete(self.input.value(), self.names.as_ref())
    }

    /// What Tab makes of it, if anything: of the grammar's words it adds what all offers share, else it takes the first of them;
    /// and a whole word gives way to the one after it.
    pub fn completed(&self) -> Option<String> {
        let found = self.offers();
        let (kept, typed) = self.input.value().split_at_checked(found.start)?;
        // What tickets share is no ticket, and would hide all of them.
        let is_grammar = asked(self.input.value()).is_none();
        if is_grammar && found.common().len() > typed.len() {
            return Some(format!("{kept}{}", found.common()));
        }
        let siblings = complete(kept, self.names.as_ref()).words;
        let is_here = |word: &String| word.to_lowercase() == typed.to_lowercase();
        let after = |here: usize| siblings.get((here + 1) % siblings.len());
        let next = found.words.first().or_else(|| siblings.iter().position(is_here).and_then(after))?;
        Some(format!("{kept}{next}"))
    }

    /// Fetches back a filter that was used, the newest first, so many further back; in front of all of them stands what was
    /// typed. Whether there is such a one.
    pub fn fetch(&mut self, further: isize, used: &[String]) -> bool {
        let here = self.fetched.as_ref().map_or(0, |(place, _)| place + 1);
        let place = here.saturating_add_signed(further).min(used.len());
        if place == here {
            return false;
        }
        let (_, typed) = self.fetched.take().unwrap_or_else(|| (0, self.input.value().to_owned()));
        match place.checked_sub(1).and_then(|place| Some((place, used.get(place)?))) {
            None => self.input = Input::new(typed),
            Some((place, text)) => {
                self.input = Input::new(text.clone());
                self.fetched = Some((place, typed));
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
    fn tab_adds_what_is_shared_takes_the_first_and_goes_on_from_a_whole_word() {
        let after = |text: &str| line(text).completed().unwrap_or_default();
        let words_of = |text: &str| line(text).offers().words;
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
        assert_eq!(gone_through, [&words[..], &words[..1]].concat(), "and around");
        assert_eq!(after("").len(), words_of("")[0].len());
        assert_eq!([line("0xab").completed(), line("ticket:SUP").completed()], [None, None]);
    }

    fn named(beginning: &str, words: &[&str], is_whole: bool) -> Names {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        Names { of: Named::Ticket, beginning: beginning.into(), words, is_whole }
    }

    #[test]
    fn tab_goes_through_what_the_store_names() {
        let mut line = line("vip ticket:s");
        assert_eq!(line.asks(), Some((Named::Ticket, "s".into())));
        line.take(named("s", &["SUP-1", "SUP-2"], true));
        let mut seen = Vec::new();
        for _ in 0..3 {
            let text = line.completed().unwrap();
            line.write(text.clone());
            assert_eq!(line.asks(), None, "all that begins so is known");
            seen.push(text);
        }
        assert_eq!(seen, ["SUP-1", "SUP-2", "SUP-1"].map(|word| format!("vip ticket:{word}")));
        line.write("vip ticket:sup-1".into());
        assert_eq!(line.completed().unwrap(), "vip ticket:SUP-2", "however it is written");
        line.write("label:s".into());
        assert_eq!((line.completed(), line.asks()), (None, Some((Named::Label, "s".into()))));
    }

    #[test]
    fn what_the_store_said_of_something_else_or_too_late_is_not_offered() {
        let mut line = line("ticket:su");
        line.take(named("sup", &["SUP-1"], true));
        assert_eq!(line.offers().words, [""; 0], "it was typed further, and taken back");
        line.take(named("su", &["SUE", "SUP-1"], true));
        line.take(named("", &["ABC"], false));
        assert_eq!(line.offers().words, ["SUE", "SUP-1"], "the answer to what was asked first came last");
        line.write("ticket:SUP-1 ticket:".into());
        assert_eq!((line.asks(), line.offers().words), (Some((Named::Ticket, String::new())), Vec::new()));
    }

    #[test]
    fn of_more_than_is_told_the_rest_is_asked_for_as_it_is_typed() {
        let mut line = line("ticket:s");
        line.take(named("s", &["SUP-1", "SUP-10"], false));
        assert_eq!(line.completed().unwrap(), "ticket:SUP-1", "a whole one, not what they share");
        line.write("ticket:SUP-2".into());
        assert_eq!(line.asks(), Some((Named::Ticket, "SUP-2".into())));
    }

    #[test]
    fn what_was_typed_comes_back_behind_what_was_fetched() {
        let used = ["is:overdue", "vip"].map(str::to_owned);
        let mut line = line("chain:ba");
        let mut fetch = |further, used: &[String]| line.fetch(further, used).then(|| line.input.value().to_owned());
        assert_eq!(fetch(-1, &used), None);
        let there_and_back = [1, 1, 1, -1, -1, -1].map(|further| fetch(further, &used).unwrap_or_default());
        assert_eq!(there_and_back, ["is:overdue", "vip", "", "is:overdue", "chain:ba", ""]);
        assert_eq!(fetch(1, &[]), None);
    }

    #[test]
    fn a_fetched_filter_that_is_changed_is_what_is_typed() {
        let used = ["is:overdue", "vip"].map(str::to_owned);
        let mut line = line("chain:ba");
        line.fetch(1, &used);
        assert!(line.edit(crossterm::event::KeyCode::Char('x').into()));
        line.fetch(1, &used);
        line.fetch(-1, &used);
        assert_eq!(line.input.value(), "is:overduex");
    }
}
