//! Opens connections to the team's database, with the server verified.
//!
//! A connector never falls back to a connection without TLS, and sends no statement of its own.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, pem::PemObject},
};
use rustls_platform_verifier::BuilderVerifierExt;
use tokio_postgres::{
    Client, Config,
    config::{ChannelBinding, SslMode},
    tls::MakeTlsConnect,
};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::{
    error::TeamError,
    password::{PasswordLookup, PasswordSources},
};
use crate::domain::{
    secret::Password,
    team_address::{Host, TeamAddress, TlsMode},
};

/// How long sent data may stay unacknowledged before the kernel closes the connection.
const TCP_USER_TIMEOUT: Duration = Duration::from_secs(2);
/// How long a connection is idle before the kernel probes it, and the interval between probes.
const KEEPALIVE: Duration = Duration::from_secs(5);
/// The unanswered probes after which the kernel closes the connection.
const KEEPALIVE_PROBES: u32 = 2;

/// The task that drives a connection. It must be polled for the client to work.
pub type PostgresConnection = tokio_postgres::Connection<
    tokio_postgres::Socket,
    <MakeRustlsConnect as MakeTlsConnect<tokio_postgres::Socket>>::Stream,
>;

/// Opens connections to one database. Clones share the password. `Debug` shows no secret.
#[derive(Clone)]
pub struct Connector(Arc<ConnectorState>);

struct ConnectorState {
    address: TeamAddress,
    user: String,
    config: Config,
    tls: MakeRustlsConnect,
    sources: PasswordSources,
    /// The password, once it was read. A login that fails drops it.
    password: Mutex<Option<Password>>,
}

impl fmt::Debug for Connector {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Connector({})", self.0.address)
    }
}

impl Connector {
    /// Creates a connector. This reads the certificate authorities, but not the password.
    ///
    /// # Errors
    /// If the certificate authorities can't be read, or the name of the user is unknown.
    pub fn new(address: TeamAddress, sources: PasswordSources) -> Result<Self, TeamError> {
        let user = match &address.user {
            Some(user) => user.clone(),
            None => whoami::username()
                .map_err(|error| TeamError::Login(format!("the name of this machine's user is unknown: {error}")))?,
        };
        let tls = MakeRustlsConnect::new(tls_config(&address)?);
        let config = config(&address, &user);
        Ok(Self(Arc::new(ConnectorState { address, user, config, tls, sources, password: Mutex::new(None) })))
    }

    /// Returns the address.
    pub fn address(&self) -> &TeamAddress {
        &self.0.address
    }

    /// Opens a connection. The password is read before the first one, which may run a command for up to 10 s.
    ///
    /// # Errors
    /// If there is no connection within twice the address's `connect_timeout`.
    pub async fn connect(&self) -> Result<(Client, PostgresConnection), TeamError> {
        let PasswordLookup { password, note } = self.password().await?;
        let server = self.0.address.server();
        let mut config = self.0.config.clone();
        if let Some(password) = &password {
            config.password(password.expose());
        }
        // The client's own limit applies to the TCP connection only, once for each address of the host.
        let limit = self.0.address.connect_timeout * 2;
        let outcome = tokio::time::timeout(limit, config.connect(self.0.tls.clone())).await;
        let error = match outcome {
            Ok(Ok(connected)) => return Ok(connected),
            Ok(Err(error)) => TeamError::from_postgres_error(&server, &error),
            Err(_) => TeamError::TimedOut(server.clone()),
        };
        match error {
            TeamError::PasswordMissing { .. } => Err(TeamError::PasswordMissing { server, note }),
            TeamError::Login(_) => {
                self.forget_password();
                Err(error)
            }
            error => Err(error),
        }
    }

    /// Returns the password, for a process that polls on behalf of this one; `None` if there is none. See
    /// [`Connector::connect`].
    ///
    /// # Errors
    /// If the password's source can't be read.
    pub(crate) async fn expose_password(&self) -> Result<Option<Password>, TeamError> {
        Ok(self.password().await?.password)
    }

    /// Reads the password again for the next connection: it may have been changed.
    pub(crate) fn forget_password(&self) {
        *self.0.password.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    async fn password(&self) -> Result<PasswordLookup, TeamError> {
        let known = self.0.password.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if known.is_some() {
            return Ok(PasswordLookup { password: known, note: String::new() });
        }
        let inner = Arc::clone(&self.0);
        let read = tokio::task::spawn_blocking(move || inner.sources.read(&inner.address, &inner.user));
        let stopped =
            |_| TeamError::PasswordSource { origin: "its source".into(), reason: "reading it was stopped".into() };
        let found = read.await.map_err(stopped)??;
        self.0.password.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&found.password);
        Ok(found)
    }
}

fn config(address: &TeamAddress, user: &str) -> Config {
    let mut config = Config::new();
    match &address.host {
        Host::Tcp(host) => config.host(host),
        Host::Socket(folder) => config.host_path(folder),
    };
    // The client's default, `Prefer`, falls back to a connection without TLS.
    let (ssl_mode, channel_binding) = match address.tls {
        TlsMode::Off => (SslMode::Disable, ChannelBinding::Disable),
        TlsMode::VerifyFull if address.requires_channel_binding => (SslMode::Require, ChannelBinding::Require),
        TlsMode::VerifyFull => (SslMode::Require, ChannelBinding::Prefer),
    };
    let own_name = concat!("hoptop ", env!("CARGO_PKG_VERSION"));
    config
        .port(address.port)
        .dbname(&address.database)
        .user(user)
        .application_name(address.application_name.as_deref().unwrap_or(own_name))
        .ssl_mode(ssl_mode)
        .channel_binding(channel_binding)
        .connect_timeout(address.connect_timeout)
        .tcp_user_timeout(TCP_USER_TIMEOUT)
        .keepalives(true)
        .keepalives_idle(KEEPALIVE)
        .keepalives_interval(KEEPALIVE)
        .keepalives_retries(KEEPALIVE_PROBES);
    config
}

/// Returns the TLS settings: the system's certificate authorities, or only those of the address's file.
fn tls_config(address: &TeamAddress) -> Result<ClientConfig, TeamError> {
    let failed = |error: rustls::Error| TeamError::RootCertificate(error.to_string());
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(failed)?;
    let builder = match (address.tls, &address.root_certificate) {
        (TlsMode::Off, _) => builder.with_root_certificates(RootCertStore::empty()),
        (TlsMode::VerifyFull, None) => builder.with_platform_verifier().map_err(failed)?,
        (TlsMode::VerifyFull, Some(file)) => {
            let failed = |reason: String| TeamError::RootCertificate(format!("{}: {reason}", file.display()));
            let mut roots = RootCertStore::empty();
            for certificate in CertificateDer::pem_file_iter(file).map_err(|error| failed(error.to_string()))? {
                let certificate = certificate.map_err(|error| failed(error.to_string()))?;
                roots.add(certificate).map_err(|error| failed(error.to_string()))?;
            }
            if roots.is_empty() {
                return Err(failed("it holds no certificate".into()));
            }
            builder.with_root_certificates(roots)
        }
    };
    Ok(builder.with_no_client_auth())
}
