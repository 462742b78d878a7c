//! `hoptop store append`: writes operations to the team's log again that the database lost.
//!
//! All operations are read first. After a failure the file holds the remaining operations: no operation is appended
//! twice.

use std::{collections::HashSet, fs::File, io::BufReader, path::PathBuf};

use clap::Args;
use color_eyre::eyre::{Result, WrapErr};

use crate::{
    cli::context::Context,
    domain::{
        operation::{Envelope, Operation},
        text,
        transaction::NewTransaction,
    },
    runtime::exit::Exit,
    store::own_entries,
};

/// The arguments of `hoptop store append`.
#[derive(Args, Debug)]
pub(super) struct AppendArgs {
    /// The file that hoptop reported: one JSON operation per line
    file: PathBuf,
}

/// Appends the operations of the file in order, each at the time at which it was made first.
pub(super) fn append(args: &AppendArgs, cx: &mut Context) -> Result<Exit> {
    let path = text::clean_path(&args.file);
    let file = File::open(&args.file).wrap_err_with(|| format!("{path} can't be read"))?;
    let operations =
        own_entries::read_operations(BufReader::new(file)).wrap_err_with(|| format!("{path} is no such file"))?;
    let count = operations.len();
    for (done, Envelope { operation, stamp, .. }) in operations.iter().cloned().enumerate() {
        let appended = match operation {
            // An import may be too large for one operation.
            Operation::Track { profile, transactions } if are_distinct(&transactions) => {
                cx.store.track_batch(&profile, Box::new(transactions), stamp.at)
            }
            operation => cx.store.apply(operation, stamp.at),
        }
        .wait();
        if let Err(error) = appended {
            let rest = operations.get(done..).unwrap_or_default();
            own_entries::write_operations(&args.file, rest)?;
            return Err(error).wrap_err_with(|| {
                format!("{done} of {count} operations were appended; {path} now holds the other {}", rest.len())
            });
        }
    }
    cx.store.mark_loss_appended()?;
    writeln!(cx.out, "{count} operations are in the team's log again")?;
    Ok(Exit::Success)
}

fn are_distinct(transactions: &[NewTransaction]) -> bool {
    let keys: HashSet<String> = transactions.iter().map(|new| new.params.transaction_id.key()).collect();
    keys.len() == transactions.len()
}
