//! The help: keys and commands, with a search.

pub(crate) mod state;
pub(crate) mod update;
pub(crate) mod view;
