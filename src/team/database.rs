//! The functions of the team's database, as typed calls on one connection.
//!
//! This is the only file with SQL for PostgreSQL, except for the schema. It must never look inside an operation.

use std::{future::Future, time::Duration};

use chrono::{DateTime, Utc};
use tokio::{sync::mpsc, time};
use tokio_postgres::{
    AsyncMessage, Client, Row,
    types::{ToSql, Type},
};

use super::{
    connect::Connector,
    error::TeamError,
    lease::{HolderId, LeaseHolder, LeaseReply, LeaseRequest, LeaseRow, ServerStart},
};
use crate::domain::{
    operation::FORMAT,
    team::{LogEntry, LogPosition, Nonce, TeamMember},
};

/// The version of the schema that this hoptop uses.
pub(super) const SCHEMA: i32 = 1;
/// The statements that create the schema and the roles.
const SCHEMA_SQL: &str = include_str!("../../assets/team/schema.sql");
const ROLES_SQL: &str = include_str!("../../assets/team/roles.sql");

/// How long a call may take.
const CALL_LIMIT: Duration = Duration::from_secs(10);
/// How long a notification to oneself may take before notifications count as not arriving.
pub(super) const ECHO_LIMIT: Duration = Duration::from_secs(1);
/// The bytes of the log that are read at a time.
const PAGE_BYTES: i64 = 1 << 20;
/// The channel on which the database names each new entry.
const LOG_CHANNEL: &str = "hoptop_log";
/// The channel on which processes publish which transaction they have open.
const OPEN_CHANNEL: &str = "hoptop_open";
/// The channel on which the database notifies of members that join, leave or start to poll.
const MEMBER_CHANNEL: &str = "hoptop_members";
/// The channel on which the database notifies of a released lease.
const LEASE_CHANNEL: &str = "hoptop_lease";

/// The team's store as a new connection finds it, and the permissions of the role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ConnectionInfo {
    /// Identifies the log.
    pub(crate) team: Nonce,
    /// Goes into the keys of the leases.
    pub(crate) salt: Nonce,
    /// The role that the database verified.
    pub(crate) author: String,
    /// Whether the role may poll.
    pub(crate) may_poll: bool,
    /// Whether the role may append.
    pub(crate) may_append: bool,
    /// Whether the server is a standby.
    pub(crate) in_recovery: bool,
}

/// Where the log begins and ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogBounds {
    /// The newest entry.
    pub(crate) head: LogPosition,
    /// The nonce at the position that was asked for; `None` if the log has no such entry any more, or not yet.
    pub(crate) nonce_at: Option<Nonce>,
    /// The number of the oldest entry; `None` if the log is empty.
    pub(crate) first: Option<u64>,
}

/// A snapshot in the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SnapshotInfo {
    pub(crate) id: Nonce,
    pub(crate) position: LogPosition,
    /// The version of the hoptop that made the snapshot.
    pub(crate) version: String,
    /// The schema of the snapshot's tables.
    pub(crate) schema: i64,
    /// The number of operations in the log up to the snapshot.
    pub(crate) operations: u64,
    pub(crate) at: DateTime<Utc>,
    pub(crate) parts: u32,
    pub(crate) bytes: u64,
}

/// The epoch of the lease under which a poller appends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fence {
    /// The keyed hash of the base URL and the ID.
    pub lease_key: String,
    /// The holder.
    pub holder: HolderId,
    /// The epoch.
    pub epoch: u64,
}

/// The member record of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberPresence {
    /// Identifies the process.
    pub id: Nonce,
    /// The name that the person set.
    pub person_name: Option<String>,
    /// The machine.
    pub host: String,
    /// The profiles for which the process may poll.
    pub polls: Vec<String>,
    /// The order in which machines take a lease: lower first.
    pub rank: u8,
}

