//! Exports from the dashboard: writes a new file whose extension is the format.
//!
//! The module must never replace an existing file, nor leave an incomplete file.

use std::{io, path::Path};

use color_eyre::eyre::{Result, bail, eyre};

use super::{
    format::{ExportFormat, ExportOptions},
    partial_file::{self, error_reason},
    writer::write_rows,
};
use crate::{cli::output::target::OutputTarget, domain::text, process::files, store::Store, tui::export::ExportOrder};

/// Writes the file. Returns a sentence with the number of transactions and the path, or the reason why there is no
/// file.
pub(crate) fn to_new_file(store: &Store, order: &ExportOrder) -> Result<String, String> {
    write(store, order).map_err(|report| report.to_string())
}

fn write(store: &Store, order: &ExportOrder) -> Result<String> {
    let file = files::expand_home(&order.file);
    let format = ExportFormat::of(Path::new(&order.file))
        .ok_or_else(|| eyre!("the name has no known extension: end it with .csv, .json, .ndjson, .md or .html"))?;
    let target = OutputTarget::of(&file, store.path()).map_err(|reason| eyre!(reason))?;
    let OutputTarget::File { path, folder } = target else { bail!("it is a device; choose another name") };
    if path.exists() {
        return Err(already_exists());
    }
    let filter_text = "selection in the dashboard";
    let options = ExportOptions { format, filter_text, now: order.now, zone: order.zone };
    let check_interruption = || match order.cancel_flag.is_cancelled() {
        true => Err(eyre!("the dashboard was closed before the export was complete")),
        false => Ok(()),
    };
    let reader = store.reader()?;
    let (partial, count) = partial_file::write(&folder, order.now, |out| {
        write_rows(&reader, &order.rows, options, out, &check_interruption)
    })?;
    partial.persist_noclobber(&path).map_err(|error| match error.error.kind() {
        io::ErrorKind::AlreadyExists => already_exists(),
        _ => error_reason(&error.error),
    })?;
    Ok(format!("{} written to {}", text::counted(count, "transaction"), text::clean_path(&path)))
}

fn already_exists() -> color_eyre::Report {
    eyre!("the file already exists; choose another name")
}
