//! The address of a team's store: a PostgreSQL URL without secrets.
//!
//! Settings, the connection and the replica's file need the same address, so the type belongs here and not to `team`.
//! An address must never hold a password, and an error must never repeat a part of the URL that may be one.

use std::{
    collections::BTreeMap,
    fmt,
    net::IpAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use sha2::{Digest, Sha256};

use super::{secret::Password, text};

/// The port of PostgreSQL.
const DEFAULT_PORT: u16 = 5432;
/// The default time limit for connecting.
const DEFAULT_CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// The longest accepted `connect_timeout`, in seconds.
const CONNECT_TIMEOUT_LIMIT: u64 = 60;
/// The parameters that an address may have.
const PARAMETERS: [&str; 10] = [
    "host",
    "port",
    "user",
    "dbname",
    "service",
    "sslmode",
    "sslrootcert",
    "channel_binding",
    "application_name",
    "connect_timeout",
];
/// The most characters of a host or a database in the name of a replica's file.
const READABLE_LIMIT: usize = 40;
/// The characters that are escaped in a URL.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The reason why a text is not the address of a team's store. No variant holds text of the URL that may be secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// The text is not a PostgreSQL URL.
    #[error("the store's address must be a URL like postgres://HOST/DATABASE; for a SQLite file use --db PATH")]
    Scheme,
    /// The URL can't be parsed.
    #[error("the store's URL is not valid: {0}; write it like postgres://USER@HOST:5432/DATABASE")]
    Url(&'static str),
    /// The URL holds a password.
    #[error(
        "the store's URL contains a password, which command lines and logs would show; remove it, and use \
         store_password_env, store_password_file or store_password_command in the config file, PGPASSWORD or ~/.pgpass"
    )]
    Password,
    /// A parameter is unknown.
    #[error("the store's URL has a parameter that hoptop doesn't know; known parameters: {}", PARAMETERS.join(", "))]
    UnknownParameter,
    /// A parameter has two values.
    #[error("the store's URL gives {0} twice; keep one of them")]
    Twice(&'static str),
    /// A parameter has an invalid value.
    #[error("{0} of the store's address is not valid: {1}")]
    Value(&'static str, &'static str),
    /// The host is missing.
    #[error(
        "the store's URL names no host; write it like postgres://HOST/DATABASE, or give a socket's folder as ?host=/run/postgresql"
    )]
    NoHost,
    /// The database is missing.
    #[error("the store's URL names no database; write it like postgres://HOST/DATABASE")]
    NoDatabase,
    /// The `sslmode` doesn't verify the server.
    #[error(
        "sslmode={0} doesn't verify which server answers; use sslmode=verify-full (with sslrootcert=FILE for an own \
         certificate authority), or sslmode=disable on a network that you trust"
    )]
    UnverifiedTls(&'static str),
    /// TLS is requested for a socket.
    #[error("a connection through a Unix socket has no TLS; remove sslmode from the store's address")]
    TlsOnSocket,
    /// The service is not in a connection service file.
    #[error("the service `{name}` of the store's address is not in {file}; add it there, or set PGSERVICEFILE")]
    NoService {
        /// The service.
        name: String,
        /// The files that were searched.
        file: String,
    },
    /// The connection service file can't be read, or has an invalid line.
    #[error("can't read the connection service file {file}: {reason}")]
    ServiceFile { file: String, reason: String },
}

/// Where the server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Host {
    /// A host name or an IP address.
    Tcp(String),
    /// The folder of a Unix socket.
    Socket(PathBuf),
}

impl Host {
    /// Whether the connection doesn't leave this machine.
    pub(crate) fn is_on_this_machine(&self) -> bool {
        match self {
            Self::Socket(_) => true,
            Self::Tcp(name) => name == "localhost" || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback()),
        }
    }
}

/// How the connection is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsMode {
    /// No TLS.
    Off,
    /// TLS, with the server's certificate and host name verified.
    VerifyFull,
}

