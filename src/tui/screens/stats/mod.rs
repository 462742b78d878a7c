//! The screen with the charts: outcomes, durations, the budget.

pub(crate) mod state;
pub(crate) mod update;
pub(crate) mod view;
