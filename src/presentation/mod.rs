//! How the domain is shown as text: widths in columns, the texts of a row, the tree of a JSON body, the completion of a filter.
//!
//! Pure. The dashboard and the command line share it; it must never know a screen or a stream.

pub(crate) mod filter_completion;
pub(crate) mod glyphs;
pub(crate) mod json_tree;
pub(crate) mod progress;
pub(crate) mod row_text;
pub(crate) mod width;