/// The address of a team's store. It holds no secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TeamAddress {
    /// Where the server listens.
    pub host: Host,
    /// The TCP port, or the number of the socket.
    pub port: u16,
    /// The name of the database.
    pub database: String,
    /// The role; `None` for the name of the user of this process.
    pub user: Option<String>,
    /// How the connection is protected.
    pub tls: TlsMode,
    /// The file with the trusted certificate authorities; `None` for the system's.
    pub root_certificate: Option<PathBuf>,
    /// Whether the server must prove by its password exchange that no other server ends the TLS connection.
    pub requires_channel_binding: bool,
    /// The name that the server shows for the connection; `None` for hoptop's own.
    pub application_name: Option<String>,
    /// The time limit for connecting.
    pub connect_timeout: Duration,
}

/// An entry of a connection service file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConnectionService {
    /// The parameters that an address may have.
    pub parameters: BTreeMap<&'static str, String>,
    pub password: Option<Password>,
}

type UrlParameters = BTreeMap<&'static str, String>;

impl TeamAddress {
    /// Parses a URL that names no service.
    ///
    /// # Errors
    /// If the URL is invalid, incomplete, holds a password, or would not verify the server.
    pub fn parse(url: &str) -> Result<Self, AddressError> {
        let no_file = |name: &str| Err(AddressError::NoService { name: name.to_owned(), file: "any file".into() });
        Self::parse_with_service(url, None, no_file).map(|(address, _)| address)
    }

    /// Parses a URL. The URL's service, or else `default_service`, provides the missing parameters. Returns the address
    /// and the service's password.
    ///
    /// # Errors
    /// Like [`parse`](Self::parse), or if `find` fails.
    pub fn parse_with_service(
        url: &str,
        default_service: Option<&str>,
        find: impl FnOnce(&str) -> Result<ConnectionService, AddressError>,
    ) -> Result<(Self, Option<Password>), AddressError> {
        let mut parameters = parse_url(url)?;
        let name = parameters.remove("service").or_else(|| default_service.map(str::to_owned));
        let service = name.map_or_else(|| Ok(ConnectionService::default()), |name| find(&name))?;
        for (key, value) in service.parameters {
            parameters.entry(key).or_insert(value);
        }
        Ok((Self::complete(parameters)?, service.password))
    }

    fn complete(mut parameters: UrlParameters) -> Result<Self, AddressError> {
        let host = host(parameters.remove("host"))?;
        let port = match parameters.remove("port") {
            Some(port) => port.parse().ok().filter(|port| *port > 0),
            None => Some(DEFAULT_PORT),
        };
        let root_certificate = parameters.remove("sslrootcert");
        let tls = tls_mode(parameters.remove("sslmode").as_deref(), &host, root_certificate.is_some())?;
        let seconds = match parameters.remove("connect_timeout") {
            Some(seconds) => {
                let seconds = seconds.parse().ok().filter(|seconds| (1..=CONNECT_TIMEOUT_LIMIT).contains(seconds));
                seconds.map(Duration::from_secs)
            }
            None => Some(DEFAULT_CONNECT_TIMEOUT),
        };
        let requires_channel_binding = match parameters.remove("channel_binding").as_deref() {
            None | Some("prefer") => false,
            Some("require") if tls == TlsMode::VerifyFull => true,
            Some("require") => return Err(AddressError::Value("channel_binding", "`require` needs TLS")),
            Some(_) => return Err(AddressError::Value("channel_binding", "give prefer or require")),
        };
        Ok(Self {
            host,
            port: port.ok_or(AddressError::Value("port", "give a number from 1 to 65535"))?,
            database: parameters.remove("dbname").ok_or(AddressError::NoDatabase)?,
            user: parameters.remove("user"),
            tls,
            root_certificate: root_certificate.filter(|file| file != "system").map(PathBuf::from),
            requires_channel_binding,
            application_name: parameters.remove("application_name"),
            connect_timeout: seconds.ok_or(AddressError::Value("connect_timeout", "give 1 to 60 seconds"))?,
        })
    }

