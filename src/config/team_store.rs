//! The settings of the team's store: its address and the sources of its password.
//!
//! The address may name a connection service, whose file is read here. The password is read when a connection needs it.
//! A password must never be part of a message or a debug print.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::{environment::Environment, error::ConfigError, source::SettingSource};
use crate::{
    domain::{
        secret::Password,
        team_address::{AddressError, ConnectionService, TeamAddress, find_service},
    },
    process::secret_source::SecretSource,
};

/// The name of a connection service file.
const SERVICE_FILE: &str = "pg_service.conf";
/// The folder of the connection service file of all users, unless `PGSYSCONFDIR` names another one.
const SYSTEM_FOLDER: &str = "/etc/postgresql-common";

/// The team's store.
#[derive(Clone, Debug)]
pub struct TeamStore {
    /// The address of the database.
    pub address: TeamAddress,
    /// The source of the address.
    pub source: SettingSource,
    /// The places where the password may stand.
    pub password: StorePassword,
}

/// The places where the password of the team's store may stand, in the order of their precedence. `Debug` shows no
/// password.
#[derive(Clone, Debug, Default)]
pub struct StorePassword {
    /// `store_password_env`, `store_password_file` or `store_password_command`.
    pub setting: Option<SecretSource>,
    /// `PGPASSWORD`.
    pub variable: Option<Password>,
    /// `PGPASSFILE`, or `~/.pgpass`. The file may not exist.
    pub pass_file: Option<PathBuf>,
    /// The password of the connection service that the address names.
    pub service: Option<Password>,
}

impl TeamStore {
    /// Parses the address of the team's store, and reads the connection service that the address or `PGSERVICE` names.
    ///
    /// # Errors
    /// If the address is not valid, or the service can't be read.
    pub(super) fn parse(url: &str, source: SettingSource, env: &Environment) -> Result<Self, ConfigError> {
        let default_service = env.text("PGSERVICE")?;
        let find = |name: &str| read_service(name, env);
        let (address, service) = match TeamAddress::parse_with_service(url.trim(), default_service.as_deref(), find) {
            Ok(parsed) => parsed,
            Err(reason) => return Err(ConfigError::Store { given_by: source, reason }),
        };
        // The places that all programs for PostgreSQL know.
        let in_home = || env.folders().map(|folders| folders.home.join(".pgpass"));
        let password = StorePassword {
            setting: None,
            variable: env.secret("PGPASSWORD").map(Password::new),
            pass_file: env.path("PGPASSFILE").or_else(in_home),
            service,
        };
        Ok(Self { address, source, password })
    }
}

/// Returns the path of the store in the data folder: the store of this machine, or the replica of a team's store.
pub(super) fn default_store_path(data_folder: &Path, team: Option<&TeamAddress>) -> PathBuf {
    data_folder.join(team.map_or_else(|| "hoptop.db".to_owned(), TeamAddress::replica_file_name))
}