/// A notification from the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DatabaseNotification {
    /// The log has an entry with this number.
    Entry(u64),
    /// A member joined, left or started to poll.
    Members,
    /// The lease of an ID was released.
    Released,
    /// A process has a transaction open: the text that it gave to [`TeamDatabase::publish_open_transaction`].
    Open(String),
    /// The reply to [`TeamDatabase::notify_self`].
    Echo,
}

/// The server's settings for keeping writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServerFacts {
    /// `synchronous_commit`.
    pub(crate) synchronous_commit: String,
    /// Whether a standby confirms each commit.
    pub(crate) has_synchronous_standby: bool,
    /// The number of standbys that are connected.
    pub(crate) standbys: u64,
    /// The version of the server.
    pub(crate) version: String,
}

/// A connection to the team's database.
pub(crate) struct TeamDatabase {
    client: Client,
    /// Closed when the connection ends.
    notifications: mpsc::UnboundedReceiver<DatabaseNotification>,
    /// The channel on which this process notifies itself.
    own_channel: String,
}

impl TeamDatabase {
    /// Connects, on a tokio runtime.
    ///
    /// # Errors
    /// If the server can't be reached or refuses the connection.
    pub(crate) async fn connect(connector: &Connector) -> Result<Self, TeamError> {
        let (client, mut connection) = connector.connect().await?;
        let own_channel = format!("hoptop_{:032x}", rand::random::<u128>());
        let (sender, notifications) = mpsc::unbounded_channel();
        let echo = own_channel.clone();
        // Ends with the connection, when the client is dropped or the server is gone.
        tokio::spawn(async move {
            while let Some(Ok(message)) = std::future::poll_fn(|context| connection.poll_message(context)).await {
                let AsyncMessage::Notification(notification) = message else { continue };
                let payload = notification.payload();
                let received = match notification.channel() {
                    LOG_CHANNEL => payload.parse().ok().map(DatabaseNotification::Entry),
                    LEASE_CHANNEL => Some(DatabaseNotification::Released),
                    MEMBER_CHANNEL => Some(DatabaseNotification::Members),
                    OPEN_CHANNEL => Some(DatabaseNotification::Open(payload.to_owned())),
                    own => (own == echo).then_some(DatabaseNotification::Echo),
                };
                if received.is_some_and(|received| sender.send(received).is_err()) {
                    break;
                }
            }
        });
        Ok(Self { client, notifications, own_channel })
    }

    /// Creates the schema and the roles.
    ///
    /// # Errors
    /// If they exist, or the role may not create them.
    pub(crate) async fn create_schema(&mut self) -> Result<(), TeamError> {
        let created = async {
            let transaction = self.client.transaction().await?;
            transaction.batch_execute(SCHEMA_SQL).await?;
            transaction.batch_execute(ROLES_SQL).await?;
            Ok(transaction.commit().await?)
        };
        created.await.map_err(|error| match error {
            TeamError::Permission(reason) => TeamError::MayNotCreate(reason),
            error => error,
        })
    }

    /// Reads the permissions of this process, and checks that hoptop knows the schema and the format.
    ///
    /// # Errors
    /// If the database isn't initialised, or is of another version.
    pub(crate) async fn connection_info(&self) -> Result<ConnectionInfo, TeamError> {
        let row = self.query_one("SELECT team::text, salt::text, schema, format, oldest_writer, author, polls, appends, in_recovery FROM hoptop.connection_info()", &[]).await?;
        let (schema, format, oldest): (i32, i32, i32) = (row.get(2), row.get(3), row.get(4));
        let own = i32::from(FORMAT);
        if schema > SCHEMA || format > own || oldest > own {
            return Err(TeamError::HoptopTooOld { team: format.max(oldest), own });
        }
        if schema < SCHEMA {
            return Err(TeamError::HoptopTooNew { team: schema, needed: SCHEMA });
        }
        Ok(ConnectionInfo {
            team: nonce(&row, 0),
            salt: nonce(&row, 1),
            author: row.get(5),
            may_poll: row.get(6),
            may_append: row.get(7),
            in_recovery: row.get(8),
        })
    }

