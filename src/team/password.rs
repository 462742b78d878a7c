//! The password of the team's database: its possible sources, and the order in which hoptop reads them.
//!
//! The module blocks, so callers run it on the blocking pool. A password must never be part of a message or a debug
//! print.

use std::path::{Path, PathBuf};

use super::error::TeamError;
use crate::{
    domain::{
        secret::Password,
        team_address::{Host, TeamAddress},
    },
    process::{files, secret_source::SecretSource},
};

/// The folders in which servers create their socket by default. A password file calls them `localhost`.
const DEFAULT_SOCKET_FOLDERS: [&str; 3] = ["/run/postgresql", "/var/run/postgresql", "/tmp"];

/// The sources of the password, in the order in which hoptop reads them.
#[derive(Clone, Debug, Default)]
pub struct PasswordSources {
    /// `store_password_env`, `store_password_file` or `store_password_command`.
    pub setting: Option<SecretSource>,
    /// `PGPASSWORD`.
    pub variable: Option<Password>,
    /// `PGPASSFILE`, or `~/.pgpass`.
    pub pass_file: Option<PathBuf>,
    /// `password` of the connection service.
    pub service: Option<Password>,
}

/// The password, or the reason why a password file was ignored.
#[derive(Debug, Default)]
pub(super) struct PasswordLookup {
    pub(super) password: Option<Password>,
    /// What was ignored, as an addition to a sentence; may be empty.
    pub(super) note: String,
}

impl PasswordSources {
    /// Returns the first password for `user` at `address`. This may run a command for up to 10 s.
    ///
    /// # Errors
    /// If the configured source can't be read. A missing or ignored password file is no error.
    pub(super) fn read(&self, address: &TeamAddress, user: &str) -> Result<PasswordLookup, TeamError> {
        let known = match &self.setting {
            Some(source) => Some(read_setting(source)?),
            None => self.variable.clone(),
        };
        let (text, note) = match (&known, &self.pass_file) {
            (None, Some(path)) => read_pass_file(path),
            (Some(_), _) | (None, None) => Default::default(),
        };
        let found = || find_password(&text, address, user).or_else(|| self.service.clone());
        Ok(PasswordLookup { password: known.or_else(found), note })
    }
}

fn read_setting(source: &SecretSource) -> Result<Password, TeamError> {
    let fails = |reason: String| TeamError::PasswordSource { origin: source.to_string(), reason };
    let text = source.read_text().map_err(fails)?;
    let line = text.strip_suffix('\n').unwrap_or(&text);
    let line = line.strip_suffix('\r').unwrap_or(line);
    match line {
        "" => Err(fails("it is empty".into())),
        line if line.contains(['\n', '\0']) => Err(fails("it must be one line".into())),
        line => Ok(Password::new(line.to_owned())),
    }
}

/// Returns the text of the password file, and why the file was ignored. Like libpq, ignores a file that others can
/// read.
fn read_pass_file(path: &Path) -> (String, String) {
    let ignored = |reason: String| (String::new(), format!(" ({} was ignored: {reason})", path.display()));
    match path.metadata() {
        Err(_) => (String::new(), String::new()),
        Ok(file) if !file.is_file() => ignored("it is not a plain file".into()),
        Ok(file) if files::others_can_use(&file) => {
            ignored(format!("other users of this machine can use it; run: chmod 600 {}", path.display()))
        }
        Ok(_) => match std::fs::read_to_string(path) {
            Ok(text) => (text, String::new()),
            Err(error) => ignored(error.to_string()),
        },
    }
}

/// Finds the password in the text of a password file: lines of `host:port:database:user:password`, of which the first
/// that matches counts.
fn find_password(text: &str, address: &TeamAddress, user: &str) -> Option<Password> {
    let (host, port) = (host_names(&address.host), address.port.to_string());
    let is = |field: &str, value: &str| field == "*" || unescape(field) == value;
    text.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        let fields = fields(line);
        let [line_host, line_port, line_database, line_user, password, ..] = fields.as_slice() else { return None };
        let is_host = host.iter().any(|name| is(line_host, name));
        let matches = is_host && is(line_port, &port) && is(line_database, &address.database) && is(line_user, user);
        (matches && !password.is_empty()).then(|| Password::new(unescape(password)))
    })
}

/// Returns the names by which a password file may call the host.
fn host_names(host: &Host) -> Vec<String> {
    match host {
        Host::Tcp(name) => vec![name.clone()],
        Host::Socket(folder) => {
            let is_default = DEFAULT_SOCKET_FOLDERS.iter().any(|default| folder == Path::new(default));
            let own = folder.display().to_string();
            std::iter::once(own).chain(is_default.then(|| "localhost".to_owned())).collect()
        }
    }
}

/// Splits a line at colons that no backslash precedes. The fields keep their backslashes, so that `\*` is no wildcard.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut is_escaped = false;
    for letter in line.trim_end_matches('\r').chars() {
        match fields.last_mut() {
            _ if letter == ':' && !is_escaped => fields.push(String::new()),
            Some(field) => field.push(letter),
            None => {}
        }
        is_escaped = letter == '\\' && !is_escaped;
    }
    fields
}

