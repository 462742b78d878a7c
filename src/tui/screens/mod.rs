//! The screens: each folder holds the state, the update and the view of one.
//!
//! A screen must never import the loop. The update of a screen must never import a view.

pub(crate) mod alerts;
pub(crate) mod detail;
pub(crate) mod list;
pub(crate) mod log;
pub(crate) mod stats;
