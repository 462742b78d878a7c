//! The profiles that are polled in addition to the active one.
//!
//! It must never give one profile's integrator ID to another one's service.

use super::inputs::{DEFAULT_RPS, SettingInputs, SettingValue, find_profile, from_file, from_flag};
use crate::{
    config::{
        error::ConfigError,
        rate::check_rps,
        settings::{ProfileConnection, SettingEntry},
        source::SettingSource,
    },
    domain::text::clean,
};

impl SettingInputs<'_> {
    /// Returns the profiles that are polled in addition to the active profile, and the entry that shows them. A rate
    /// from a flag or a variable applies to each of them. A base URL and an ID apply to the active profile only,
    /// because each profile's ID belongs to its own service. A profile without a base URL uses that of the active
    /// profile.
    pub(super) fn beside(
        &self,
        flags: Vec<String>,
        base_url: Option<&String>,
        active_rps: &SettingValue<f64>,
        store_url: Option<&SettingValue<String>>,
    ) -> Result<(Vec<ProfileConnection>, SettingEntry), ConfigError> {
        let flags = from_flag(Some(flags).filter(|names| !names.is_empty()), "--beside");
        let named = Some(self.file.beside.clone()).filter(|names| !names.is_empty());
        let (names, source) =
            flags.or_else(|| from_file(named, "beside")).unwrap_or((Vec::new(), SettingSource::Default));
        let mut connections: Vec<ProfileConnection> = Vec::new();
        for name in names {
            if name == self.profile_name.0 || connections.iter().any(|connection| connection.profile == name) {
                continue;
            }
            let profile = find_profile(&self.file, self.config.as_ref(), &(name.clone(), source.clone()))?;
            let given_by = SettingSource::File(format!("profiles.{name}.rps"));
            let (rps, _) = match (active_rps, profile.rps) {
                ((_, SettingSource::Flag(_) | SettingSource::Variable(_)), _) => active_rps.clone(),
                (_, Some(rps)) => check_rps(rps, given_by)?,
                (_, None) => (DEFAULT_RPS, SettingSource::Default),
            };
            let store = self.store_of_profile(&name, &profile, store_url)?.map(|store| (store.address, store.source));
            connections.push(ProfileConnection {
                store,
                base_url: profile.base_url.as_ref().or(base_url).cloned(),
                id: self.profile_id_source(&profile),
                config_file: self.config_file(),
                profile: name,
                rps,
            });
        }
        let names: Vec<String> = connections.iter().map(|connection| clean(&connection.profile)).collect();
        Ok((connections, SettingEntry { name: "beside", value: names.join(", "), source }))
    }
}
