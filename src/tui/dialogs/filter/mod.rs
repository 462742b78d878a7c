//! The filter line, with completion.

pub(crate) mod state;
pub(crate) mod update;