    /// Subscribes to the notifications of the database.
    pub(crate) async fn listen(&self) -> Result<(), TeamError> {
        let sql = format!(
            "LISTEN {LOG_CHANNEL}; LISTEN {OPEN_CHANNEL}; LISTEN {MEMBER_CHANNEL}; LISTEN {}",
            self.own_channel
        );
        with_time_limit(async { Ok(self.client.batch_execute(&sql).await?) }).await
    }

    /// Subscribes to released leases.
    pub(crate) async fn listen_for_releases(&self) -> Result<(), TeamError> {
        with_time_limit(async { Ok(self.client.batch_execute(&format!("LISTEN {LEASE_CHANNEL}")).await?) }).await
    }

    /// Notifies this process, to find out whether notifications arrive: they don't behind a pooler in transaction mode.
    pub(crate) async fn notify_self(&self) -> Result<(), TeamError> {
        self.execute("SELECT pg_notify($1, '')", &[(&self.own_channel, Type::TEXT)]).await
    }

    /// Publishes which transaction this process has open.
    pub(crate) async fn publish_open_transaction(&self, notification: &str) -> Result<(), TeamError> {
        self.execute("SELECT pg_notify($1, $2)", &[(&OPEN_CHANNEL, Type::TEXT), (&notification, Type::TEXT)]).await
    }

    /// Makes every process read the members and publish its open transaction again, within about half a second.
    pub(crate) async fn request_open_transactions(&self) -> Result<(), TeamError> {
        self.execute("SELECT pg_notify($1, '')", &[(&MEMBER_CHANNEL, Type::TEXT)]).await
    }

    /// Waits for the next notification; `None` when the connection has ended.
    pub(crate) async fn next_notification(&mut self) -> Option<DatabaseNotification> {
        self.notifications.recv().await
    }

    /// Reads where the log begins and ends, and the nonce at a position.
    pub(crate) async fn log_bounds(&self, seq: u64) -> Result<LogBounds, TeamError> {
        let sql = "SELECT seq, nonce::text, nonce_at::text, first FROM hoptop.position($1)";
        let row = self.query_one(sql, &[(&signed(seq), Type::INT8)]).await?;
        Ok(LogBounds {
            head: LogPosition { seq: unsigned(&row, 0), nonce: nonce(&row, 1) },
            nonce_at: row.get::<_, Option<&str>>(2).and_then(Nonce::parse),
            first: row.get::<_, Option<i64>>(3).map(i64::unsigned_abs),
        })
    }

    /// Reads some of the entries after `seq`, in order.
    pub(crate) async fn read_entries(&self, seq: u64) -> Result<Vec<LogEntry>, TeamError> {
        self.read_page(seq, PAGE_BYTES).await
    }

    /// Reads the first entry after `seq`; `None` if there is none.
    pub(crate) async fn read_entry(&self, seq: u64) -> Result<Option<LogEntry>, TeamError> {
        Ok(self.read_page(seq, 0).await?.into_iter().next())
    }

    async fn read_page(&self, seq: u64, bytes: i64) -> Result<Vec<LogEntry>, TeamError> {
        let sql = "SELECT seq, nonce::text, author, operations FROM hoptop.read($1, $2)";
        let rows = self.query_all(sql, &[(&signed(seq), Type::INT8), (&bytes, Type::INT8)]).await?;
        let entry = |row: &Row| LogEntry {
            position: LogPosition { seq: unsigned(row, 0), nonce: nonce(row, 1) },
            author: Some(row.get(2)),
            payload: row.get(3),
        };
        Ok(rows.iter().map(entry).collect())
    }

    /// Whether the log has an entry with this nonce.
    pub(crate) async fn has_entry(&self, nonce: Nonce) -> Result<bool, TeamError> {
        let sql = "SELECT hoptop.find($1::text::uuid)";
        let row = self.query_one(sql, &[(&nonce.to_string(), Type::TEXT)]).await?;
        Ok(row.get::<_, Option<i64>>(0).is_some())
    }

