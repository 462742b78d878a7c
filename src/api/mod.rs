//! The HTTP client: `GET {base_url}/v2/status` returns an observation of a transaction, `POST {base_url}/v2/route`
//! returns a quote (`service.md` 4, 7).
//!
//! This module reports what the service answers and decides nothing: no retries, no waiting, no budget. Besides it only
//! the webhook client and `chain_rpc` use reqwest. The integrator ID must never be part of a value that it returns or
//! prints.

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

pub use answer::{HttpAnswer, StatusAnswer, interpret};
pub use base_url::BaseUrl;
pub(crate) use base_url::{BaseUrlError, is_loopback};
pub(crate) use client::builder as http_builder;
pub use client::{BODY_LIMIT, Client, Timeouts};
pub(crate) use message::describe_html;
pub(crate) use reach::{Endpoint, reach};
pub(crate) use retry_after::from_headers as retry_after;
pub use route::interpret as interpret_route;
pub(crate) use transport::{BodyTruncation, describe, innermost, read_body};
