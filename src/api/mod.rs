//! The wire: `GET {base_url}/v2/status`, from a transaction to an observation, and `POST {base_url}/v2/route`, from a
//! request to a quote (`service.md` 4, 7).
//!
//! It says what the service answered and never what follows from it: no retries, no waiting, no budget. It is the only
//! user of reqwest, and it must never let the integrator ID into anything that it returns or prints.

mod answer;
mod base_url;
mod chain;
mod client;
mod decode;
#[cfg(test)]
mod fixtures;
mod json;
mod message;
mod reach;
mod reader;
mod redact;
mod retry_after;
mod route;
mod transport;
mod webhook;

pub use answer::{Reply, StatusAnswer, interpret};
pub use base_url::{BaseUrl, BaseUrlError};
pub use client::{BODY_LIMIT, Client, ClientError, Timeouts};
pub use reach::reach;
pub use route::interpret as interpret_route;
pub use webhook::{Undelivered, Webhook, WebhookError};
