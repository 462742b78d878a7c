//! A menu: a title and a few entries, each with a key.

pub(crate) mod state;
pub(crate) mod update;
pub(crate) mod view;