/// Removes the backslash before each escaped character.
fn unescape(field: &str) -> String {
    let mut letters = field.chars();
    let mut text = String::new();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => text.push(letters.next().unwrap_or('\\')),
            _ => text.push(letter),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt};

    use super::*;

    fn address(url: &str) -> TeamAddress {
        TeamAddress::parse(url).unwrap()
    }

    fn found(text: &str, url: &str) -> Option<String> {
        find_password(text, &address(url), "ann").map(|password| password.expose().to_owned())
    }

    #[test]
    fn password_file_has_the_format_of_libpq() {
        let url = "postgres://db/team";
        let table = [
            ("db:5432:team:ann:one", Some("one")),
            ("# db:5432:team:ann:no\n\nother:*:*:*:no\n*:*:*:*:two\n*:*:*:*:three", Some("two")),
            ("db:5433:team:ann:no\ndb:5432:teams:ann:no\ndb:5432:team:bob:no", None),
            (r"db:5432:team:ann:a\:b\\c\d", Some(r"a:b\cd")),
            ("db:5432:team:ann:one:rest", Some("one")),
            ("db:5432:team:ann:one \r", Some("one ")),
            (r"\*:5432:team:ann:no", None),
            (r"d\b:5432:te\am:ann:one", Some("one")),
            (r"db:5432:team:ann:end\", Some(r"end\")),
            ("db:5432:team:ann", None),
            ("db:5432:team:ann:\n*:*:*:*:next", Some("next")),
        ];
        for (text, expected) in table {
            assert_eq!(found(text, url).as_deref(), expected, "{text}");
        }
        let odd = r"::1:5432:team:ann:no
\:\:1:5432:a\:b:ann:yes";
        assert_eq!(found(odd, "postgres://[::1]/a%3Ab").as_deref(), Some("yes"));
        let socket = "localhost:5432:team:ann:default\n/srv/pg:5432:team:ann:own";
        assert_eq!(found(socket, "postgres:///team?host=/run/postgresql").as_deref(), Some("default"));
        assert_eq!(found(socket, "postgres:///team?host=/srv/pg").as_deref(), Some("own"));
    }

    #[test]
    fn sources_are_asked_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let pass_file = folder.path().join("pgpass");
        fs::write(&pass_file, "*:*:*:ann:file\n").unwrap();
        fs::set_permissions(&pass_file, fs::Permissions::from_mode(0o600)).unwrap();
        let setting = SecretSource::Command(["printf", "setting\r\n"].map(str::to_owned).to_vec());
        let password = |text: &str| Some(Password::new(text.into()));
        let mut sources = PasswordSources {
            setting: Some(setting),
            variable: password("variable"),
            pass_file: Some(pass_file),
            service: password("service"),
        };
        let address = address("postgres://db/team");
        let read = |sources: &PasswordSources, user| sources.read(&address, user).unwrap().password.unwrap();
        assert_eq!(read(&sources, "ann").expose(), "setting");
        sources.setting = None;
        assert_eq!(read(&sources, "ann").expose(), "variable");
        sources.variable = None;
        assert_eq!(read(&sources, "ann").expose(), "file");
        assert_eq!(read(&sources, "bob").expose(), "service");
        sources.pass_file = None;
        assert_eq!(read(&sources, "ann").expose(), "service");
        assert!(PasswordSources::default().read(&address, "ann").unwrap().password.is_none());
        let printed = format!("{sources:?} {:?}", sources.read(&address, "ann"));
        assert!(!printed.contains("\"service\""), "{printed}");
    }

    #[test]
    fn password_file_that_others_can_read_is_ignored_and_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pgpass");
        fs::write(&path, "*:*:*:*:canary\n").unwrap();
        let sources = PasswordSources { pass_file: Some(path.clone()), ..PasswordSources::default() };
        for (mode, is_used) in [(0o600, true), (0o640, false), (0o601, false)] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let found = sources.read(&address("postgres://db/team"), "ann").unwrap();
            assert_eq!((found.password.is_some(), found.note.is_empty()), (is_used, is_used), "{mode:o}");
            assert!(is_used || found.note.contains("chmod 600"), "{}", found.note);
        }
    }

    #[test]
    fn configured_source_that_fails_is_an_error_without_the_password() {
        for script in ["echo canary; exit 1", "true", "echo canary; echo canary"] {
            let setting = SecretSource::Command(["sh", "-c", script].map(str::to_owned).to_vec());
            let sources = PasswordSources { setting: Some(setting), ..PasswordSources::default() };
            let error = sources.read(&address("postgres://db/team"), "ann").unwrap_err();
            let printed = format!("{error} {error:?}");
            assert!(printed.contains("from the command `sh`: it ") && !printed.contains("canary"), "{printed}");
        }
    }
}
