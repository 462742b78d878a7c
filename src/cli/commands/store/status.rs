//! `hoptop store status`: who is connected to the team's store, who polls, and how large it is.

use std::io::{self, Write};

use chrono::{DateTime, Utc};
use clap::Args;
use color_eyre::eyre::Result;
use serde::Serialize;

use crate::{
    cli::{commands::backup::size, output::schema::Schema},
    clock::Clock,
    domain::{span, team::TeamMember, text},
    runtime::{exit::Exit, team_store::TeamAccess, tokio_runtime},
    team::TeamDatabase,
};

/// The arguments of `hoptop store status`.
#[derive(Args, Debug)]
pub(super) struct StatusArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The state of a team's store.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct StoreStatus {
    schema: Schema,
    store: String,
    /// The role of this connection, as the database verified it.
    role: String,
    may_append: bool,
    may_poll: bool,
    is_standby: bool,
    /// In seconds.
    latency: f64,
    /// The number of the newest entry.
    head: u64,
    entries: u64,
    log_bytes: u64,
    snapshot_bytes: u64,
    last_snapshot: Option<LastSnapshot>,
    members: Vec<MemberStatus>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LastSnapshot {
    seq: u64,
    #[serde(serialize_with = "span::serialize_rfc3339")]
    at: DateTime<Utc>,
    bytes: u64,
    version: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct MemberStatus {
    #[serde(flatten)]
    member: TeamMember,
    /// Whether the process holds the lease of an integrator ID.
    is_polling: bool,
}

/// Prints the state of the team's store.
pub(super) fn status(args: &StatusArgs, access: &TeamAccess) -> Result<Exit> {
    let status = tokio_runtime::start()?.block_on(read(access))?;
    let mut out = io::stdout().lock();
    match args.json {
        true => writeln!(out, "{}", serde_json::to_string(&status)?)?,
        false => print(&status, Clock::system().now().wall, &mut out)?,
    }
    Ok(Exit::Success)
}

async fn read(access: &TeamAccess) -> Result<StoreStatus> {
    let database = TeamDatabase::connect(&access.connector).await?;
    let info = database.connection_info().await?;
    let clock = Clock::system();
    let begun = clock.now().mono;
    let head = database.log_bounds(0).await?.head.seq;
    let latency = (clock.now().mono.since(begun).as_secs_f64() * 10_000.0).round() / 10_000.0;
    let [entries, log_bytes, snapshot_bytes] = database.sizes().await?;
    let newest = database.snapshots().await?.into_iter().next();
    let members =
        database.members().await?.into_iter().map(|member| MemberStatus { is_polling: member.epoch.is_some(), member });
    Ok(StoreStatus {
        schema: Schema::StoreStatus,
        store: access.connector.address().to_string(),
        role: info.author,
        may_append: info.may_append,
        may_poll: info.may_poll,
        is_standby: info.in_recovery,
        latency,
        head,
        entries,
        log_bytes,
        snapshot_bytes,
        last_snapshot: newest.map(|snapshot| LastSnapshot {
            seq: snapshot.position.seq,
            at: snapshot.at,
            bytes: snapshot.bytes,
            version: snapshot.version,
        }),
        members: members.collect(),
    })
}

fn print(status: &StoreStatus, now: DateTime<Utc>, out: &mut impl Write) -> Result<()> {
    let may = match (status.may_append, status.may_poll) {
        (_, true) => "may write and poll",
        (true, false) => "may write",
        (false, false) => "may read",
    };
    let standby = if status.is_standby { "; the server is a standby, so nothing can be written" } else { "" };
    writeln!(out, "store      {} as {} ({may}){standby}", status.store, text::clean(&status.role))?;
    writeln!(out, "latency    {:.1} ms", status.latency * 1_000.0)?;
    writeln!(out, "log        {} entries, {}, the newest is {}", status.entries, size(status.log_bytes), status.head)?;
    match &status.last_snapshot {
        None => writeln!(out, "snapshot   none yet")?,
        Some(last) => writeln!(
            out,
            "snapshot   at entry {}, {} ago, {}, by version {}",
            last.seq,
            span::nearest(span::between(last.at, now)),
            size(last.bytes),
            text::clean(&last.version)
        )?,
    }
    let online = status.members.iter().filter(|row| row.member.polls.is_empty()).count();
    writeln!(out, "online     {online}")?;
    for MemberStatus { member, is_polling } in &status.members {
        let role = match (is_polling, member.polls.is_empty()) {
            (true, _) => format!("polls {}", text::clean(&member.polls.join(", "))),
            (false, false) => format!("ready to poll {}", text::clean(&member.polls.join(", "))),
            (false, true) => "connected".to_owned(),
        };
        writeln!(
            out,
            "  {} on {}  {role}; at entry {} when seen {} ago; version {}",
            text::clean(&member.author),
            text::clean(&member.host),
            member.applied,
            span::nearest(span::between(member.last_seen, now)),
            text::clean(&member.version)
        )?;
    }
    Ok(())
}
