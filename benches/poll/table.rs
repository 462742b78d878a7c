//! The table of figures with their targets, and whether each target was reached.

use std::process::ExitCode;

/// A row of the table.
#[derive(Default)]
pub(crate) struct ResultRow {
    pub measure: String,
    pub measured: String,
    /// The figure of another program, if one was measured.
    pub yardstick: String,
    /// The figure divided by the yardstick.
    pub ratio: Option<f64>,
    /// The target; `None` for a figure that is shown for orientation.
    pub target: Option<PerformanceTarget>,
}

/// A figure, its bound and their unit.
pub(crate) enum PerformanceTarget {
    AtMost(f64, f64, &'static str),
    AtLeast(f64, f64, &'static str),
}

impl PerformanceTarget {
    fn is_reached(&self) -> bool {
        match self {
            Self::AtMost(figure, bound, _) => figure <= bound,
            Self::AtLeast(figure, bound, _) => figure >= bound,
        }
    }

    fn text(&self) -> String {
        match self {
            Self::AtMost(_, bound, unit) => format!("≤ {bound}{unit}"),
            Self::AtLeast(_, bound, unit) => format!("≥ {bound}{unit}"),
        }
    }
}

/// The rows and notes of this run.
#[derive(Default)]
pub(crate) struct ResultTable {
    rows: Vec<ResultRow>,
    notes: Vec<String>,
}

impl ResultTable {
    pub(crate) fn push(&mut self, row: ResultRow) {
        self.rows.push(row);
    }

    /// Adds a line that is printed below the table.
    pub(crate) fn note(&mut self, note: String) {
        self.notes.push(note);
    }

    /// Prints the table. Returns a failure if a target was missed.
    pub(crate) fn end(self) -> ExitCode {
        println!("| what | measured | yardstick | ratio | reach | |\n| --- | ---: | ---: | ---: | ---: | --- |");
        let mut missed = false;
        for ResultRow { measure, measured, yardstick, ratio, target } in self.rows {
            let ratio = ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.2}"));
            let yardstick = if yardstick.is_empty() { "-" } else { &yardstick };
            let reach = target.as_ref().map_or("-".to_owned(), PerformanceTarget::text);
            let is_reached = target.as_ref().map(PerformanceTarget::is_reached);
            let word = is_reached.map_or("-", |reached| if reached { "reached" } else { "MISSED" });
            missed |= is_reached == Some(false);
            println!("| {measure} | {measured} | {yardstick} | {ratio} | {reach} | {word} |");
        }
        println!();
        self.notes.iter().for_each(|note| println!("{note}"));
        if missed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
    }
}
