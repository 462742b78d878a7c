//! An export that the dashboard asks for: a new file, its format by its name.
//!
//! It must never replace a file that is there, nor leave half of one.

use std::{
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use color_eyre::eyre::{Result, eyre};

use super::{ExportFormat, Form, count_of, half, reason, target::Target, write_rows};
use crate::{domain::text, store::Store, tui::export::ExportOrder};

/// Writes the file, and says how many transactions are in it and where it is, or why there is none.
pub fn to_new_file(store: &Store, order: &ExportOrder) -> Result<String, String> {
    write(store, order).map_err(|report| report.to_string())
}

fn write(store: &Store, order: &ExportOrder) -> Result<String> {
    let file = at_home(&order.file);
    let format = ExportFormat::of(&order.file)
        .ok_or_else(|| eyre!("the name says no format: end it with .csv, .json, .ndjson, .md or .html"))?;
    let target = Target::of(&file, store.path()).map_err(|reason| eyre!(reason))?;
    let Target::File { path, folder } = target else { return Err(eyre!("it is a device; name a file")) };
    if path.exists() {
        return Err(exists());
    }
    let half = half::make(&folder, order.now).map_err(|error| reason(&error))?;
    let mut out = BufWriter::new(half.as_file());
    let of = "chosen in the dashboard";
    let form = Form { format, of, now: order.now, zone: order.zone };
    let goes_on =
        || if order.leaving.is_gone() { Err(eyre!("the dashboard was left before all was written")) } else { Ok(()) };
    let count = write_rows((&store.reader()?, &order.rows), form, &mut out, &goes_on)?;
    out.flush()?;
    drop(out);
    half.as_file().sync_all()?;
    half.persist_noclobber(&path).map_err(|error| match error.error.kind() {
        io::ErrorKind::AlreadyExists => exists(),
        _ => reason(&error.error),
    })?;
    Ok(format!("{} written to {}", count_of(count), text::clean_path(&path)))
}

fn exists() -> color_eyre::Report {
    eyre!("there is such a file already; name another")
}

/// A name as a shell would read it: `~/` is the person's home.
fn at_home(file: &str) -> PathBuf {
    let home = file.strip_prefix("~/").zip(std::env::home_dir());
    home.map_or_else(|| Path::new(file).to_owned(), |(rest, home)| home.join(rest))
}