    /// Returns the server as messages name it: `HOST:PORT`, or the path of the socket.
    pub fn server(&self) -> String {
        match &self.host {
            Host::Tcp(host) if host.contains(':') => format!("[{host}]:{}", self.port),
            Host::Tcp(host) => format!("{host}:{}", self.port),
            Host::Socket(folder) => folder.join(format!(".s.PGSQL.{}", self.port)).display().to_string(),
        }
    }

    /// Returns the name of the replica's file. The same host, port and database always give the same name.
    pub fn replica_file_name(&self) -> String {
        let host = match &self.host {
            Host::Tcp(host) => host.to_lowercase(),
            Host::Socket(folder) => folder.display().to_string(),
        };
        let hash = Sha256::new().chain_update(&host).chain_update([0]).chain_update(self.port.to_be_bytes());
        let hash = hash.chain_update(&self.database).finalize();
        let hash: String = text::hex(&hash).chars().take(8).collect();
        let host = readable(host.trim_start_matches('/'));
        format!("team-{host}-{}-{}-{hash}.db", self.port, readable(&self.database))
    }
}

impl fmt::Display for TeamAddress {
    /// Writes a URL that can be used again. Defaults are left out.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("postgres://")?;
        if let Some(user) = &self.user {
            write!(out, "{}@", escape(user))?;
        }
        match &self.host {
            Host::Tcp(host) if host.contains(':') => write!(out, "[{host}]")?,
            Host::Tcp(host) => out.write_str(host)?,
            Host::Socket(folder) => write!(out, "{}", escape(&folder.display().to_string()))?,
        }
        if self.port != DEFAULT_PORT {
            write!(out, ":{}", self.port)?;
        }
        write!(out, "/{}", escape(&self.database))?;
        let file = self.root_certificate.as_ref().map(|file| file.display().to_string());
        let is_default = tls_mode(None, &self.host, file.is_some()) == Ok(self.tls);
        let tls = match self.tls {
            TlsMode::Off => "disable",
            TlsMode::VerifyFull => "verify-full",
        };
        let timeout = self.connect_timeout.as_secs().to_string();
        let parameters = [
            ("sslmode", (!is_default).then_some(tls)),
            ("sslrootcert", file.as_deref()),
            ("channel_binding", self.requires_channel_binding.then_some("require")),
            ("application_name", self.application_name.as_deref()),
            ("connect_timeout", Some(timeout.as_str()).filter(|_| self.connect_timeout != DEFAULT_CONNECT_TIMEOUT)),
        ];
        let given = parameters.into_iter().filter_map(|(name, value)| Some((name, value?)));
        for ((name, value), mark) in given.zip(std::iter::once('?').chain(std::iter::repeat('&'))) {
            write!(out, "{mark}{name}={}", escape(value))?;
        }
        Ok(())
    }
}

/// Finds a service in the text of a connection service file (`pg_service.conf`).
///
/// # Errors
/// The number of the first invalid line.
pub fn find_service(text: &str, name: &str) -> Result<Option<ConnectionService>, usize> {
    let mut found: Option<ConnectionService> = None;
    let mut is_inside = false;
    for (line, number) in text.lines().map(str::trim).zip(1_usize..) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(title) = line.strip_prefix('[') {
            // Like libpq, use the first of several entries with the same name.
            is_inside = found.is_none() && title.strip_suffix(']').ok_or(number)? == name;
            if is_inside {
                found = Some(ConnectionService::default());
            }
            continue;
        }
        let (key, value) = line.split_once('=').ok_or(number)?;
        let Some(service) = found.as_mut().filter(|_| is_inside) else { continue };
        let (key, value) = (key.trim_end(), value.trim_start().to_owned());
        if key == "password" {
            service.password = Some(Password::new(value));
        } else if let Some(key) = PARAMETERS.into_iter().find(|known| *known == key && key != "service") {
            service.parameters.insert(key, value);
        }
    }
    Ok(found)
}

