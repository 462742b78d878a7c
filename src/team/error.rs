//! The faults between hoptop and the team's database, each with a remedy for the person.
//!
//! Messages of the server are cleaned before they are kept. No variant may hold a password or an operation.

use std::io;

use rustls::CertificateError;
use tokio_postgres::error::DbError;

use crate::{
    domain::{team_address::AddressError, text::clean},
    process::causes::causes,
};

/// The server, where an error doesn't know its address.
const SOME_SERVER: &str = "the team's database server";

/// A failure of the team's store.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the names of the fields say what they hold")]
pub enum TeamError {
    /// The address is invalid, or holds a password.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// The source of the password can't be read.
    #[error("no password for the team's store from {origin}: {reason}")]
    PasswordSource {
        /// The variable, file or command.
        origin: String,
        reason: String,
    },
    /// The server asks for a password and there is none.
    #[error(
        "{server} asks for a password and there is none; set store_password_env, store_password_file or \
         store_password_command in the config file, PGPASSWORD, or a line in ~/.pgpass{note}"
    )]
    PasswordMissing {
        server: String,
        /// What was ignored, as an addition to the sentence; may be empty.
        note: String,
    },
    /// The server refuses the connection.
    #[error("{0} refuses the connection; check that PostgreSQL runs there, and the port")]
    Refused(String),
    /// The server's name has no address.
    #[error("{0} can't be resolved; check the host in the store's URL, and the network")]
    Unresolvable(String),
    /// The server doesn't answer.
    #[error("{0} does not answer in time; check the network, its firewall, and that the server is not overloaded")]
    TimedOut(String),
    /// The server can't be reached for another reason.
    #[error("{server} can't be reached: {reason}; check the network")]
    Unreachable { server: String, reason: String },
    /// The connection was open and ended.
    #[error("the connection to {server} was lost: {reason}")]
    ConnectionLost { server: String, reason: String },
    /// The server has no database of this name.
    #[error("{0}; check the database's name in the store's URL, or let the server's administrator create it")]
    NoDatabase(String),
    /// The server refuses this role, or its password.
    #[error("the team's database refuses the login: {0}; check the role in the store's URL and its password")]
    Login(String),
    /// The role may not do this.
    #[error(
        "the team's database refuses: {0}; ask the owner of the team's store to grant your role hoptop_viewer to read, hoptop_member to change, or hoptop_poller to poll"
    )]
    Permission(String),
    /// The role may not create the team's store.
    #[error(
        "the team's store can't be created: {0}; use a role that owns the database and may create roles (CREATEROLE)"
    )]
    MayNotCreate(String),
    /// TLS is required and the server has none.
    #[error(
        "{0} has no TLS, and hoptop sends nothing unencrypted over a network unasked; turn on `ssl` on the server, or \
         add ?sslmode=disable to the store's URL if you trust the network"
    )]
    NoTls(String),
    /// The file of certificate authorities can't be used.
    #[error("the certificate authorities of the team's store can't be read: {0}; check sslrootcert in the store's URL")]
    RootCertificate(String),
    /// The certificate is expired, or signed by an unknown authority.
    #[error(
        "the certificate of {server} is not trusted: {reason}; give its authority as ?sslrootcert=FILE in the store's URL"
    )]
    UntrustedCertificate { server: String, reason: String },
    /// The certificate belongs to another host.
    #[error(
        "the certificate of {server} is for another host: {reason}; use a name from the certificate in the store's URL"
    )]
    WrongHost { server: String, reason: String },
    /// TLS fails for another reason.
    #[error("the TLS connection to {server} failed: {reason}")]
    Tls { server: String, reason: String },
    /// The database has no tables of hoptop.
    #[error(
        "the database is not a team's store yet; its owner must run `hoptop store init` once, or restore the database if it was one"
    )]
    NotInitialised,
    /// Other members write a format that this hoptop doesn't know.
    #[error(
        "update hoptop on this machine: the team's store has format {team} and this hoptop knows formats up to {own}"
    )]
    HoptopTooOld {
        /// The format of the team's store.
        team: i32,
        /// The newest format of this program.
        own: i32,
    },
    /// The team's store is too old for this hoptop.
    #[error(
        "the team's store has format {team} and this hoptop needs {needed} or newer; its owner must run \
         `hoptop store init` with this version to upgrade it"
    )]
    HoptopTooNew {
        /// The format of the team's store.
        team: i32,
        /// The oldest format that this program can use.
        needed: i32,
    },
    /// The team's store takes nothing more from a hoptop as old as this one.
    #[error("update hoptop on this machine: the team's store no longer takes what this version writes")]
    FormatRetired,
    /// The lease of the ID is another machine's by now.
    #[error("another machine of the team polls for this integrator ID")]
    Fenced,
    /// The server didn't answer a request in time.
    #[error("the team's database does not answer in time; check the network, and that the server is not overloaded")]
    NoAnswer,
    /// A snapshot can't be made or loaded.
    #[error("a snapshot of the team's store failed: {0}")]
    Snapshot(String),
    /// The log begins after this machine's position, and a newer hoptop made the only snapshot.
    #[error(
        "the team's log begins with a snapshot that hoptop {version} made, which this version can't read; update hoptop on \
         this machine to {version} or newer"
    )]
    SnapshotTooNew {
        /// The version that made the snapshot.
        version: String,
    },
    /// The server's disk is full.
    #[error("the disk of the team's database is full: {0}; its administrator must free space")]
    DiskFull(String),
    /// The server accepts no writes.
    #[error("the team's database is read-only: {0}; it may be a standby, so use a host name that follows the primary")]
    ReadOnly(String),
    /// The server, the database or the role has no connection left.
    #[error("the team's database accepts no more connections: {0}; close other clients, or raise the limit")]
    TooManyConnections(String),
    /// The server starts, stops or recovers.
    #[error("the team's database is not available: {0}; it usually is again in a moment")]
    Unavailable(String),
    /// Another error of the database.
    #[error("the team's database reports: {message} (SQLSTATE {sqlstate})")]
    Database {
        /// The server's message.
        message: String,
        sqlstate: String,
    },
    /// The server and hoptop don't understand each other.
    #[error("the answer of {server} can't be used: {reason}; check that PostgreSQL 13 or newer answers there")]
    Protocol { server: String, reason: String },
}

