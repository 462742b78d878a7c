//! `hoptop check --chain`: asks the chains themselves about tracked transactions, and prints their answers.
//!
//! The command never asks the service. The answer of a chain is stored like any other answer.

use std::sync::Arc;

use color_eyre::eyre::{Result, bail};

use crate::{
    chain_rpc::{ChainNodes, ChainQuestion},
    cli::context::Context,
    clock::Clock,
    config::Settings,
    domain::{
        advice,
        ids::RowId,
        on_chain::{ChainVerdict, OnChainState},
        operation::Operation,
    },
    poller::load_service_urls,
    runtime::{chain_nodes, exit::Exit, log_file, tokio_runtime},
    store::ListRow,
};

/// Asks the chains about these transactions, and prints the answers.
///
/// # Errors
/// If the settings name no node.
pub(super) fn check(rows: &[RowId], json: bool, settings: &Settings, cx: &mut Context) -> Result<Exit> {
    let clock = Clock::system();
    let Some(nodes) = chain_nodes::read_all(settings, &clock) else {
        bail!(
            "no chain can be asked: the config file names no node; add [chains.ID] with rpc = \"https://...\" or \
             rpc = \"service\" (`hoptop help support` says more)"
        );
    };
    log_file::start(&settings.state_dir, &settings.db, clock.clone())?;
    let asked = ask_all(rows, &nodes, &clock, cx)?;
    cx.now = clock.now();
    print_all(&asked, json, cx)?;
    let verdicts = asked.iter().filter_map(|(_, answer)| Some(&answer.as_ref().ok()?.source.verdict));
    let verdicts: Vec<_> = verdicts.filter(|verdict| !matches!(verdict, ChainVerdict::CannotBeAsked(_))).collect();
    Ok(match verdicts.len() {
        0 => Exit::Unreachable,
        _ if !verdicts.iter().all(|verdict| is_fine(verdict)) => Exit::NeedsAttention,
        count if count < asked.len() => Exit::Error,
        _ => Exit::Success,
    })
}

/// Whether the chain's verdict needs no action.
fn is_fine(verdict: &ChainVerdict) -> bool {
    match verdict {
        ChainVerdict::Succeeded(_) | ChainVerdict::Pending => true,
        ChainVerdict::Reverted(_)
        | ChainVerdict::Dropped
        | ChainVerdict::Elsewhere(_)
        | ChainVerdict::Unknown(_)
        | ChainVerdict::CannotBeAsked(_) => false,
    }
}

/// A transaction, and the answer of its chain or the error.
type ChainAnswer = (RowId, Result<OnChainState, String>);

/// Asks the chains about each transaction, and stores the answers.
fn ask_all(rows: &[RowId], nodes: &Arc<ChainNodes>, clock: &Clock, cx: &Context) -> Result<Vec<ChainAnswer>> {
    let (mut asked, runtime) = (Vec::new(), tokio_runtime::start()?);
    for row in rows {
        let reader = cx.store.reader()?;
        let Some(ListRow { transaction: tx, .. }) = reader.list_row(*row)? else { continue };
        load_service_urls(&reader, nodes, &tx.profile)?;
        let (key, question) = (tx.key(), ChainQuestion::new(tx, true));
        drop(reader);
        let answer = runtime.block_on(nodes.ask(&question));
        if let Ok(on_chain) = &answer {
            let on_chain = Box::new(on_chain.clone());
            cx.store.apply(Operation::ObserveChain { transaction: key, on_chain }, clock.now().wall).wait()?;
        }
        asked.push((*row, answer));
    }
    Ok(asked)
}

fn print_all(asked: &[ChainAnswer], json: bool, cx: &mut Context) -> Result<()> {
    let reader = cx.store.reader()?;
    if json {
        let rows: Vec<RowId> = asked.iter().map(|(row, _)| *row).collect();
        cx.print_json(&reader, &rows)?;
    }
    for (row, answer) in asked {
        let Some(ListRow { transaction: tx, .. }) = reader.list_row(*row)? else { continue };
        if !json {
            let advice = advice::advise(&tx, cx.now.wall, cx.zone);
            cx.print_advice(&tx, &advice, &advice.act)?;
        }
        if let Err(reason) = answer {
            writeln!(cx.err, "{}: the chain can't be asked: {reason}", tx.params.transaction_id)?;
        }
    }
    Ok(())
}
