//! `hoptop check HASH --from … --to … --quote-id …`: polls one transaction that isn't tracked, and prints it.
//!
//! The request for its status goes to the poller through the store: to the machine that polls for a team, and otherwise
//! through a temporary store. The module must never write a transaction to the store of the settings.

use color_eyre::eyre::Result;

use super::{CheckArgs, print_checked};
use crate::{
    cli::{
        commands::add,
        context::Context,
        one_shot_poll::OneShotPoll,
        opening::{self, LoadedSettings},
    },
    clock::Clock,
    domain::operation::Operation,
    intake::Field,
    runtime::{background_poller::ServiceClient, exit::Exit, log_file},
    store::StoreError,
};

/// Polls the described transaction once and prints it. Without a team the store of the context must be a temporary one.
///
/// # Errors
/// If the settings name a team's replica without the team, or don't allow polling.
pub(crate) fn check(args: &CheckArgs, loaded: &LoadedSettings, cx: &mut Context) -> Result<Exit> {
    let LoadedSettings { settings, team } = loaded;
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
    let Some(new) = add::read(&values, args.any_chain, cx)? else { return Ok(Exit::Usage) };
    if team.is_none() && opening::is_replica(&settings.db) {
        return Err(StoreError::ReplicaAlone.into());
    }
    let client = ServiceClient::checked(settings.polling())?;
    log_file::start(&settings.state_dir, &settings.db, Clock::system())?;
    let one_shot_poll = OneShotPoll { settings, store: &cx.store, team: team.as_ref(), timeout: super::MAX_WAIT };
    let (ended, answer) = one_shot_poll.request_status(new.params.clone(), client)?;
    // A second temporary store tracks the transaction, so that its answer is shown like that of a tracked one.
    let (shown, _folder) = opening::open_temporary()?;
    let transaction = new.params.key(&cx.profile);
    let track = Operation::Track { profile: cx.profile.clone(), transactions: vec![new] };
    let rows: Vec<_> = shown.apply(track, cx.now.wall).wait()?.tracked()?.first().into_iter().collect();
    let (operation, at) = match answer {
        Some((observation, at)) => (Operation::Observe { transaction, observation: Box::new(observation) }, at),
        None => (Operation::RequestPoll { transactions: vec![transaction] }, cx.now.wall),
    };
    shown.apply(operation, at).wait()?;
    print_checked(&rows, &shown.reader()?, ended, args.json, cx)
}
