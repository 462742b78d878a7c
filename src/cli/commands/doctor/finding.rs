//! The result of a check, and how it is printed.

use color_eyre::eyre::Result;
use serde::Serialize;

use crate::{
    cli::{context::Context, output::schema::Schema},
    domain::text,
    runtime::exit::Exit,
};

/// The result of a check.
pub(super) enum Diagnosis {
    Ok(String),
    /// Polling works, but the user should know this.
    Warning(String),
    /// Polling can't work.
    Error(String),
}

/// The checks as `--json` prints them.
#[derive(Serialize)]
struct DoctorView {
    schema: Schema,
    /// Whether no check is an error.
    ok: bool,
    checks: Vec<CheckView>,
}

#[derive(Serialize)]
struct CheckView {
    name: &'static str,
    result: &'static str,
    message: String,
}

/// Prints the findings, as JSON or one line for each, and returns the exit code that they make.
pub(super) fn print_findings(findings: Vec<(&'static str, Diagnosis)>, json: bool, cx: &mut Context) -> Result<Exit> {
    let ok = !findings.iter().any(|(_, finding)| matches!(finding, Diagnosis::Error(_)));
    let checks = findings.into_iter().map(|(name, finding)| {
        let (result, sentence) = match finding {
            Diagnosis::Ok(sentence) => ("ok", sentence),
            Diagnosis::Warning(sentence) => ("warning", sentence),
            Diagnosis::Error(sentence) => ("error", sentence),
        };
        CheckView { name, result, message: text::clean(&sentence) }
    });
    if json {
        let view = DoctorView { schema: Schema::Doctor, ok, checks: checks.collect() };
        writeln!(cx.out, "{}", serde_json::to_string(&view)?)?;
    } else {
        for CheckView { name, result, message } in checks {
            let word = if result == "warning" { "warn" } else { result };
            writeln!(cx.out, "{word:<5}  {name:<9} {}", message.replace('…', cx.ellipsis))?;
        }
    }
    Ok(if ok { Exit::Success } else { Exit::Error })
}
