//! `hoptop doctor --probe`: sends one request, which shows that TLS and the integrator ID work.
//!
//! The request is about a transaction that doesn't exist. The request counts in the budget that all processes of this
//! machine share; with a team's store the machine that polls sends it. The module must never add a transaction.

use std::{ops::ControlFlow, time::Duration};

use color_eyre::eyre::Result;

use super::finding::Diagnosis;
use crate::{
    api::{Timeouts, describe_html},
    chain_rpc::ChainNodes,
    cli::{
        commands::add,
        context::Context,
        one_shot_poll::{self, OneShotOutcome, OneShotPoll},
        opening,
    },
    clock::Clock,
    config::Settings,
    domain::{chains, ids::ChainId, observation::RequestFailure},
    intake::Field,
    poller::load_service_urls,
    runtime::{
        background_poller::ServiceClient, chain_nodes, exit::Exit, stderr::error_line, team_store::TeamAccess,
        tokio_runtime,
    },
};

/// Asks each node that the settings name whether it is a node of its chain.
pub(super) fn chains(settings: &Settings, cx: &Context<'_>) -> Result<Vec<(&'static str, Diagnosis)>> {
    let (runtime, reader) = (tokio_runtime::start()?, cx.store.reader()?);
    let mut findings = Vec::new();
    for reference in &settings.chain_nodes {
        let chain = ChainId::new(reference.chain.clone());
        let name = format!("{} ({chain})", chains::name(&chain));
        let checked = match chain_nodes::read(reference) {
            Err(error) => Err(error.to_string()),
            Ok(setting) => {
                let from = if setting.url.is_none() { ", the first of the service's list" } else { "" };
                let nodes = ChainNodes::new(vec![setting], Timeouts::default(), Clock::system());
                load_service_urls(&reader, &nodes, &settings.profile)?;
                runtime
                    .block_on(nodes.check(&chain))
                    .map(|host| format!("{name}: {host}{from}, is a node of this chain"))
            }
        };
        let checked = checked.map_or_else(|reason| Diagnosis::Error(format!("{name}: {reason}")), Diagnosis::Ok);
        findings.push(("chain", checked));
    }
    Ok(findings)
}

/// The longest wait for the answer.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// Sends one request, and judges the answer. Returns the exit code if a signal arrives first.
pub(super) fn probe(
    settings: &Settings,
    team: Option<&TeamAccess>,
    cx: &mut Context,
) -> Result<ControlFlow<Exit, Diagnosis>> {
    let finding = |diagnosis| Ok(ControlFlow::Continue(diagnosis));
    if team.is_none() && opening::is_replica(&settings.db) {
        return finding(Diagnosis::Warning(
            "not sent: the store is a team's, whose machines share the ID's budget".into(),
        ));
    }
    let client = match ServiceClient::checked(settings.polling()) {
        Ok(client) => client,
        // The `base url` and `id` checks name the reason.
        Err(_) => return finding(Diagnosis::Error("not sent: the base URL or the ID is not usable".into())),
    };
    let hash = format!("0x{:064x}", 1);
    let values = [
        (Field::TransactionId, hash.as_str()),
        (Field::FromChainId, "1"),
        (Field::ToChainId, "10"),
        (Field::QuoteId, "hoptop-doctor-probe"),
    ];
    let Some(new) = add::read(&values, false, cx)? else {
        return finding(Diagnosis::Warning("not sent: the request can't be built".into()));
    };
    let temporary = team.is_none().then(opening::open_temporary).transpose()?;
    let store = temporary.as_ref().map_or(&cx.store, |(store, _)| store);
    let one_shot_poll = OneShotPoll { settings, store, team, timeout: MAX_WAIT };
    let (outcome, answer) = match one_shot_poll.request_status(new.params, client) {
        Ok(ended) => ended,
        // The other checks name the reasons why a team's store takes no request.
        Err(report) => return finding(Diagnosis::Error(format!("not sent: {}", error_line(&report)))),
    };
    cx.now = Clock::system().now();
    let answer = answer.as_ref().map(|(observation, _)| observation);
    let status = answer.and_then(|observation| observation.http_status);
    let failure = answer.and_then(|observation| observation.outcome.failure());
    finding(match (outcome, status) {
        (OneShotOutcome::Stopped(exit), _) => return Ok(ControlFlow::Break(exit)),
        (OneShotOutcome::Blocked(Exit::Unauthorized), _) | (_, Some(401)) => Diagnosis::Error(
            "the service refuses the integrator ID (HTTP 401); check where it comes from, and that it belongs to this base URL"
                .into(),
        ),
        (_, Some(429)) => {
            Diagnosis::Warning("the service throttles (HTTP 429); the ID allows fewer requests than --rps".into())
        }
        // The service answers in JSON, so this page comes from another server or another path.
        (_, Some(404)) if let Some(page) = answer.and_then(|observation| describe_html(observation.body.as_deref()?)) => {
            Diagnosis::Warning(format!("one request: HTTP 404 with {page}; check the base URL"))
        }
        // No transaction has the probe's hash, so the service doesn't find it, or rejects the parameters.
        (_, Some(status)) if matches!(failure, None | Some(RequestFailure::Rejected(_))) => {
            Diagnosis::Ok(format!("one request: HTTP {status}, the ID is accepted"))
        }
        (_, status) => {
            let reason = match (status, failure) {
                (_, Some(failure)) => failure.one_line(),
                (Some(status), None) => format!("HTTP {status}; check the base URL"),
                (None, None) => one_shot_poll::no_answer_reason(store, &settings.profile, cx.now.wall)?,
            };
            // The `service` check says what to do if the service can't be reached.
            Diagnosis::Error(format!("no usable answer: {reason}"))
        }
    })
}
