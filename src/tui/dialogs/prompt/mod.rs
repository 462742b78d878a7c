//! A prompt: a line of text for a command.

pub(crate) mod state;
pub(crate) mod update;
pub(crate) mod view;
