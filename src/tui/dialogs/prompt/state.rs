//! The state of a prompt: a typed line, and the write that it completes.
//!
//! The text must stay until the write has succeeded: a full disk or an existing file must not lose typed words.

use tui_input::Input;

use crate::{
    domain::{
        ids::RowId,
        operation::{Edit, EditTargets},
        text,
    },
    tui::effect::{AlertTarget, Write},
};

/// The state of a prompt.
#[derive(Debug)]
pub struct Prompt {
    /// The write that the text completes.
    pub draft: Write,
    /// The typed text.
    pub input: Input,
    /// Whether the initial text is selected: the first letter replaces it.
    pub is_selected: bool,
    /// Why the text or the write was refused.
    pub error: Option<String>,
    /// The write that was sent, until its result arrives.
    pub sent: Option<Write>,
}

impl Prompt {
    /// Returns a prompt that begins with a text.
    pub fn new(draft: Write, text: String) -> Self {
        // A note is usually continued; a ticket or a file name is usually replaced.
        let is_selected = !text.is_empty() && !matches!(draft, Write::Edit(Edit::Acknowledge { .. }));
        Self { draft, is_selected, input: Input::new(text), error: None, sent: None }
    }

    /// Ends the selection before a key is applied; the selected text is removed if the key replaces it.
    pub fn end_selection(&mut self, is_replaced: bool) {
        if std::mem::take(&mut self.is_selected) && is_replaced {
            self.input.reset();
        }
    }

    /// Returns the draft completed by the text.
    ///
    /// # Errors
    /// The reason why the text is invalid, as a sentence.
    pub fn completed(&self) -> Result<Write, &'static str> {
        let typed = text::clean_or_none(self.input.value());
        let mut write = self.draft.clone();
        match &mut write {
            Write::Edit(edit) => match edit {
                Edit::Acknowledge { note, .. } => *note = typed,
                Edit::AddNote { text, .. } => *text = typed.ok_or("Type a note, or press Esc to cancel.")?,
                Edit::SetTicket { ticket, .. } => *ticket = typed,
                Edit::ChangeLabels { add, remove, .. } => {
                    let labels = LabelChange::parse(self.input.value())?;
                    (*add, *remove) = (labels.add, labels.remove);
                }
                Edit::Untrack { .. }
                | Edit::RemoveNote { .. }
                | Edit::Snooze { .. }
                | Edit::Unacknowledge { .. }
                | Edit::CorrectSource { .. } => {}
            },
            Write::Export { file, .. } => *file = typed.ok_or("Type a file name, or press Esc to cancel.")?,
        }
        Ok(write)
    }

    /// Returns the beginning of the title, the action of Enter, and a sentence about the text to type.
    pub fn texts(&self) -> [&'static str; 3] {
        match &self.draft {
            Write::Edit(edit) => match edit {
                Edit::Acknowledge { .. } => ["Acknowledge", "acknowledge", "Optional: a note for your team."],
                Edit::AddNote { .. } => ["Note on", "add the note", "A note for your team, kept with the transaction."],
                Edit::SetTicket { .. } => {
                    ["Ticket of", "set the ticket", "The ticket's number; leave empty to remove it."]
                }
                Edit::ChangeLabels { .. } => {
                    let guide = "+vip adds a label, -batch-17 removes one; separate labels by spaces.";
                    ["Labels of", "change the labels", guide]
                }
                // These need no text, so nothing prompts for one.
                Edit::Untrack { .. }
                | Edit::RemoveNote { .. }
                | Edit::Snooze { .. }
                | Edit::Unacknowledge { .. }
                | Edit::CorrectSource { .. } => ["Change", "apply", ""],
            },
            Write::Export { .. } => {
                let guide = "A new file; its extension sets the format: .csv .json .ndjson .md .html";
                ["Export", "write the file", guide]
            }
        }
    }

    /// Returns the transactions that the write applies to; `None` if it applies to all shown ones or to single alerts.
    pub fn rows(&self) -> Option<Vec<RowId>> {
        match &self.draft {
            Write::Edit(edit) => match edit.targets() {
                EditTargets::Transactions(rows) => Some(rows.to_vec()),
                EditTargets::Alerts(alerts) => alerts.iter().map(|alert| alert.transaction()).collect(),
            },
            Write::Export { rows, .. } => rows.clone(),
        }
    }

    /// Returns the number of the first alert that the write applies to; `None` if it applies to no single alert.
    pub fn alert(&self) -> Option<i64> {
        let Write::Edit(edit) = &self.draft else { return None };
        let EditTargets::Alerts(alerts) = edit.targets() else { return None };
        alerts.iter().find_map(|alert| match alert {
            AlertTarget::Alert(id) => Some(*id),
            AlertTarget::OfTransaction(_) => None,
        })
    }
}

/// Labels to add and to remove.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LabelChange {
    /// The labels to add.
    pub add: Vec<String>,
    /// The labels to remove.
    pub remove: Vec<String>,
}

impl LabelChange {
    /// Parses `+vip -batch-17`. A word without a sign is added.
    ///
    /// # Errors
    /// A sentence about the mistake.
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        let mut change = Self::default();
        for word in text.split([' ', ',', ';']).filter(|word| !word.is_empty()) {
            let (labels, label) = match word.strip_prefix('-') {
                Some(label) => (&mut change.remove, label),
                None => (&mut change.add, word.strip_prefix('+').unwrap_or(word)),
            };
            match text::clean_or_none(label) {
                Some(label) => labels.push(label),
                None => return Err("A label is missing after the sign, as in +vip or -batch-17."),
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
    fn labels_are_added_and_removed() {
        let change = LabelChange::parse("+vip  -batch-17, later").unwrap();
        assert_eq!((change.add, change.remove), (vec!["vip".into(), "later".into()], vec!["batch-17".into()]));
        for (wrong, why) in
            [("", "Type a label"), ("+", "A label is missing"), ("vip -", "A label is missing"), ("a -a", "The same")]
        {
            assert!(LabelChange::parse(wrong).unwrap_err().starts_with(why), "{wrong}");
        }
    }
}
