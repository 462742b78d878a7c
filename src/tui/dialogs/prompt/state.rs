//! The state of a prompt: what it asks for, and a typed line, which together make a write.
//!
//! The text must stay until the write has succeeded: a full disk or an existing file must not lose typed words.

use tui_input::Input;

use crate::{
    domain::{ids::RowId, operation::Edit, text},
    tui::effect::{AlertTarget, ScreenEdit, Write},
};

/// What a prompt asks for, with the targets of the write.
#[derive(Clone, Debug, PartialEq)]
pub enum PromptKind {
    /// The note of an acknowledgement.
    Acknowledgement(Vec<AlertTarget>),
    Note(Vec<RowId>),
    Ticket(Vec<RowId>),
    /// Labels to add and to remove.
    Labels(Vec<RowId>),
    /// The file of an export; `None` for all shown transactions.
    Export(Option<Vec<RowId>>),
}

/// The state of a prompt.
#[derive(Debug)]
pub struct Prompt {
    pub kind: PromptKind,
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
    pub fn new(kind: PromptKind, text: String) -> Self {
        // A note is usually continued; a ticket or a file name is usually replaced.
        let is_selected = !text.is_empty() && !matches!(kind, PromptKind::Acknowledgement(_));
        Self { kind, is_selected, input: Input::new(text), error: None, sent: None }
    }

    /// Ends the selection before a key is applied; the selected text is removed if the key replaces it.
    pub fn end_selection(&mut self, is_replaced: bool) {
        if std::mem::take(&mut self.is_selected) && is_replaced {
            self.input.reset();
        }
    }

    /// Returns the write that the text completes.
    ///
    /// # Errors
    /// The reason why the text is invalid, as a sentence.
    pub fn completed(&self) -> Result<Write, &'static str> {
        let typed = text::clean_or_none(self.input.value());
        Ok(Write::Edit(match self.kind.clone() {
            PromptKind::Acknowledgement(alerts) => Edit::Acknowledge { alerts, note: typed },
            PromptKind::Note(transactions) => {
                Edit::AddNote { transactions, text: typed.ok_or("Type a note, or press Esc to cancel.")? }
            }
            PromptKind::Ticket(transactions) => {
                let ticket = match typed {
                    Some(typed) if typed == "-" => None,
                    None if transactions.len() > 1 => {
                        return Err("Type a ticket, or - to remove the tickets of all these transactions.");
                    }
                    typed => typed,
                };
                Edit::SetTicket { transactions, ticket }
            }
            PromptKind::Labels(transactions) => change_labels(transactions, self.input.value())?,
            PromptKind::Export(rows) => {
                let file = typed.ok_or("Type a file name, or press Esc to cancel.")?;
                return Ok(Write::Export { file, rows });
            }
        }))
    }

    /// Returns the beginning of the title, the action of Enter, and a sentence about the text to type.
    pub fn texts(&self) -> [&'static str; 3] {
        match &self.kind {
            PromptKind::Acknowledgement(_) => ["Acknowledge", "acknowledge", "Optional: a note for your team."],
            PromptKind::Note(_) => ["Note on", "add the note", "A note for your team, kept with the transaction."],
            PromptKind::Ticket(transactions) => {
                let guide = match transactions.len() {
                    0 | 1 => "The ticket's number; leave empty to remove it.",
                    _ => "The ticket's number for all of them; type - to remove their tickets.",
                };
                ["Ticket of", "set the ticket", guide]
            }
            PromptKind::Labels(_) => {
                let guide = "+vip adds a label, -batch-17 removes one; separate labels by spaces.";
                ["Labels of", "change the labels", guide]
            }
            PromptKind::Export(_) => {
                let guide = "A new file; its extension sets the format: .csv .json .ndjson .md .html";
                ["Export", "write the file", guide]
            }
        }
    }
}

/// Returns the edit of `+vip -batch-17`. A word without a sign is added.
///
/// # Errors
/// A sentence about the mistake.
fn change_labels(transactions: Vec<RowId>, typed: &str) -> Result<ScreenEdit, &'static str> {
    let (mut add, mut remove) = (Vec::new(), Vec::new());
    for word in typed.split([' ', ',', ';']).filter(|word| !word.is_empty()) {
        let (labels, label) = match word.strip_prefix('-') {
            Some(label) => (&mut remove, label),
            None => (&mut add, word.strip_prefix('+').unwrap_or(word)),
        };
        labels.push(text::clean_or_none(label).ok_or("A label is missing after the sign, as in +vip or -batch-17.")?);
    }
    if add.iter().any(|label| remove.contains(label)) {
        return Err("The same label can't be added and removed.");
    }
    if add.is_empty() && remove.is_empty() {
        return Err("Type a label, such as +vip, or press Esc to cancel.");
    }
    Ok(Edit::ChangeLabels { transactions, add, remove })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tickets_of_several_are_not_removed_by_an_empty_line() {
        let completed = |rows: &[i64], typed: &str| {
            Prompt::new(PromptKind::Ticket(rows.iter().map(|row| RowId(*row)).collect()), typed.to_owned()).completed()
        };
        let ticket = |rows, typed| match completed(rows, typed) {
            Ok(Write::Edit(Edit::SetTicket { ticket, .. })) => ticket,
            other => panic!("{other:?}"),
        };
        assert_eq!((ticket(&[1], ""), ticket(&[1, 2], "-")), (None, None));
        assert_eq!(ticket(&[1, 2], "SUP-7").as_deref(), Some("SUP-7"));
        assert!(completed(&[1, 2], " ").unwrap_err().starts_with("Type a ticket, or -"));
    }

    #[test]
    fn labels_are_added_and_removed() {
        let edit = change_labels(Vec::new(), "+vip  -batch-17, later").unwrap();
        let Edit::ChangeLabels { add, remove, .. } = edit else { panic!("{edit:?}") };
        assert_eq!((add, remove), (vec!["vip".into(), "later".into()], vec!["batch-17".into()]));
        for (wrong, why) in
            [("", "Type a label"), ("+", "A label is missing"), ("vip -", "A label is missing"), ("a -a", "The same")]
        {
            assert!(change_labels(Vec::new(), wrong).unwrap_err().starts_with(why), "{wrong}");
        }
    }
}