fn parse_url(text: &str) -> Result<UrlParameters, AddressError> {
    let rest = text.strip_prefix("postgres://").or_else(|| text.strip_prefix("postgresql://"));
    let rest = rest.ok_or(AddressError::Scheme)?;
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
    let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    let user = decode(user)?;
    // `user%3Apassword@` would otherwise be shown as the name of a user.
    if user.contains(':') {
        return Err(AddressError::Password);
    }
    // A password that contains one of these characters ends too early, and its rest would be shown.
    if text.contains(['#', ' ']) || database.contains(['/', '@']) {
        return Err(AddressError::Url("`#`, `/`, `@` and spaces must be escaped as %23, %2F, %40 and %20"));
    }
    let (host, port) = match host.strip_prefix('[').and_then(|host| host.split_once(']')) {
        Some((host, port)) => (host, port.strip_prefix(':').unwrap_or(port)),
        None => host.split_once(':').unwrap_or((host, "")),
    };
    let mut parameters = UrlParameters::new();
    let parts = [("host", decode(host)?), ("port", port.to_owned()), ("user", user), ("dbname", decode(database)?)];
    parameters.extend(parts.into_iter().filter(|(_, value)| !value.is_empty()));
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        if name == "password" {
            return Err(AddressError::Password);
        }
        let name = PARAMETERS.into_iter().find(|known| *known == name).ok_or(AddressError::UnknownParameter)?;
        if parameters.insert(name, decode(value)?).is_some() {
            return Err(AddressError::Twice(name));
        }
    }
    match parameters.iter().find(|(_, value)| value.is_empty() || value.contains(char::is_control)) {
        Some((name, _)) => Err(AddressError::Value(name, "it is empty, or contains a control character")),
        None => Ok(parameters),
    }
}

fn host(given: Option<String>) -> Result<Host, AddressError> {
    let host = given.ok_or(AddressError::NoHost)?;
    if Path::new(&host).is_absolute() {
        return Ok(Host::Socket(PathBuf::from(host)));
    }
    if host.contains(',') {
        return Err(AddressError::Value("host", "hoptop accepts one host; give the name that follows the primary"));
    }
    match host.chars().all(|letter| letter.is_alphanumeric() || ".-_:%".contains(letter)) {
        true => Ok(Host::Tcp(host)),
        false => Err(AddressError::Value("host", "give a host name, an IP address or the folder of a socket")),
    }
}

/// Returns how the connection is protected. Only a host outside of this machine gets TLS unasked.
fn tls_mode(sslmode: Option<&str>, host: &Host, has_root: bool) -> Result<TlsMode, AddressError> {
    let is_local = host.is_on_this_machine();
    let refused = ["allow", "prefer", "require", "verify-ca"];
    match sslmode {
        Some("verify-full") if matches!(host, Host::Socket(_)) => Err(AddressError::TlsOnSocket),
        Some("verify-full") => Ok(TlsMode::VerifyFull),
        Some("disable") => Ok(TlsMode::Off),
        Some(mode) => Err(refused
            .into_iter()
            .find(|known| *known == mode)
            .map_or(AddressError::Value("sslmode", "give verify-full or disable"), AddressError::UnverifiedTls)),
        None if matches!(host, Host::Socket(_)) || (is_local && !has_root) => Ok(TlsMode::Off),
        None => Ok(TlsMode::VerifyFull),
    }
}

fn decode(text: &str) -> Result<String, AddressError> {
    let decoded = percent_decode_str(text).decode_utf8();
    decoded.map(String::from).map_err(|_| AddressError::Url("an escaped character is not UTF-8"))
}

fn escape(text: &str) -> impl fmt::Display {
    utf8_percent_encode(text, ESCAPED)
}