impl TeamError {
    /// The role may not poll.
    pub(crate) fn not_a_poller() -> Self {
        Self::Permission("the role isn't a member of hoptop_poller".into())
    }

    /// Describes an error of a connection to `server`, which messages name.
    pub(super) fn from_postgres_error(server: &str, error: &tokio_postgres::Error) -> Self {
        if let Some(error) = error.as_db_error() {
            return Self::from_db_error(error);
        }
        let (server, causes) = (server.to_owned(), causes(error));
        if let Some(error) = causes.iter().find_map(|cause| cause.downcast_ref::<rustls::Error>()) {
            return Self::from_tls_error(server, error);
        }
        if let Some(error) = causes.iter().find_map(|cause| cause.downcast_ref::<io::Error>()) {
            return Self::from_io_error(server, error);
        }
        if error.is_closed() {
            return Self::ConnectionLost { server, reason: "the server closed it".into() };
        }
        let reason = causes.last().map_or_else(|| error.to_string(), ToString::to_string);
        // These causes have no type of their own.
        match reason.as_str() {
            "server does not support TLS" => Self::NoTls(server),
            "password missing" => Self::PasswordMissing { server, note: String::new() },
            "server did not use channel binding" | "unsupported authentication method" => {
                Self::Login(format!("the {reason}").replace("the unsupported", "it wants an unsupported"))
            }
            _ => Self::Protocol { server, reason: clean(&reason) },
        }
    }

    /// Whether a retry can succeed without a change of settings, roles or certificates.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Refused(_) | Self::Unresolvable(_) | Self::TimedOut(_) => true,
            Self::Unreachable { .. } | Self::ConnectionLost { .. } | Self::Unavailable(_) => true,
            Self::DiskFull(_) | Self::ReadOnly(_) | Self::TooManyConnections(_) | Self::NoAnswer => true,
            // The next try may load another one.
            Self::Snapshot(_) => true,
            // Connection, rolled back transaction, resources, lock not available, cancelled.
            Self::Database { sqlstate, .. } => {
                ["08", "40", "53"].iter().any(|class| sqlstate.starts_with(class))
                    || ["55P03", "57014"].contains(&sqlstate.as_str())
            }
            Self::Address(_) | Self::PasswordSource { .. } | Self::PasswordMissing { .. } => false,
            Self::NoDatabase(_) | Self::Login(_) | Self::NotInitialised => false,
            Self::Permission(_) | Self::MayNotCreate(_) => false,
            Self::NoTls(_) | Self::RootCertificate(_) | Self::UntrustedCertificate { .. } => false,
            Self::WrongHost { .. } | Self::Tls { .. } | Self::Protocol { .. } => false,
            Self::HoptopTooOld { .. } | Self::HoptopTooNew { .. } | Self::FormatRetired | Self::Fenced => false,
            Self::SnapshotTooNew { .. } => false,
        }
    }

    /// Returns whether the server says that the statement had no effect. After other failures it may have been
    /// committed.
    pub(super) fn has_rolled_back(&self) -> bool {
        matches!(self, Self::DiskFull(_) | Self::ReadOnly(_))
    }

    /// Returns the error of an open connection that ended.
    pub(super) fn connection_lost(reason: &str) -> Self {
        Self::ConnectionLost { server: SOME_SERVER.to_owned(), reason: reason.to_owned() }
    }

    fn from_db_error(error: &DbError) -> Self {
        let message = clean(error.message());
        match error.code().code() {
            "3D000" | "57P04" => Self::NoDatabase(message),
            "28P01" | "28000" => Self::Login(message),
            "42501" => Self::Permission(message),
            "3F000" | "42P01" | "42883" => Self::NotInitialised,
            "HT001" => Self::Fenced,
            "HT003" => Self::FormatRetired,
            "53100" => Self::DiskFull(message),
            "25006" => Self::ReadOnly(message),
            "53300" => Self::TooManyConnections(message),
            "55000" | "57P01" | "57P02" | "57P03" | "57P05" => Self::Unavailable(message),
            sqlstate => Self::Database { message, sqlstate: clean(sqlstate) },
        }
    }

    fn from_tls_error(server: String, error: &rustls::Error) -> Self {
        let reason = clean(&error.to_string());
        match error {
            rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            ) => Self::WrongHost { server, reason },
            rustls::Error::InvalidCertificate(_) => Self::UntrustedCertificate { server, reason },
            _ => Self::Tls { server, reason },
        }
    }

    fn from_io_error(server: String, error: &io::Error) -> Self {
        let reason = clean(&error.to_string());
        // Neither the standard library nor the client has a kind for these.
        if ["failed to lookup address", "could not resolve any addresses"].iter().any(|part| reason.contains(part)) {
            return Self::Unresolvable(server);
        }
        match error.kind() {
            // The file of a socket is missing while no server runs.
            io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound => Self::Refused(server),
            io::ErrorKind::TimedOut => Self::TimedOut(server),
            io::ErrorKind::UnexpectedEof
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe => Self::ConnectionLost { server, reason },
            _ => Self::Unreachable { server, reason },
        }
    }
}

impl From<tokio_postgres::Error> for TeamError {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::from_postgres_error(SOME_SERVER, &error)
    }
}
