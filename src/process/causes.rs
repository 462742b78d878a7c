//! The causes of an error, also those that `io::Error` hides.
//!
//! This module must never decide what a cause means.

use std::{error::Error, io, iter};

/// Returns every cause below `error`, outermost first. `source` of an `io::Error` skips the error that it wraps.
pub(crate) fn causes<'a>(error: &'a dyn Error) -> Vec<&'a (dyn Error + 'static)> {
    let inner = |cause: &&'a (dyn Error + 'static)| {
        let cause: &'a (dyn Error + 'static) = *cause;
        match cause.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            Some(wrapped) => Some(wrapped as &(dyn Error + 'static)),
            None => cause.source(),
        }
    };
    iter::successors(error.source(), inner).collect()
}