/// Finds a connection service like libpq: in the user's file, then in the file of all users.
fn read_service(name: &str, env: &Environment) -> Result<ConnectionService, AddressError> {
    let in_home = || env.folders().map(|folders| folders.home.join(format!(".{SERVICE_FILE}")));
    let own = env.path("PGSERVICEFILE").or_else(in_home);
    let shared = env.path("PGSYSCONFDIR").unwrap_or_else(|| SYSTEM_FOLDER.into()).join(SERVICE_FILE);
    let files: Vec<PathBuf> = own.into_iter().chain([shared]).collect();
    for path in &files {
        let failed = |reason: String| AddressError::ServiceFile { file: path.display().to_string(), reason };
        let text = match fs::read_to_string(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            text => text.map_err(|error| failed(error.to_string()))?,
        };
        let found = find_service(&text, name).map_err(|line| failed(format!("line {line} is not valid")))?;
        if let Some(service) = found {
            return Ok(service);
        }
    }
    let files: Vec<String> = files.iter().map(|path| path.display().to_string()).collect();
    Err(AddressError::NoService { name: name.to_owned(), file: files.join(" or ") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{CommandLineSettings, Settings, load};

    const SECRET: &str = "canary-password";
    const FILE: &str = "
        store = 'postgres://file.example/team'
        store_password_env = 'TEAM_PASSWORD'
        beside = ['shop']
        [team]
        rank = 0
        [profiles.shop]
        store = 'postgres://ann@shop.example/team?sslrootcert=ca.pem'
        store_password_file = '~/password'
        [profiles.same]
        store_password_command = ['pass', 'canary-argument']
    ";

    /// Loads the settings from a home folder with these files.
    fn settings(
        flags: CommandLineSettings,
        variables: &[(&str, &str)],
        files: &[(&str, &str)],
    ) -> Result<(Settings, tempfile::TempDir), String> {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir_all(home.path().join(".config/hoptop")).unwrap();
        for (name, text) in files {
            fs::write(home.path().join(name), text).unwrap();
        }
        let folder = home.path().display().to_string();
        let variables: Vec<_> = variables.iter().copied().chain([("PGSYSCONFDIR", folder.as_str())]).collect();
        let loaded = load(flags, &Environment::fixed(&variables, Some(home.path())));
        let printed = match &loaded {
            Ok(settings) => format!("{settings:?}"),
            Err(error) => format!("{error} {error:?}"),
        };
        assert!(!printed.contains("canary"), "{printed}");
        loaded.map(|settings| (settings, home)).map_err(|error| error.to_string().replace(&folder, "HOME"))
    }

    fn config(text: &str) -> [(&str, &str); 1] {
        [(".config/hoptop/config.toml", text)]
    }

    fn entry(settings: &Settings, name: &str) -> String {
        let entry = settings.entries.iter().find(|entry| entry.name == name).unwrap();
        format!("{} ({})", entry.value, entry.source)
    }

    fn flags(store: Option<&str>, profile: Option<&str>) -> CommandLineSettings {
        CommandLineSettings {
            store: store.map(str::to_owned),
            profile: profile.map(str::to_owned),
            ..CommandLineSettings::default()
        }
    }

    #[test]
    fn flag_overrides_environment_overrides_profile_overrides_file() {
        let variables = [("HOPTOP_STORE", "postgresql://env.example/team")];
        let empty = [("HOPTOP_STORE", "")];
        let table = [
            (flags(Some("postgres://flag.example/t"), Some("shop")), &variables, "postgres://flag.example/t (--store)"),
            (flags(None, Some("shop")), &variables, "postgres://env.example/team (HOPTOP_STORE)"),
            (flags(None, None), &empty, "postgres://file.example/team (store in the config file)"),
            (flags(None, Some("same")), &empty, "postgres://file.example/team (store in the config file)"),
        ];
        for (flags, variables, expected) in table {
            let (settings, _) = settings(flags, variables, &config(FILE)).unwrap();
            assert_eq!(entry(&settings, "store"), expected);
        }
        let (of_shop, home) = settings(flags(None, Some("shop")), &[], &config(FILE)).unwrap();
        assert!(entry(&of_shop, "store").ends_with(" (profiles.shop.store in the config file)"));
        // Like other paths of the config file.
        let address = of_shop.store.unwrap().address;
        assert_eq!(address.root_certificate, Some(home.path().join(".config/hoptop/ca.pem")));
        let (none, _) = settings(CommandLineSettings::default(), &[("PGSERVICE", "none")], &[]).unwrap();
        assert!(none.store.is_none() && none.db.ends_with("hoptop/hoptop.db"), "{none:?}");
        assert_eq!(none.team_rank, None);
        let (team, _) = settings(CommandLineSettings::default(), &[], &config(FILE)).unwrap();
        assert_eq!(team.team_rank, Some(0));
        assert_eq!(entry(&team, "team.rank"), "0 (team.rank in the config file)");
    }

    #[test]
    fn replica_has_a_file_of_its_own_unless_a_path_is_given() {
        let path = |team: Option<&str>| {
            let address = team.map(|url| TeamAddress::parse(url).unwrap());
            default_store_path(Path::new("/data"), address.as_ref()).display().to_string()
        };
        assert_eq!(path(None), "/data/hoptop.db");
        let first = path(Some("postgres://db.example/team"));
        assert!(first.starts_with("/data/team-db.example-5432-team-") && first.ends_with(".db"), "{first}");
        assert_eq!(path(Some("postgres://ann@db.example/team")), first);
        assert_ne!(path(Some("postgres://db.example/team%2F")), first);
        let (default, home) = settings(CommandLineSettings::default(), &[], &config(FILE)).unwrap();
        assert_eq!(default.db.parent(), Some(home.path().join(".local/share/hoptop").as_path()));
        assert!(default.db.file_name().unwrap().to_string_lossy().starts_with("team-file.example-"));
        let own = CommandLineSettings { db: Some("own.db".into()), ..CommandLineSettings::default() };
        assert_eq!(settings(own, &[], &config(FILE)).unwrap().0.db, PathBuf::from("own.db"));
        let variables = [("HOPTOP_DB", "own.db")];
        assert_eq!(
            settings(CommandLineSettings::default(), &variables, &config(FILE)).unwrap().0.db,
            PathBuf::from("own.db")
        );
    }

    #[test]
    fn invalid_address_is_refused_without_its_password() {
        let refused = |store: &str| settings(flags(Some(store), None), &[], &[]).unwrap_err();
        let password = refused("postgres://ann:canary@db/t");
        assert!(password.starts_with("--store: the store's URL contains a password, which"), "{password}");
        let scheme = refused("mysql://canary@db/t");
        assert!(scheme.starts_with("--store: the store's address must be a URL like postgres://"), "{scheme}");
        let variables = [("HOPTOP_STORE", "canary.db")];
        let variable = settings(CommandLineSettings::default(), &variables, &[]).unwrap_err();
        assert!(variable.starts_with("HOPTOP_STORE: the store's address must be"), "{variable}");
        let file = "[profiles.shop]\nstore = 'postgres://db/t?password=canary'";
        let in_profile = settings(flags(None, Some("shop")), &[], &config(file)).unwrap_err();
        assert!(
            in_profile.starts_with("profiles.shop.store in the config file: the store's URL contains"),
            "{in_profile}"
        );
        // Another profile's store has no effect.
        assert!(settings(CommandLineSettings::default(), &[], &config(file)).is_ok());
    }

    #[test]
    fn password_comes_from_the_profile_or_the_file_and_is_not_shown() {
        let variables = [("TEAM_PASSWORD", SECRET), ("PGPASSWORD", SECRET), ("PGPASSFILE", "/pass")];
        let of = |profile: Option<&str>| settings(flags(None, profile), &variables, &config(FILE)).unwrap();
        let (all, _) = of(None);
        let password = all.store.clone().unwrap().password;
        let Some(SecretSource::Variable { name, value }) = password.setting else { panic!("{password:?}") };
        assert_eq!((name.as_str(), value.as_str()), ("TEAM_PASSWORD", SECRET));
        assert_eq!(password.variable.as_ref().map(Password::expose), Some(SECRET));
        assert_eq!((password.pass_file, password.service.is_none()), (Some("/pass".into()), true));
        assert_eq!(entry(&all, "store_password"), "TEAM_PASSWORD (store_password_env in the config file)");
        assert_eq!(all.secret_variables, ["TEAM_PASSWORD", "PGPASSWORD"]);
        let (shop, home) = of(Some("shop"));
        let file = home.path().join("password").display().to_string();
        let key = "profiles.shop.store_password_file in the config file";
        assert_eq!(entry(&shop, "store_password"), format!("the file {file} ({key})"));
        let same = entry(&of(Some("same")).0, "store_password");
        assert_eq!(same, "the command `pass` (profiles.same.store_password_command in the config file)");
        let unset = settings(CommandLineSettings::default(), &[], &config(FILE)).unwrap().0;
        assert!(entry(&unset, "store_password").starts_with("TEAM_PASSWORD, which is not set ("));
        let (standard, home) = settings(flags(Some("postgres://db/t"), None), &variables[1..2], &[]).unwrap();
        assert_eq!(entry(&standard, "store_password"), "(hidden) (PGPASSWORD)");
        assert_eq!(standard.store.unwrap().password.pass_file, Some(home.path().join(".pgpass")));
    }

    #[test]
    fn several_keys_for_the_password_are_refused() {
        let keys = "store_password_env = 'A'\nstore_password_command = 'b'\n";
        let both = "has both store_password_env and store_password_command; keep one of them";
        let top = settings(CommandLineSettings::default(), &[], &config(keys)).unwrap_err();
        assert_eq!(top, format!("HOME/.config/hoptop/config.toml: the top of the file {both}"));
        let profile = format!("[profiles.shop]\n{keys}");
        let in_profile = settings(flags(None, Some("shop")), &[], &config(&profile)).unwrap_err();
        assert_eq!(in_profile, format!("HOME/.config/hoptop/config.toml: the profile `shop` {both}"));
        assert!(settings(CommandLineSettings::default(), &[], &config(&profile)).is_ok());
    }

    #[test]
    fn profiles_that_are_shown_together_need_the_same_store() {
        let different = settings(CommandLineSettings::default(), &[], &config(FILE)).unwrap().0;
        let error = different.check_same_store().unwrap_err().to_string();
        let expected =
            "default has postgres://file.example/team (store in the config file) and shop has postgres://ann@";
        assert!(
            error.contains(expected) && error.contains("(profiles.shop.store in the config file); give"),
            "{error}"
        );
        let given = settings(flags(Some("postgres://db/t"), None), &[], &config(FILE)).unwrap().0;
        given.check_same_store().unwrap();
        let beside = CommandLineSettings { beside: vec!["same".into()], ..CommandLineSettings::default() };
        settings(beside, &[], &config(FILE)).unwrap().0.check_same_store().unwrap();
        let file = "beside = ['shop']\n[profiles.shop]\nstore = 'postgres://db/t'";
        let error =
            settings(CommandLineSettings::default(), &[], &config(file)).unwrap().0.check_same_store().unwrap_err();
        assert!(error.to_string().contains("default has no store in a team and shop has postgres://db/t ("), "{error}");
    }

    #[test]
    fn connection_service_completes_the_address() {
        let own = "[team]\nhost=db.example\ndbname=own\npassword=canary-password\n";
        let files = [(".pg_service.conf", own), ("pg_service.conf", "[team]\nhost=x\n[shared]\nhost=shared.example\n")];
        let store = |url: &str, variables: &[(&str, &str)]| settings(flags(Some(url), None), variables, &files);
        let team = store("postgres:///?service=team", &[]).unwrap().0.store.unwrap();
        assert_eq!(team.address.to_string(), "postgres://db.example/own");
        assert_eq!(team.password.service.as_ref().map(Password::expose), Some(SECRET));
        let shared = store("postgres:///t", &[("PGSERVICE", "shared")]).unwrap().0.store.unwrap();
        assert_eq!(shared.address.to_string(), "postgres://shared.example/t");
        let missing = store("postgres:///t?service=none", &[]).unwrap_err();
        let expected =
            "the service `none` of the store's address is not in HOME/.pg_service.conf or HOME/pg_service.conf;";
        assert!(missing.contains(expected), "{missing}");
        let wrong =
            settings(flags(Some("postgres:///?service=a"), None), &[], &[("pg_service.conf", "\n[a")]).unwrap_err();
        assert!(wrong.ends_with("connection service file HOME/pg_service.conf: line 2 is not valid"), "{wrong}");
    }
}
