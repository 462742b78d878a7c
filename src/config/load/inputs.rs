//! The sources of the settings: the command line, the environment and the config file.
//!
//! For each setting it knows which source comes first. It must never read the config file itself.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use crate::{
    config::{
        ColorChoice, CommandLineSettings, ThemeChoice,
        chain_nodes::{self, NodeReference},
        environment::{DefaultFolders, Environment},
        error::ConfigError,
        file::{Argv, ConfigFile, DelayWeight, KeyNames, PollingRank, ProfileEntry},
        rate::check_rps,
        secret::{SecretKeys, SecretText, describe_secret},
        settings::{Alerting, SettingEntry},
        source::SettingSource,
        team_store::{TeamStore, default_store_path},
    },
    domain::{
        notification::{NotificationMode, NotifiedEvent},
        people,
        reply::ReplyTemplates,
        team_address::TeamAddress,
        text::clean,
        toml_text,
    },
    process::secret_source::SecretSource,
};

/// The name of the profile that always exists.
pub(super) const DEFAULT_PROFILE: &str = "default";
/// The limit of a new ID in requests per second, used if no source has a value.
pub(super) const DEFAULT_RPS: f64 = 1.0;

pub(super) type SettingValue<T> = (T, SettingSource);

/// The sources of the settings, once the config file and the profile are known.
pub(super) struct SettingInputs<'a> {
    pub(super) env: &'a Environment,
    pub(super) config: Option<SettingValue<PathBuf>>,
    pub(super) file: ConfigFile,
    pub(super) profile_name: SettingValue<String>,
    pub(super) profile: ProfileEntry,
}

impl<'a> SettingInputs<'a> {
    pub(super) fn gather(
        flags: &mut CommandLineSettings,
        env: &'a Environment,
        read: impl FnOnce(&SettingValue<PathBuf>) -> Result<ConfigFile, ConfigError>,
    ) -> Result<Self, ConfigError> {
        let config = from_flag(flags.config.take(), "--config")
            .or_else(|| from_variable(env.path("HOPTOP_CONFIG"), "HOPTOP_CONFIG"))
            .or_else(|| env.folders().map(|folders| (folders.config.join("config.toml"), SettingSource::Default)));
        let file = config.as_ref().map_or_else(|| Ok(ConfigFile::default()), read)?;
        let profile_name = from_flag(flags.profile.take(), "--profile")
            .or(from_variable(env.text("HOPTOP_PROFILE")?, "HOPTOP_PROFILE"))
            .or_else(|| from_file(file.default_profile.clone(), "default_profile"))
            .unwrap_or_else(|| (DEFAULT_PROFILE.to_owned(), SettingSource::Default));
        let profile = find_profile(&file, config.as_ref(), &profile_name)?;
        Ok(Self { env, config, file, profile_name, profile })
    }

    /// Returns the person's name. A name of blanks and control characters counts as none.
    pub(super) fn author(&self) -> Result<Option<SettingValue<String>>, ConfigError> {
        let variable = self.env.text("HOPTOP_NAME")?.and_then(|name| people::clean_name(&name));
        let in_file = self.file.me.name.as_deref().and_then(people::clean_name);
        Ok(from_variable(variable, "HOPTOP_NAME").or_else(|| from_file(in_file, "me.name")))
    }

    /// Returns the nodes of chains. Their addresses are read when a chain is asked.
    pub(super) fn chain_nodes(&self) -> Result<Option<SettingValue<Vec<NodeReference>>>, ConfigError> {
        let path = self.config.as_ref().map_or_else(String::new, |(path, _)| path.display().to_string());
        let nodes = chain_nodes::read_all(&self.file, &path, self.env, |path| self.resolve(path))?;
        Ok(from_file(Some(nodes).filter(|nodes| !nodes.is_empty()), "chains"))
    }

    pub(super) fn weights(&self) -> Option<SettingValue<BTreeMap<String, f64>>> {
        let weights = self.file.weights.iter().map(|(label, DelayWeight(weight))| (label.clone(), *weight));
        from_file(Some(weights.collect()).filter(|weights: &BTreeMap<_, _>| !weights.is_empty()), "weights")
    }

