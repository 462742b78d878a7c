//! The screen with the list of transactions: saved views, order, columns and marks.

pub(crate) mod columns;
pub(crate) mod marks;
pub(crate) mod state;
pub(crate) mod tab;
pub(crate) mod update;
pub(crate) mod view;
