//! The check of a rate in requests per second: of an integrator ID, or of a chain's node.
//!
//! It must never choose between rates: that depends on their sources.

use super::{error::ConfigError, source::SettingSource};

/// The highest rate that is accepted, in requests per second.
const RPS_LIMIT: f64 = 1000.0;

/// Checks the value of `--rps`, for a command that reads no other settings.
pub(crate) fn check_rps_flag(rps: f64) -> Result<f64, ConfigError> {
    check_rps(rps, SettingSource::Flag("--rps")).map(|(rps, _)| rps)
}

/// Returns a rate and its source, or an error if the rate is out of range.
pub(super) fn check_rps(rps: f64, given_by: SettingSource) -> Result<(f64, SettingSource), ConfigError> {
    match rps > 0.0 && rps <= RPS_LIMIT {
        true => Ok((rps, given_by)),
        false => Err(ConfigError::Rps { value: rps.to_string(), given_by }),
    }
}