    /// Returns how alerts are notified, and the entries that show these settings.
    pub(super) fn alerting(&self) -> (Alerting, [SettingEntry; 7]) {
        let notify =
            from_file(self.file.notify, "notify").unwrap_or((NotificationMode::default(), SettingSource::Default));
        let bell = from_file(self.file.bell, "bell").unwrap_or((false, SettingSource::Default));
        let command = from_file(self.file.on_event.clone().map(|Argv(words)| words), "on_event");
        let webhook = from_file(self.file.webhook.clone().map(SecretText), "webhook");
        let events = from_file(self.file.events.clone(), "events");
        let events = events.unwrap_or((NotifiedEvent::DEFAULT.to_vec(), SettingSource::Default));
        let secret = SecretKeys::of_webhook(&self.file).source(self.env, |path| self.resolve(path));
        let secret = secret.and_then(|(secret, key)| from_file(Some(secret), key));
        let headers = Some(self.file.webhook_headers.clone()).filter(|headers| !headers.is_empty());
        let headers = from_file(headers, "webhook_headers");
        let names =
            |events: &Vec<NotifiedEvent>| events.iter().map(|event| event.name()).collect::<Vec<_>>().join(", ");
        let entries = [
            entry("notify", Some(&notify), |mode| mode.name().to_owned()),
            entry("bell", Some(&bell), ToString::to_string),
            entry("on_event", command.as_ref(), |words| clean(&words.join(" "))),
            entry("events", Some(&events), names),
            entry("webhook", webhook.as_ref(), |SecretText(url)| scheme_and_host(url)),
            entry("webhook_secret", secret.as_ref(), describe_secret),
            entry("webhook_headers", headers.as_ref(), |headers| {
                clean(&headers.keys().cloned().collect::<Vec<_>>().join(", "))
            }),
        ];
        let value = |(header, variable): (String, String)| {
            (header, variable.clone(), self.env.secret(&variable).map(SecretText))
        };
        let webhook_headers = headers.map(|(headers, _)| headers.into_iter().map(value).collect()).unwrap_or_default();
        let webhook_secret = secret.map(|(secret, _)| secret);
        let (command, webhook) = (command.map(|(words, _)| words), webhook.map(|(url, _)| url));
        let (notify, bell, events) = (notify.0, bell.0, events.0);
        (Alerting { notify, has_bell: bell, command, events, webhook, webhook_secret, webhook_headers }, entries)
    }

    /// Returns the names of the reply templates that the config file replaces.
    pub(super) fn templates(&self) -> Option<SettingValue<String>> {
        let ReplyTemplates { markdown, text, customer } = &self.file.answer;
        let own = [("markdown", markdown), ("text", text), ("customer", customer)];
        let own: Vec<_> = own.into_iter().filter_map(|(name, template)| template.as_ref().map(|_| name)).collect();
        from_file(Some(own.join(", ")).filter(|own| !own.is_empty()), "answer")
    }

    pub(super) fn keys(&self) -> Option<SettingValue<BTreeMap<String, Vec<String>>>> {
        let named = |(name, KeyNames(keys)): (&String, &KeyNames)| (clean(name), keys.clone());
        let keys: BTreeMap<_, _> = self.file.keys.iter().map(named).collect();
        from_file(Some(keys).filter(|keys| !keys.is_empty()), "keys")
    }

    pub(super) fn db(
        &self,
        flag: Option<PathBuf>,
        team: Option<&TeamAddress>,
    ) -> Result<SettingValue<PathBuf>, ConfigError> {
        from_flag(flag, "--db")
            .or_else(|| from_variable(self.env.path("HOPTOP_DB"), "HOPTOP_DB"))
            .or_else(|| from_file(self.file.db.as_ref().map(|path| self.resolve(path)), "db"))
            .or_else(|| self.in_default_folder(|folders| default_store_path(&folders.data, team)))
            .ok_or(ConfigError::NoHome { missing: "the store", flag: "--db", variable: "HOPTOP_DB" })
    }

    /// Returns the URL of the team's store that the flag or the variable gives for all profiles.
    pub(super) fn shared_store_url(&self, flag: Option<String>) -> Result<Option<SettingValue<String>>, ConfigError> {
        Ok(from_flag(flag, "--store").or(from_variable(self.env.text("HOPTOP_STORE")?, "HOPTOP_STORE")))
    }

    /// Returns the team's store of the active profile, and the entries that show this machine's part in the team.
    pub(super) fn store(
        &self,
        shared_url: Option<&SettingValue<String>>,
    ) -> Result<(Option<TeamStore>, [SettingEntry; 4]), ConfigError> {
        let mut store = self.store_of_profile(&self.profile_name.0, &self.profile, shared_url)?;
        let setting = self.store_password_setting();
        if let Some(store) = &mut store {
            store.password.setting = setting.as_ref().map(|(setting, _)| setting.clone());
        }
        let address = store.as_ref().map(|store| (store.address.to_string(), store.source.clone()));
        let uses_variable = setting.is_none() && store.as_ref().is_some_and(|store| store.password.variable.is_some());
        let password = setting.map(|(setting, source)| (describe_secret(&setting), source));
        let password = password.or(from_variable(uses_variable.then(|| "(hidden)".to_owned()), "PGPASSWORD"));
        let team = &self.file.team;
        let rank = from_file(team.rank.map(|PollingRank(rank)| rank), "team.rank");
        let light = from_file(team.light, "team.light");
        let entries = [
            entry("store", address.as_ref(), Clone::clone),
            entry("store_password", password.as_ref(), Clone::clone),
            entry("team.rank", rank.as_ref(), ToString::to_string),
            entry("team.light", light.as_ref(), ToString::to_string),
        ];
        Ok((store, entries))
    }

