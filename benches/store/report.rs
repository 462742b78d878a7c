//! Compares figures with their targets.

use std::process::ExitCode;

/// The figures that missed their targets.
#[derive(Default)]
pub(crate) struct BenchReport {
    missed: Vec<String>,
}

impl BenchReport {
    /// Checks a figure against its upper bound, and returns both as a table shows them.
    pub(crate) fn at_most(&mut self, measure: &str, figure: f64, target: f64, unit: &str) -> String {
        let is_missed = figure > target;
        if is_missed {
            self.missed.push(format!("{measure}: {figure:.0} {unit}, to reach: {target:.0}"));
        }
        format!("{figure:.0} {unit} (reach: {target:.0}){}", if is_missed { " MISSED" } else { "" })
    }

    /// Prints the missed targets. Returns a failure if there are any.
    pub(crate) fn end(&self) -> ExitCode {
        if self.missed.is_empty() {
            return ExitCode::SUCCESS;
        }
        println!("\nMissed:\n  {}", self.missed.join("\n  "));
        ExitCode::FAILURE
    }
}
