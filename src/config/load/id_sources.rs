//! The sources of an integrator ID: variables, and the keys of a profile.
//!
//! It must never read an ID from a file or a command: only polling needs it.

use super::inputs::SettingInputs;
use crate::{
    config::{error::ConfigError, file::ProfileEntry, secret::SecretKeys},
    process::secret_source::SecretSource,
};

impl SettingInputs<'_> {
    /// Refuses two sources of the ID in the environment.
    pub(super) fn check_id_variables(&self) -> Result<(), ConfigError> {
        let is_set = self.env.secret("HOPTOP_INTEGRATOR_ID").is_some();
        match is_set && self.env.path("HOPTOP_INTEGRATOR_ID_FILE").is_some() {
            true => Err(ConfigError::SeveralIdVariables),
            false => Ok(()),
        }
    }

    /// Returns the source of the active profile's ID: a variable, or the source in the profile.
    pub(super) fn id_source(&self) -> Option<SecretSource> {
        let name = "HOPTOP_INTEGRATOR_ID";
        let variable = self.env.secret(name).map(|value| SecretSource::Variable { name: name.to_owned(), value });
        let file = || self.env.path("HOPTOP_INTEGRATOR_ID_FILE").map(SecretSource::File);
        variable.or_else(file).or_else(|| self.profile_id_source(&self.profile))
    }

    /// Returns the source of a profile's ID. A profile has at most one ([`SecretKeys::check`]).
    pub(super) fn profile_id_source(&self, profile: &ProfileEntry) -> Option<SecretSource> {
        let keys = SecretKeys::of_integrator_id(profile);
        keys.source(self.env, |path| self.resolve(path)).map(|(source, _)| source)
    }
}
