//! The page with the reply for a ticket, or another copied text.

pub(crate) mod update;
pub(crate) mod view;
