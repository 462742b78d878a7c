//! Prints errors and warnings on standard error, one line each.
//!
//! A line that holds text from outside must be cleaned before it is printed.

use std::{
    error::Error,
    io::{self, Write},
};

use color_eyre::eyre::Report;

use crate::{
    api::BaseUrlError, config::ConfigError, domain::text, notify::webhook::WebhookError, tui::theme::ThemeError,
};

/// Returns an error and its causes as one line. A cause that is already part of the line is left out.
pub(crate) fn sentence(report: &Report) -> String {
    report.chain().map(|cause| text::clean(&cause.to_string())).fold(String::new(), |line, cause| match line.as_str() {
        "" => cause,
        line if line.contains(&cause) => line.to_owned(),
        line => format!("{line}: {cause}"),
    })
}

/// Prints one line on standard error. If standard error is closed, the line is lost.
pub(crate) fn print_line(line: &str) {
    writeln!(io::stderr(), "hoptop: {line}").ok();
}

/// Whether an invalid setting caused the error.
pub(crate) fn is_wrong_setting(report: &Report) -> bool {
    let wrong = |cause: &(dyn Error + 'static)| {
        cause.is::<ConfigError>()
            || cause.is::<BaseUrlError>()
            || cause.is::<WebhookError>()
            || cause.is::<ThemeError>()
    };
    report.chain().any(wrong)
}

/// Whether a closed pipe caused the error.
pub(crate) fn is_closed_pipe(report: &Report) -> bool {
    let closed = |error: &io::Error| error.kind() == io::ErrorKind::BrokenPipe;
    report.chain().any(|cause| cause.downcast_ref::<io::Error>().is_some_and(closed))
}
