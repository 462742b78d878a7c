//! The filter's line: what is being typed, what it may go on with, and what held before.
//!
//! It must never lose what a person typed to a filter that they only looked at.

use tui_input::Input;

use crate::domain::{
    filter::{Completion, Names, complete},
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
    /// Tickets or labels that begin as the last value did when the store was asked.
    pub names: Option<Names>,
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

    /// What may stand in the place of the word that is being typed.
    pub fn offers(&self) -> Completion {
        complete(self.input.value(), self.names.as_ref())
    }

    /// What Tab makes of it: it adds what all offers share, else takes the first of them; and a whole word gives way to the one
    /// after it.
    pub fn completed(&self) -> Option<String> {
        let found = self.offers();
        let (kept, typed) = self.input.value().split_at_checked(found.start)?;
        if found.common().len() > typed.len() {
            return Some(format!("{kept}{}", found.common()));
        }
        let siblings = complete(kept, self.names.as_ref()).words;
        let after = |here: usize| siblings.get((here + 1) % siblings.len());
        let next = found.words.first().or_else(|| siblings.iter().position(|word| word == typed).and_then(after))?;
        Some(format!("{kept}{next}"))
    }

    /// Fetches back a filter that was used, the newest first, so many further back; in front of all of them stands what was
    /// typed. Nothing if there is no other.
    pub fn fetch(&mut self, further: isize, used: &[String]) -> Option<String> {
        let here = self.fetched.as_ref().map_or(0, |(place, _)| place + 1);
        let place = here.saturating_add_signed(further).min(used.len());
        if place == here {
            return None;
        }
        let (_, typed) = self.fetched.take().unwrap_or_else(|| (0, self.input.value().to_owned()));
        match place.checked_sub(1) {
            None => Some(typed),
            Some(place) => {
                self.fetched = Some((place, typed));
                used.get(place).cloned()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::filter::Named;

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

    #[test]
    fn tab_goes_through_what_the_store_names() {
        let names = ["SUP-1", "SUP-2"].map(str::to_owned).to_vec();
        let mut line = line("vip ticket:s");
        line.names = Some(Names { of: Named::Ticket, words: names });
        let mut seen = Vec::new();
        for _ in 0..4 {
            let text = line.completed().unwrap();
            line.input = Input::new(text.clone());
            seen.push(text);
        }
        assert_eq!(seen, ["SUP-", "SUP-1", "SUP-2", "SUP-1"].map(|word| format!("vip ticket:{word}")));
        line.input = Input::new("label:s".into());
        assert_eq!(line.completed(), None);
    }

    #[test]
    fn what_was_typed_comes_back_behind_what_was_fetched() {
        let used = ["is:overdue", "vip"].map(str::to_owned);
        let mut line = line("chain:ba");
        assert_eq!(line.fetch(-1, &used), None);
        assert_eq!(line.fetch(1, &used).unwrap(), "is:overdue");
        assert_eq!(line.fetch(1, &used).unwrap(), "vip");
        assert_eq!(line.fetch(1, &used), None);
        assert_eq!(line.fetch(-1, &used).unwrap(), "is:overdue");
        assert_eq!(line.fetch(-1, &used).unwrap(), "chain:ba");
        assert_eq!([line.fetch(-1, &used), line.fetch(1, &[])], [None, None]);
    }
}
