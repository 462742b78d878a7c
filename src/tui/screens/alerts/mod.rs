//! The screen with the list of all alerts.

pub(crate) mod state;
pub(crate) mod update;
pub(crate) mod view;
