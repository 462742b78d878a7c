//! A prompt: one line that a person types, and what it is for.
//!
//! What is typed stays until it is done, so that a full disk or a file that exists costs nobody their words.

use tui_input::Input;

use crate::{
    domain::{ids::RowId, text},
    tui::effect::Work,
};

/// The prompt's state.
#[derive(Debug)]
pub struct Prompt {
    /// What it is for.
    pub purpose: Purpose,
    /// What is being typed.
    pub input: Input,
    /// Whether it is still what it began with: then it is selected, and the first letter takes its place.
    pub is_selected: bool,
    /// What is wrong with it, or went wrong with it.
    pub wrong: Option<String>,
    /// What is being carried out for it, if anything is.
    pub sent: Option<Work>,
}

/// What a prompt is for, and what that works on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Take on what stands for these, with a note or without.
    Acknowledge(Vec<RowId>),
    /// Take on these alerts, by the store's numbers.
    AcknowledgeAlerts(Vec<i64>),
    /// A note on these.
    Note(Vec<RowId>),
    /// The ticket of these; nothing typed takes it off.
    Ticket(Vec<RowId>),
    /// Labels put on these and taken off.
    Labels(Vec<RowId>),
    /// A new file with these.
    Export(Vec<RowId>),
    /// A new file with all that is shown, and how many these are, if that is known.
    ExportShown(Option<u64>),
}

impl Prompt {
    /// A prompt that begins with a text.
    pub fn new(purpose: Purpose, text: String) -> Self {
        // Words are gone on with, a ticket or a name is another one.
        let is_selected = !text.is_empty() && !matches!(purpose, Purpose::AcknowledgeAlerts(_));
        Self { purpose, is_selected, input: Input::new(text), wrong: None, sent: None }
    }

    /// Something is typed, or the cursor moved, after this: what is selected gives way if it `is_replaced`.
    pub fn begin(&mut self, is_replaced: bool) {
        if std::mem::take(&mut self.is_selected) && is_replaced {
            self.input.reset();
        }
    }

    /// What is typed, clean; nothing if it is blank.
    pub fn typed(&self) -> Option<String> {
        text::clean_or_none(self.input.value())
    }
}

impl Purpose {
    /// Its title, before what it works on.
    pub fn title(&self) -> &'static str {
        match self {
            Self::Acknowledge(_) | Self::AcknowledgeAlerts(_) => "Acknowledge",
            Self::Note(_) => "Note on",
            Self::Ticket(_) => "Ticket of",
            Self::Labels(_) => "Labels of",
            Self::Export(_) | Self::ExportShown(_) => "Export",
        }
    }

    /// What Enter does, in a word.
    pub fn verb(&self) -> &'static str {
        match self {
            Self::Acknowledge(_) | Self::AcknowledgeAlerts(_) => "acknowledge",
            Self::Note(_) => "add the note",
            Self::Ticket(_) => "set the ticket",
            Self::Labels(_) => "change the labels",
            Self::Export(_) | Self::ExportShown(_) => "write the file",
        }
    }

    /// What to type.
    pub fn guide(&self) -> &'static str {
        match self {
            Self::Acknowledge(_) | Self::AcknowledgeAlerts(_) => "Optional: a note for your team.",
            Self::Note(_) => "A note for your team, kept with the transaction.",
            Self::Ticket(_) => "The ticket's number; leave empty to remove it.",
            Self::Labels(_) => "+vip adds, -batch-17 removes a label; separate several by blanks.",
            Self::Export(_) | Self::ExportShown(_) => {
                "A new file; its extension sets the format: .csv .json .ndjson .md .html"
            }
        }
    }

    /// The transactions that it works on, as far as these are named.
    pub fn rows(&self) -> &[RowId] {
        match self {
            Self::Acknowledge(rows)
            | Self::Note(rows)
            | Self::Ticket(rows)
            | Self::Labels(rows)
            | Self::Export(rows) => rows,
            Self::AcknowledgeAlerts(_) | Self::ExportShown(_) => &[],
        }
    }
}

/// Labels to put on, and labels to take off.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelChange {
    /// Those to put on.
    pub add: Vec<String>,
    /// Those to take off.
    pub remove: Vec<String>,
}

impl LabelChange {
    /// Reads `+vip -batch-17`; a word without a sign is put on. The error says what is wrong.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let mut change = Self::default();
        for word in text.split([' ', ',', ';']).filter(|word| !word.is_empty()) {
            let (labels, label) = match word.strip_prefix('-') {
                Some(label) => (&mut change.remove, label),
                None => (&mut change.add, word.strip_prefix('+').unwrap_or(word)),
            };
            match text::clean_or_none(label) {
                Some(label) => labels.push(label),
                None => return Err("A sign needs a label after it: +vip, -batch-17."),
            }
        }
        if change.add.iter().any(|label| change.remove.contains(label)) {
            return Err("The same label can't be added and removed.");
        }
        if change == Self::default() { Err("Type a label, such as +vip, or press Esc to cancel.") } else { Ok(change) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_put_on_and_taken_off() {
        let change = LabelChange::parse("+vip  -batch-17, later").unwrap();
        assert_eq!((change.add, change.remove), (vec!["vip".into(), "later".into()], vec!["batch-17".into()]));
        for (wrong, why) in
            [("", "Type a label"), ("+", "A sign needs"), ("vip -", "A sign needs"), ("a -a", "The same")]
        {
            assert!(LabelChange::parse(wrong).unwrap_err().starts_with(why), "{wrong}");
        }
    }
}
