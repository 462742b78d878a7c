//! Moments in the ledger's file: whole microseconds, rounded up, so that a slot is never free too early.
//!
//! This module is for `#[serde(with)]`. It must never round a moment down.

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::clock::MonotonicTime;

/// Returns the moment as a reader of the file will see it.
pub(super) fn round_up(moment: MonotonicTime) -> MonotonicTime {
    MonotonicTime(Duration::from_micros(whole_micros(moment)))
}

fn whole_micros(moment: MonotonicTime) -> u64 {
    u64::try_from(moment.0.as_nanos().div_ceil(1_000)).unwrap_or(u64::MAX)
}

/// Writes a moment as microseconds.
pub(super) fn serialize<S: Serializer>(moment: &MonotonicTime, to: S) -> Result<S::Ok, S::Error> {
    whole_micros(*moment).serialize(to)
}

/// Reads a moment from microseconds.
pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<MonotonicTime, D::Error> {
    u64::deserialize(from).map(|micros| MonotonicTime(Duration::from_micros(micros)))
}

/// Writes a moment that may be missing as microseconds, or null.
pub(super) fn serialize_optional<S: Serializer>(moment: &Option<MonotonicTime>, to: S) -> Result<S::Ok, S::Error> {
    moment.map(whole_micros).serialize(to)
}

/// Reads a moment that may be missing from microseconds, or null.
pub(super) fn deserialize_optional<'de, D: Deserializer<'de>>(from: D) -> Result<Option<MonotonicTime>, D::Error> {
    Ok(Option::<u64>::deserialize(from)?.map(|micros| MonotonicTime(Duration::from_micros(micros))))
}
