//! `hoptop check HASH --from … --to … --quote-id …`: polls one transaction that isn't tracked, and prints it.
//!
//! The transaction is tracked in a temporary store, whose poller takes the request from the budget that all processes
//! of this machine share. The module must never write to the store of the settings. The command must never send a
//! request for an ID that a team's lease governs.

use std::path::Path;

use color_eyre::eyre::{Result, bail};

use super::{CheckArgs, PollSource, poll_and_print};
use crate::{
    cli::{commands::add, context::Context},
    config::Settings,
    domain::operation::Operation,
    intake::{self, Field},
    runtime::{background_poller::ServiceClient, exit::Exit, team_store::TeamAccess},
    store::{Reader, Store},
};

/// Polls the described transaction once and prints it. The store of the context must be a temporary one.
///
/// # Errors
/// If a team's store is configured, or the settings don't allow polling.
pub(crate) fn check(
    args: &CheckArgs,
    settings: &Settings,
    team: Option<&TeamAccess>,
    cx: &mut Context,
) -> Result<Exit> {
    let [hash] = args.transactions.as_slice() else {
        writeln!(cx.err, "--from, --to and --quote-id describe one transaction; give one TX")?;
        return Ok(Exit::Usage);
    };
    let values = [
        (Field::TransactionId, hash.as_str()),
        (Field::FromChainId, args.from.as_deref().unwrap_or_default()),
        (Field::ToChainId, args.to.as_deref().unwrap_or_default()),
        (Field::QuoteId, args.quote_id.as_deref().unwrap_or_default()),
    ];
    let Some((new, _)) = add::read(&values, args.any_chain, cx.err)? else { return Ok(Exit::Usage) };
    if let Some(warning) = intake::length_warning(&new.params.transaction_id, &new.params.from_chain) {
        writeln!(cx.err, "warning: {warning}")?;
    }
    if team.is_some() || is_replica(&settings.db) {
        bail!(
            "with a team's store only tracked transactions can be checked: one machine sends the requests of the whole \
             team; track this one with `hoptop add`, then run `hoptop check TX`"
        );
    }
    let polling = ServiceClient::checked(settings.polling())?;
    let operation = Operation::Track { profile: cx.profile.clone(), transactions: vec![new] };
    let tracked = cx.store.apply(operation, cx.now.wall).wait()?.tracked()?;
    let rows: Vec<_> = tracked.first().into_iter().collect();
    poll_and_print(&rows, polling, PollSource { settings, team: None, json: args.json }, cx)
}

/// Whether the store at `db` is a team's replica, also without a team in the settings. An unreadable store counts as a
/// replica.
fn is_replica(db: &Path) -> bool {
    !Store::has_no_store_at(db)
        && Reader::quick(db).and_then(|reader| reader.replica()).map_or(true, |replica| replica.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        cli::context::testing::{CommandFixture, at},
        domain::{
            operation::{Envelope, Stamp},
            team::{LogEntry, LogPosition, Nonce},
        },
        store::{LogEntries, payload},
    };

    #[test]
    fn replica_of_a_team_is_recognised_without_the_team() {
        let bench = CommandFixture::new();
        let db = bench.folder.path().join("hoptop.db");
        assert!(!is_replica(&db) && !is_replica(&bench.folder.path().join("missing.db")));
        let pause = Operation::Pause { profile: "default".into(), until: None };
        let payload = payload::encode(&[&Envelope::new(pause, Stamp::new(at(0), None))]).unwrap();
        let entry = LogEntry { position: LogPosition { seq: 1, nonce: Nonce(1) }, author: None, payload };
        let entries = LogEntries { team: Nonce(7), entries: vec![entry], own: vec![], is_light: false };
        bench.store.replicate(entries).wait().unwrap().replicated().unwrap();
        assert!(is_replica(&db));
    }
}