    /// Appends an entry and returns its number. With the nonce of an entry that is in the log, returns that entry's
    /// number.
    ///
    /// # Errors
    /// [`TeamError::Fenced`] if `fence` no longer has the epoch of the lease.
    pub(crate) async fn append(&self, nonce: Nonce, payload: &[u8], fence: Option<&Fence>) -> Result<u64, TeamError> {
        let sql = "SELECT hoptop.append($1::text::uuid, $2, $3, $4, $5::text::uuid, $6)";
        let row = self
            .query_one(
                sql,
                &[
                    (&nonce.to_string(), Type::TEXT),
                    (&i32::from(FORMAT), Type::INT4),
                    (&payload, Type::BYTEA),
                    (&fence.map(|fence| fence.lease_key.as_str()), Type::TEXT),
                    (&fence.map(|fence| Nonce(fence.holder.0).to_string()), Type::TEXT),
                    (&fence.map(|fence| signed(fence.epoch)), Type::INT8),
                ],
            )
            .await?;
        Ok(unsigned(&row, 0))
    }

    /// Carries out a request of [`super::lease`] for the lease of a budget. Returns the reply, and what the last holder
    /// left for the next one.
    pub(crate) async fn lease(
        &self,
        budget: &str,
        own: HolderId,
        request: LeaseRequest,
        pace: Option<&str>,
    ) -> Result<(LeaseReply, Option<String>), TeamError> {
        let (name, epoch, beat, server) = match request {
            LeaseRequest::Read => ("read", 0, 0, None),
            LeaseRequest::Take { epoch, beat, server } => ("take", epoch, beat, Some(server)),
            LeaseRequest::Beat { epoch } => ("beat", epoch, 0, None),
            LeaseRequest::Release { epoch, server } => ("release", epoch, 0, server),
        };
        let sql = "SELECT is_granted, epoch, holder::text, beat, released_on, pace, server, in_recovery
                   FROM hoptop.lease($1, $2, $3::text::uuid, $4, $5, $6, $7)";
        let row = self
            .query_one(
                sql,
                &[
                    (&name, Type::TEXT),
                    (&budget, Type::TEXT),
                    (&Nonce(own.0).to_string(), Type::TEXT),
                    (&signed(epoch), Type::INT8),
                    (&signed(beat), Type::INT8),
                    (&server.map(|server| server.0), Type::INT8),
                    (&pace, Type::TEXT),
                ],
            )
            .await?;
        let holder = match row.get::<_, Option<&str>>(2).and_then(Nonce::parse) {
            Some(Nonce(holder)) => LeaseHolder::Held(HolderId(holder)),
            None => LeaseHolder::Free(row.get::<_, Option<i64>>(4).map(ServerStart)),
        };
        let reply = LeaseReply {
            is_granted: row.get(0),
            row: LeaseRow { epoch: unsigned(&row, 1), holder, beat: unsigned(&row, 3) },
            server: ServerStart(row.get(6)),
            in_recovery: row.get(7),
        };
        Ok((reply, row.get(5)))
    }

    /// Renews this process's membership, with the position of its replica.
    pub(crate) async fn save_member(&self, presence: &MemberPresence, applied: u64) -> Result<(), TeamError> {
        let sql = "SELECT hoptop.present($1::text::uuid, $2, $3, $4, $5, $6, $7)";
        let given = presence.person_name.as_deref().unwrap_or_default();
        self.execute(
            sql,
            &[
                (&presence.id.to_string(), Type::TEXT),
                (&given, Type::TEXT),
                (&presence.host, Type::TEXT),
                (&env!("CARGO_PKG_VERSION"), Type::TEXT),
                (&presence.polls.join(","), Type::TEXT),
                (&i32::from(presence.rank), Type::INT4),
                (&signed(applied), Type::INT8),
            ],
        )
        .await
    }

    /// Ends this process's membership.
    pub(crate) async fn delete_member(&self, id: Nonce) -> Result<(), TeamError> {
        self.execute("SELECT hoptop.leave($1::text::uuid)", &[(&id.to_string(), Type::TEXT)]).await
    }

