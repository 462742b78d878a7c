//! The result of a check, and how it is printed.

use std::io::Write;

use color_eyre::eyre::Result;

use crate::{domain::text, runtime::exit::Exit};

/// The result of a check.
pub(super) enum Diagnosis {
    Ok(String),
    /// Polling works, but the user should know this.
    Warning(String),
    /// Polling can't work.
    Error(String),
}

/// Prints a line for each finding, and returns the exit code that they make.
pub(super) fn print_findings(findings: &[(&str, Diagnosis)], out: &mut dyn Write) -> Result<Exit> {
    let mut exit = Exit::Success;
    for (name, finding) in findings {
        let (word, sentence) = match finding {
            Diagnosis::Ok(sentence) => ("ok", sentence),
            Diagnosis::Warning(sentence) => ("warn", sentence),
            Diagnosis::Error(sentence) => {
                exit = Exit::Error;
                ("error", sentence)
            }
        };
        writeln!(out, "{word:<5}  {name:<9} {}", text::clean(sentence))?;
    }
    Ok(exit)
}
