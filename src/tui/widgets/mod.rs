//! Parts that several screens and dialogs draw.

pub(super) mod columns;
pub(super) mod field;
pub(super) mod hyperlink;
pub(super) mod progress_bar;
pub(super) mod tab;
