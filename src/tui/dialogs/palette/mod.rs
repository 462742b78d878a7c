//! The command palette: runs any command by its name.

pub(crate) mod state;
pub(crate) mod update;
pub(crate) mod view;