    /// Returns a profile's store without the configured source of its password; `None` for the store of this machine. A
    /// relative path of a certificate in the config file starts at the file's folder.
    pub(super) fn store_of_profile(
        &self,
        name: &str,
        profile: &ProfileEntry,
        shared_url: Option<&SettingValue<String>>,
    ) -> Result<Option<TeamStore>, ConfigError> {
        let in_profile = || from_file(profile.store.clone(), &format!("profiles.{name}.store"));
        let url = shared_url.cloned().or_else(in_profile).or_else(|| from_file(self.file.store.clone(), "store"));
        let Some((url, source)) = url else { return Ok(None) };
        let mut store = TeamStore::parse(&url, source, self.env)?;
        if let SettingSource::File(_) = store.source {
            store.address.root_certificate = store.address.root_certificate.map(|path| self.resolve(&path));
        }
        Ok(Some(store))
    }

    /// Returns the configured source of the store's password: the active profile's, or the common one.
    fn store_password_setting(&self) -> Option<SettingValue<SecretSource>> {
        let resolve = |path: &Path| self.resolve(path);
        let in_profile = SecretKeys::of_profile(&self.profile).source(self.env, resolve);
        let in_profile = in_profile.map(|(setting, key)| (setting, SettingSource::File(self.profile_key(key))));
        in_profile.or_else(|| {
            let (setting, key) = SecretKeys::of_file(&self.file).source(self.env, resolve)?;
            Some((setting, SettingSource::File(key.to_owned())))
        })
    }

    /// Returns the variables from which profiles read an integrator ID, or hoptop reads the password of the store.
    pub(super) fn secret_variables(&self, store: Option<&TeamStore>) -> Vec<String> {
        let profiles = || self.file.profiles.values();
        let ids = profiles().filter_map(|profile| profile.integrator_id_env.clone());
        let passwords = profiles().filter_map(|profile| profile.store_password_env.clone());
        let standard = store.map(|_| "PGPASSWORD".to_owned());
        let nodes = self.file.chains.values().filter_map(|node| node.rpc_env.clone());
        let webhook = self.file.webhook_secret_env.iter().chain(self.file.webhook_headers.values()).cloned();
        ids.chain(passwords)
            .chain(nodes)
            .chain(webhook)
            .chain(self.file.store_password_env.clone())
            .chain(standard)
            .collect()
    }

    pub(super) fn state(&self, flag: Option<PathBuf>) -> Result<SettingValue<PathBuf>, ConfigError> {
        let missing = "the state folder";
        from_flag(flag, "--state-dir")
            .or_else(|| from_variable(self.env.path("HOPTOP_STATE_DIR"), "HOPTOP_STATE_DIR"))
            .or_else(|| self.in_default_folder(|folders| folders.state.clone()))
            .ok_or(ConfigError::NoHome { missing, flag: "--state-dir", variable: "HOPTOP_STATE_DIR" })
    }

    pub(super) fn base_url(&self, flag: Option<String>) -> Result<Option<SettingValue<String>>, ConfigError> {
        let variable = from_variable(self.env.text("HOPTOP_BASE_URL")?, "HOPTOP_BASE_URL");
        let in_profile = || from_file(self.profile.base_url.clone(), &self.profile_key("base_url"));
        Ok(from_flag(flag, "--base-url").or(variable).or_else(in_profile))
    }

    pub(super) fn rps(&self, flag: Option<f64>) -> Result<SettingValue<f64>, ConfigError> {
        let variable = from_variable(self.env.text("HOPTOP_RPS")?, "HOPTOP_RPS");
        let (value, given_by) = from_flag(flag.map(|rps| rps.to_string()), "--rps")
            .or(variable)
            .or_else(|| from_file(self.profile.rps.map(|rps| rps.to_string()), &self.profile_key("rps")))
            .unwrap_or_else(|| (DEFAULT_RPS.to_string(), SettingSource::Default));
        match value.trim().parse::<f64>() {
            Ok(rps) => check_rps(rps, given_by),
            // Text that isn't a number may even be an ID in the wrong variable, so the message doesn't repeat it.
            Err(_) => Err(ConfigError::Rps { value: "the given text".to_owned(), given_by }),
        }
    }

