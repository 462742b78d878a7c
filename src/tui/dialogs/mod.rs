//! The dialogs: each folder holds the state, the update and the view of one dialog.
//!
//! A dialog covers the screen and takes the keys. Dialogs must never import the loop, and an update must never import a
//! view.

pub(crate) mod add;
pub(crate) mod copy;
pub(crate) mod filter;
pub(crate) mod help;
pub(crate) mod menu;
pub(crate) mod palette;
pub(crate) mod prompt;
pub(crate) mod quote;
pub(crate) mod reply;

use tui_input::Input;

use self::{
    add::state::AddForm, copy::state::CopyMenu, filter::state::FilterLine, help::state::HelpPage, menu::state::Menu,
    palette::state::CommandPalette, prompt::state::Prompt, quote::state::QuoteForm,
};
use crate::tui::screens::detail::state::DetailTab;

/// The open dialog.
#[derive(Debug, Default)]
pub enum Dialog {
    /// No dialog is open.
    #[default]
    None,
    /// The help, with a search.
    Help(HelpPage),
    /// The reply for a ticket, or another copied text, as of the moment when it was requested.
    Reply {
        /// What the text is and whom it concerns.
        title: String,
        /// A warning about the text, for a person to read before they send the text; may be empty.
        warning: String,
        text: String,
        /// The number of lines above the first shown line.
        scroll: usize,
    },
    Filter(Box<FilterLine>),
    /// The search in a tab of the detail, or in the log.
    Find {
        /// The typed text.
        input: Input,
        /// The previous search, which Esc restores.
        before: String,
        /// The tab from which the search was opened; Esc returns to it.
        tab: DetailTab,
    },
    /// The form that adds or finds transactions.
    Add(Box<AddForm>),
    /// The command palette.
    Palette(CommandPalette),
    /// One line of text for a command.
    Prompt(Prompt),
    /// A menu with a key for each entry.
    Menu(Menu),
    /// Texts to copy, or links to open.
    CopyMenu(CopyMenu),
    /// The form that requests a quote.
    Quote(Box<QuoteForm>),
}

impl Dialog {
    /// Whether the dialog takes typed text.
    pub fn takes_text(&self) -> bool {
        match self {
            Self::None | Self::Reply { .. } | Self::Menu(_) | Self::CopyMenu(_) => false,
            Self::Help(_)
            | Self::Filter(_)
            | Self::Find { .. }
            | Self::Add(_)
            | Self::Palette(_)
            | Self::Prompt(_)
            | Self::Quote(_) => true,
        }
    }
}
