//! The update of the list, one file per family of commands.

pub(crate) mod arrangement;
pub(crate) mod marks;
pub(crate) mod views;
