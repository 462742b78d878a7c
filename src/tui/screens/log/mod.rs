//! The screen with the last lines of the log.

pub(crate) mod state;
pub(crate) mod update;
pub(crate) mod view;