    /// Reads the members.
    pub(crate) async fn members(&self) -> Result<Vec<TeamMember>, TeamError> {
        let sql =
            "SELECT id::text, author, host, version, polls, rank, applied, extract(epoch FROM last_seen)::float8, epoch
                   FROM hoptop.members()";
        let member = |row: &Row| TeamMember {
            id: nonce(row, 0),
            author: row.get(1),
            host: row.get(2),
            version: row.get(3),
            polls: row.get::<_, &str>(4).split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect(),
            rank: u8::try_from(row.get::<_, i32>(5)).unwrap_or(u8::MAX),
            applied: unsigned(row, 6),
            last_seen: moment(row.get(7)),
            epoch: row.get::<_, Option<i64>>(8).map(i64::unsigned_abs),
        };
        Ok(self.query_all(sql, &[]).await?.iter().map(member).collect())
    }

    /// Reads the server's settings for keeping writes.
    pub(crate) async fn server_facts(&self) -> Result<ServerFacts, TeamError> {
        let sql = "SELECT current_setting('synchronous_commit'), current_setting('synchronous_standby_names') <> '',
                   (SELECT count(*) FROM pg_stat_replication), current_setting('server_version')";
        let row = self.query_one(sql, &[]).await?;
        Ok(ServerFacts {
            synchronous_commit: row.get(0),
            has_synchronous_standby: row.get(1),
            standbys: unsigned(&row, 2),
            version: row.get(3),
        })
    }

    /// Whether notifications arrive: whether one that this process sends to itself comes back within [`ECHO_LIMIT`]. `other`
    /// begins a transaction meanwhile: a pooler in transaction mode gives it the server's connection that has
    /// subscribed.
    pub(crate) async fn receives_notifications(&mut self, other: &mut Self) -> Result<bool, TeamError> {
        self.listen().await?;
        let _busy = other.client.transaction().await?;
        self.notify_self().await?;
        let echo = async {
            loop {
                match self.next_notification().await {
                    Some(DatabaseNotification::Echo) => return true,
                    Some(_) => {}
                    None => return false,
                }
            }
        };
        Ok(time::timeout(ECHO_LIMIT, echo).await.unwrap_or(false))
    }

    /// Reads the sizes of the tables: the entries of the log, their bytes, and the bytes of the snapshots.
    pub(crate) async fn sizes(&self) -> Result<[u64; 3], TeamError> {
        let row = self.query_one("SELECT entries, log_bytes, snapshot_bytes FROM hoptop.sizes()", &[]).await?;
        Ok([0, 1, 2].map(|column| unsigned(&row, column)))
    }

    /// Reads which snapshots there are, the newest first.
    pub(crate) async fn snapshots(&self) -> Result<Vec<SnapshotInfo>, TeamError> {
        let sql =
            "SELECT id::text, seq, nonce::text, version, schema, operations, extract(epoch FROM at)::float8, parts,
                          bytes FROM hoptop.snapshots()";
        let snapshot = |row: &Row| SnapshotInfo {
            id: nonce(row, 0),
            position: LogPosition { seq: unsigned(row, 1), nonce: nonce(row, 2) },
            version: row.get(3),
            schema: row.get::<_, i32>(4).into(),
            operations: unsigned(row, 5),
            at: moment(row.get(6)),
            parts: row.get::<_, i32>(7).unsigned_abs(),
            bytes: unsigned(row, 8),
        };
        Ok(self.query_all(sql, &[]).await?.iter().map(snapshot).collect())
    }

    /// Reads a part of a snapshot; `None` if it is gone.
    pub(crate) async fn snapshot_part(&self, id: Nonce, part: u32) -> Result<Option<Vec<u8>>, TeamError> {
        let part = i32::try_from(part).unwrap_or(i32::MAX);
        let sql = "SELECT hoptop.snapshot_part($1::text::uuid, $2)";
        Ok(self.query_one(sql, &[(&id.to_string(), Type::TEXT), (&part, Type::INT4)]).await?.get(0))
    }

