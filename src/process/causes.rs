//! The causes of an error, also those that `io::Error` hides.
//!
//! This module must never decide what a cause means.

use std::{error::Error, io};

/// Returns every cause below `error`, outermost first. `source` of an `io::Error` skips the error that it wraps.
pub(crate) fn causes(error: &dyn Error) -> Vec<&(dyn Error + 'static)> {
    let mut causes = Vec::new();
    let mut next = error.source();
    while let Some(cause) = next {
        causes.push(cause);
        let wrapped = cause.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        next = match wrapped {
            Some(wrapped) => Some(wrapped as &(dyn Error + 'static)),
            None => cause.source(),
        };
    }
    causes
}
