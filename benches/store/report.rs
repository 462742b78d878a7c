//! What was to be reached, and whether it was.

use std::process::ExitCode;

/// What wasn't reached.
#[derive(Default)]
pub struct Report {
    missed: Vec<String>,
}

impl Report {
    /// A figure with its reach, as a table shows both.
    pub fn at_most(&mut self, what: &str, (figure, reach): (f64, f64), unit: &str) -> String {
        let is_missed = figure > reach;
        if is_missed {
            self.missed.push(format!("{what}: {figure:.0} {unit}, to reach: {reach:.0}"));
        }
        format!("{figure:.0} {unit} (reach: {reach:.0}){}", if is_missed { " MISSED" } else { "" })
    }

    /// Says what was missed, in words and in the exit code.
    pub fn end(&self) -> ExitCode {
        if self.missed.is_empty() {
            return ExitCode::SUCCESS;
        }
        println!("\nMissed:\n  {}", self.missed.join("\n  "));
        ExitCode::FAILURE
    }
}
