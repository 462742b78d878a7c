//! Serves the simulated chains over HTTP: `POST /CHAIN` is the node of a chain.
//!
//! The server must never decide an answer.

use std::{io, sync::Arc};

use axum::{
    Router,
    body::Bytes,
    extract::State,
    http::{StatusCode, Uri, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
};
use tokio::net::TcpListener;

use super::{chain::SimulatedChains, world::SimulatedWorld};
use crate::clock::Clock;

/// Accepts connections to the chains of a world until it is dropped.
pub async fn serve(listener: TcpListener, world: SimulatedWorld, clock: Clock) -> io::Result<()> {
    let start = world.origin().unwrap_or_else(|| clock.now().wall);
    let state = Arc::new((SimulatedChains::new(world, start), clock));
    axum::serve(listener, Router::new().fallback(answer).with_state(state)).await
}

async fn answer(State(state): State<Arc<(SimulatedChains, Clock)>>, uri: Uri, body: Bytes) -> Response {
    let (chains, clock) = &*state;
    let chain = uri.path().trim_matches('/');
    match chains.answer(chain, &body, clock.now().wall) {
        Some(answer) => ([(CONTENT_TYPE, "application/json")], answer).into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}