    /// Writes a part of a snapshot.
    pub(crate) async fn put_snapshot_part(&self, id: Nonce, part: u32, bytes: &[u8]) -> Result<(), TeamError> {
        let part = i32::try_from(part).unwrap_or(i32::MAX);
        let sql = "SELECT hoptop.put_snapshot_part($1::text::uuid, $2, $3)";
        self.execute(sql, &[(&id.to_string(), Type::TEXT), (&part, Type::INT4), (&bytes, Type::BYTEA)]).await
    }

    /// Ends a snapshot whose parts are there; see [`super::snapshot::publish`]. Returns whether it counts: not if the
    /// log has another entry at its position.
    pub(crate) async fn end_snapshot(&self, snapshot: &SnapshotInfo, keeps_previous: bool) -> Result<bool, TeamError> {
        let sql = "SELECT hoptop.end_snapshot($1::text::uuid, $2, $3::text::uuid, $4, $5, $6, $7, $8, $9)";
        let row = self
            .query_one(
                sql,
                &[
                    (&snapshot.id.to_string(), Type::TEXT),
                    (&signed(snapshot.position.seq), Type::INT8),
                    (&snapshot.position.nonce.to_string(), Type::TEXT),
                    (&snapshot.version, Type::TEXT),
                    (&i32::try_from(snapshot.schema).unwrap_or(i32::MAX), Type::INT4),
                    (&signed(snapshot.operations), Type::INT8),
                    (&i32::try_from(snapshot.parts).unwrap_or(i32::MAX), Type::INT4),
                    (&signed(snapshot.bytes), Type::INT8),
                    (&keeps_previous, Type::BOOL),
                ],
            )
            .await?;
        Ok(row.get(0))
    }

    /// Appends the first entries and ends the snapshot at the last one, in one transaction. Returns whether the
    /// snapshot counts.
    pub(crate) async fn create_log(
        &self,
        nonces: [Nonce; 2],
        payload: &[u8],
        snapshot: &SnapshotInfo,
    ) -> Result<bool, TeamError> {
        // An error ends the connection, and with it the transaction.
        self.client.batch_execute("BEGIN").await?;
        for nonce in nonces {
            self.append(nonce, payload, None).await?;
        }
        let counts = self.end_snapshot(snapshot, false).await?;
        self.client.batch_execute(if counts { "COMMIT" } else { "ROLLBACK" }).await?;
        Ok(counts)
    }

    async fn execute(&self, sql: &str, values: &[(&(dyn ToSql + Sync), Type)]) -> Result<(), TeamError> {
        self.query_one(sql, values).await.map(drop)
    }

    async fn query_one(&self, sql: &str, values: &[(&(dyn ToSql + Sync), Type)]) -> Result<Row, TeamError> {
        self.query_all(sql, values).await?.pop().ok_or(TeamError::NotInitialised)
    }

    /// Runs a statement without preparing it, so that poolers in transaction mode can pass it on.
    async fn query_all(&self, sql: &str, values: &[(&(dyn ToSql + Sync), Type)]) -> Result<Vec<Row>, TeamError> {
        with_time_limit(async { Ok(self.client.query_typed(sql, values).await?) }).await
    }
}

async fn with_time_limit<T>(call: impl Future<Output = Result<T, TeamError>>) -> Result<T, TeamError> {
    time::timeout(CALL_LIMIT, call).await.unwrap_or(Err(TeamError::NoAnswer))
}

fn nonce(row: &Row, column: usize) -> Nonce {
    Nonce::parse(row.get(column)).unwrap_or_default()
}

fn unsigned(row: &Row, column: usize) -> u64 {
    row.get::<_, i64>(column).unsigned_abs()
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn moment(seconds: f64) -> DateTime<Utc> {
    #[expect(clippy::cast_possible_truncation, reason = "the database's times are far from the ends of the range")]
    let micros = (seconds * 1e6) as i64;
    DateTime::from_timestamp_micros(micros).unwrap_or_default()
}