/// Returns the text with only characters that are safe in every file name.
fn readable(text: &str) -> String {
    let safe = |letter: char| if letter.is_ascii_alphanumeric() || letter == '.' { letter } else { '_' };
    text.chars().map(safe).take(READABLE_LIMIT).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(url: &str) -> TeamAddress {
        TeamAddress::parse(url).unwrap_or_else(|error| panic!("{url}: {error}"))
    }

    fn error(url: &str) -> AddressError {
        let error = TeamAddress::parse(url).unwrap_err();
        let printed = format!("{error} {error:?}");
        assert!(!printed.contains("canary"), "{url}: {printed}");
        error
    }

    #[test]
    fn url_is_parsed_as_postgresql_defines_it() {
        let full = address("postgresql://ann%40x@db.example:6432/team%20a?connect_timeout=5&application_name=x+y");
        assert_eq!((full.host.clone(), full.port), (Host::Tcp("db.example".into()), 6432));
        assert_eq!((full.user.as_deref(), full.database.as_str()), (Some("ann@x"), "team a"));
        assert_eq!(full.connect_timeout, Duration::from_secs(5));
        // Unlike in a form, a plus is a plus.
        assert_eq!(full.application_name.as_deref(), Some("x+y"));
        for url in [
            "postgres://ann@%2Frun%2Fpostgresql:6432/team",
            "postgres:///team?host=/run/postgresql&port=6432&user=ann",
            "postgres://ann@/team?host=%2Frun%2Fpostgresql&port=6432",
        ] {
            let socket = address(url);
            assert_eq!(socket.host, Host::Socket("/run/postgresql".into()), "{url}");
            assert_eq!((socket.port, socket.user.as_deref(), socket.tls), (6432, Some("ann"), TlsMode::Off), "{url}");
            assert_eq!(socket.server(), "/run/postgresql/.s.PGSQL.6432");
        }
        assert_eq!(address("postgres://[::1]/team").server(), "[::1]:5432");
    }

    #[test]
    fn tls_verifies_the_server_unless_it_is_this_machine() {
        let mode = |url: &str| address(url).tls;
        for url in ["postgres://db/t", "postgres://10.0.0.1/t", "postgres://localhost.example/t"] {
            assert_eq!(mode(url), TlsMode::VerifyFull, "{url}");
        }
        for url in ["postgres://localhost/t", "postgres://127.1.2.3/t", "postgres://[::1]/t"] {
            assert_eq!(mode(url), TlsMode::Off, "{url}");
            assert_eq!(mode(&format!("{url}?sslmode=verify-full")), TlsMode::VerifyFull, "{url}");
            assert_eq!(mode(&format!("{url}?sslrootcert=/ca.pem")), TlsMode::VerifyFull, "{url}");
        }
        assert_eq!(mode("postgres://db/t?sslmode=disable"), TlsMode::Off);
        for refused in ["prefer", "allow", "require", "verify-ca"] {
            let message = error(&format!("postgres://localhost/t?sslmode={refused}")).to_string();
            assert!(message.starts_with(&format!("sslmode={refused} doesn't verify")), "{message}");
        }
        assert_eq!(error("postgres:///t?host=/run&sslmode=verify-full"), AddressError::TlsOnSocket);
    }

    #[test]
    fn password_is_refused_and_never_repeated() {
        for url in [
            "postgres://ann:canary@db/t",
            "postgres://ann%3Acanary@db/t",
            "postgres://:canary@db/t",
            "postgres://db/t?password=canary",
            "postgres://ann:@db/t?user=ann&password=canary",
        ] {
            assert_eq!(error(url), AddressError::Password, "{url}");
        }
        for url in [
            "postgres://ann:can#ary@db/t",
            "postgres://ann:12#canary@db/t",
            "postgres://ann:12/canary@db/t",
            "postgres://ann:12?canary@db/t",
            "postgres://ann:can ary@@db:canary/t",
            "postgres://ann:12?canary=canary",
            "canary",
            "postgres://db/t?sslmode=canary",
            "postgres://db:canary/t",
            "postgres://db/t?port=canary",
            "postgres://db/t?connect_timeout=canary",
        ] {
            error(url);
        }
    }

    #[test]
    fn incomplete_or_ambiguous_url_is_refused() {
        let table = [
            ("/home/ann/team.db", AddressError::Scheme),
            ("sqlite:team.db", AddressError::Scheme),
            ("postgres:///team", AddressError::NoHost),
            ("postgres://db", AddressError::NoDatabase),
            ("postgres://db/", AddressError::NoDatabase),
            ("postgres://db/t?host=/run", AddressError::Twice("host")),
            ("postgres://db/t?target_session_attrs=any", AddressError::UnknownParameter),
            ("postgres://db/t?port=0", AddressError::Value("port", "give a number from 1 to 65535")),
        ];
        for (url, expected) in table {
            assert_eq!(error(url), expected, "{url}");
        }
        assert!(matches!(error("postgres:///t?host=a,b"), AddressError::Value("host", _)));
        assert!(matches!(error("postgres://db/t?service=%00"), AddressError::Value("service", _)));
    }

    #[test]
    fn displayed_url_gives_the_same_address() {
        for url in [
            "postgres://db/t",
            "postgres://ann%40x@db:6432/team%2Fa?sslmode=disable",
            "postgres://localhost/t?sslmode=verify-full&sslrootcert=%2Fca.pem",
            "postgres://db/t?channel_binding=require&application_name=a%26b&connect_timeout=7",
            "postgres://%2Frun%2Fpostgresql/t",
            "postgres://[::1]:6432/t",
        ] {
            let address = address(url);
            assert_eq!(TeamAddress::parse(&address.to_string()).unwrap(), address, "{url} {address}");
        }
        assert_eq!(address("postgresql://DB.example:5432/t").to_string(), "postgres://DB.example/t");
    }

    #[test]
    fn replica_file_name_is_stable_and_differs_by_store() {
        let name = |url: &str| address(url).replica_file_name();
        let first = name("postgres://db.example/team");
        assert_eq!(first, "team-db.example-5432-team-81d36019.db");
        assert_eq!(name("postgresql://ann@DB.EXAMPLE:5432/team?sslmode=disable"), first);
        let others = [
            name("postgres://db.example:5433/team"),
            name("postgres://db.example/team_"),
            name("postgres://db.example/team%2F"),
            name("postgres:///team?host=/db.example"),
        ];
        for other in others {
            assert!(other != first && !other.contains('/'), "{other}");
        }
    }

    #[test]
    fn service_provides_parameters_missing_in_the_url() {
        let text = "# shared\n[other]\nhost=other\n\n[team]\n host = db.example\nport=6432\nsslmode=verify-full\n\
                    dbname=team\npassword=can=ary\nkeepalives=1\n[team]\nhost=second\n";
        let find = |name: &str| {
            find_service(text, name)
                .unwrap()
                .ok_or_else(|| AddressError::NoService { name: name.into(), file: "FILE".into() })
        };
        let parse = |url: &str, default: Option<&str>| TeamAddress::parse_with_service(url, default, find);
        let (address, password) = parse("postgres://ann@/?service=team", None).unwrap();
        assert_eq!(address.to_string(), "postgres://ann@db.example:6432/team");
        assert_eq!(password.as_ref().map(Password::expose), Some("can=ary"));
        let (address, _) = parse("postgres://own:1/mine", Some("team")).unwrap();
        assert_eq!(address.to_string(), "postgres://own:1/mine");
        let missing = parse("postgres:///?service=none", Some("team")).unwrap_err().to_string();
        assert!(missing.contains("the service `none`") && missing.contains("FILE"), "{missing}");
        assert_eq!(find_service("[team]\nhost", "team"), Err(2));
        assert_eq!(find_service("[team\nhost=x", "team"), Err(1));
    }
}
