//! `hoptop store append`: writes operations that the database lost to the team's log again.
//!
//! All operations are read first. Each one is marked in the file as soon as it is in the log again, so that the next run
//! appends only the remaining ones.

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

/// Appends the operations of the file in order, each with the time and the author that it had first.
pub(super) fn append(args: &AppendArgs, cx: &mut Context) -> Result<Exit> {
    let path = text::clean_path(&args.file);
    let file = File::options().read(true).write(true).open(&args.file);
    let mut file = file.wrap_err_with(|| format!("{path} can't be opened for reading and writing"))?;
    let operations = own_entries::read_operations(BufReader::new(&file))
        .wrap_err_with(|| format!("{path} isn't a file of lost changes"))?;
    let count = operations.len();
    for (done, (offset, Envelope { operation, stamp, .. })) in operations.into_iter().enumerate() {
        let store = cx.store.clone().with_author(stamp.author);
        let appended = match operation {
            // An import may be too large for one operation.
            Operation::Track { profile, transactions } if are_distinct(&transactions) => {
                store.track_batch(&profile, Box::new(transactions), stamp.at)
            }
            operation => store.apply(operation, stamp.at),
        }
        .wait();
        appended.wrap_err_with(|| {
            format!(
                "{done} of {count} operations were appended; check whether the next one, the first line of {path} without #, \
                 is in the log before you repeat the command"
            )
        })?;
        let marked = own_entries::mark_appended(&mut file, offset).and_then(|()| file.sync_data());
        marked.wrap_err_with(|| {
            format!("{path} can't be written: the operation in its first line without # is in the log already")
        })?;
    }
    cx.store.mark_loss_appended()?;
    writeln!(cx.out, "{count} operations are in the team's log again")?;
    Ok(Exit::Success)
}

fn are_distinct(transactions: &[NewTransaction]) -> bool {
    let keys: HashSet<String> = transactions.iter().map(|new| new.params.transaction_id.key()).collect();
    keys.len() == transactions.len()
}
