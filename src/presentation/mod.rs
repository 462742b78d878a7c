//! Shows the domain as text: widths in columns, texts of a row, trees of JSON bodies, the completion of a filter.
//!
//! Pure. The dashboard and the command line share it; it must never know a screen or a stream.

pub(crate) mod filter_completion;
pub(crate) mod glyphs;
pub(crate) mod json_tree;
pub(crate) mod progress;
pub(crate) mod row_text;
pub(crate) mod width;