    /// Returns when to use colour. `NO_COLOR` overrides every source except the flag (no-color.org).
    pub(super) fn color(&self, flag: Option<ColorChoice>) -> SettingValue<ColorChoice> {
        from_flag(flag, "--color")
            .or_else(|| self.env.color().and_then(|(color, variable)| from_variable(Some(color), variable)))
            .or_else(|| from_file(self.file.color, "color"))
            .unwrap_or((ColorChoice::Auto, SettingSource::Default))
    }

    /// Returns the theme. A path in the variable starts at the current folder, a path in the config file at the file's
    /// folder.
    pub(super) fn theme(&self) -> Result<SettingValue<ThemeChoice>, ConfigError> {
        let variable = self.env.text("HOPTOP_THEME")?.map(ThemeChoice::from_current_folder);
        let in_config = || self.file.theme.clone().map(|text| ThemeChoice::parse_with(text, |path| self.resolve(path)));
        let chosen = from_variable(variable, "HOPTOP_THEME").or_else(|| from_file(in_config(), "theme"));
        Ok(chosen.unwrap_or((ThemeChoice::default(), SettingSource::Default)))
    }

    pub(super) fn config_file(&self) -> Option<PathBuf> {
        self.config.as_ref().map(|(path, _)| path.clone())
    }

    pub(super) fn resolve(&self, path: &Path) -> PathBuf {
        let folder = self.config.as_ref().and_then(|(config, _)| config.parent()).unwrap_or(Path::new(""));
        self.env.resolve(path, folder)
    }

    fn in_default_folder(&self, path: impl Fn(&DefaultFolders) -> PathBuf) -> Option<SettingValue<PathBuf>> {
        self.env.folders().map(|folders| (path(folders), SettingSource::Default))
    }

    fn profile_key(&self, key: &str) -> String {
        format!("profiles.{}.{key}", self.profile_name.0)
    }
}

pub(super) fn from_flag<T>(value: Option<T>, flag: &'static str) -> Option<SettingValue<T>> {
    value.map(|value| (value, SettingSource::Flag(flag)))
}

pub(super) fn from_variable<T>(value: Option<T>, name: &'static str) -> Option<SettingValue<T>> {
    value.map(|value| (value, SettingSource::Variable(name)))
}

pub(super) fn from_file<T>(value: Option<T>, key: &str) -> Option<SettingValue<T>> {
    value.map(|value| (value, SettingSource::File(key.to_owned())))
}

pub(super) fn find_profile(
    file: &ConfigFile,
    config: Option<&SettingValue<PathBuf>>,
    (name, named_by): &SettingValue<String>,
) -> Result<ProfileEntry, ConfigError> {
    match file.profiles.get(name) {
        Some(profile) => {
            let path = config.map_or_else(String::new, |(path, _)| path.display().to_string());
            let section = format!("the profile `{}`", clean(name));
            SecretKeys::of_integrator_id(profile).check(&section, path.clone())?;
            SecretKeys::of_profile(profile).check(&section, path)?;
            Ok(profile.clone())
        }
        None if name == DEFAULT_PROFILE => Ok(ProfileEntry::default()),
        None => {
            let others = file.profiles.keys().filter(|other| *other != DEFAULT_PROFILE).map(|other| clean(other));
            let known: Vec<String> = std::iter::once(DEFAULT_PROFILE.to_owned()).chain(others).collect();
            let names: Vec<&str> = known.iter().map(String::as_str).collect();
            Err(ConfigError::Profile {
                name: clean(name),
                named_by: named_by.clone(),
                suggestion: toml_text::suggestion(name, &names),
                known: clean(&names.join(", ")),
            })
        }
    }
}

pub(super) fn entry<T>(
    name: &'static str,
    choice: Option<&SettingValue<T>>,
    show: impl Fn(&T) -> String,
) -> SettingEntry {
    match choice {
        Some((value, source)) => SettingEntry { name, value: show(value), source: source.clone() },
        None => SettingEntry { name, value: String::new(), source: SettingSource::Default },
    }
}

/// Returns the scheme and the host of a URL whose other parts may be secret.
fn scheme_and_host(url: &str) -> String {
    let begins_with = |scheme: &&str| url.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme));
    let scheme = ["https://", "http://"].into_iter().find(begins_with);
    let host = scheme.and_then(|scheme| url.get(scheme.len()..)?.split(['/', '?', '#']).next());
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || ".-:[]".contains(letter);
    match scheme.zip(host) {
        Some((scheme, host)) if !host.is_empty() && host.chars().all(is_plain) => format!("{scheme}{host}/..."),
        // The whole text may be the secret.
        _ => "an invalid URL".into(),
    }
}
