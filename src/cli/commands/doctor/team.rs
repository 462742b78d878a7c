//! The checks of `hoptop doctor` on a team's store: connection, rights, durability of the server, and this machine's
//! replica.
//!
//! This module must never write to the team's store.

use color_eyre::eyre::{Result, WrapErr, bail, eyre};

use super::finding::Diagnosis;
use crate::{
    cli::context::Context,
    clock::Clock,
    domain::{
        team_address::{Host, TeamAddress, TlsMode},
        text,
    },
    runtime::{
        exit::Exit,
        team_store::{self, TeamAccess},
        tokio_runtime,
    },
    store::{LEFT_OUT, Reader, TableChecksum},
    team::{ServerFacts, TeamDatabase, TeamError},
};

/// The number of round trips whose median is shown.
const ROUND_TRIPS: usize = 5;

/// Checks the team's store. Without a connection, returns the reason alone.
pub(super) fn checks(team: &TeamAccess, reader: &Reader) -> Result<Vec<(&'static str, Diagnosis)>> {
    let checked = tokio_runtime::start()?.block_on(check(team, reader));
    Ok(checked.unwrap_or_else(|error| vec![("team", Diagnosis::Error(error.to_string()))]))
}

async fn check(team: &TeamAccess, reader: &Reader) -> Result<Vec<(&'static str, Diagnosis)>, TeamError> {
    let mut database = TeamDatabase::connect(&team.connector).await?;
    let info = database.connection_info().await?;
    let clock = Clock::system();
    let (mut round_trips, mut head) = (Vec::new(), 0);
    for _ in 0..ROUND_TRIPS {
        let begun = clock.now().mono;
        head = database.log_bounds(0).await?.head.seq;
        round_trips.push(clock.now().mono.since(begun));
    }
    round_trips.sort();
    let latency = round_trips.get(ROUND_TRIPS / 2).map_or(0.0, |middle| middle.as_secs_f64() * 1_000.0);
    let facts = database.server_facts().await?;
    let rights = match (info.may_append, info.may_poll) {
        (_, true) => "may read, write and poll",
        (true, false) => "may read and write, not poll",
        (false, false) => "may only read",
    };
    let address = team.connector.address();
    let (author, version) = (&info.author, &facts.version);
    let team_line = format!("{address} as {author}, {rights}; PostgreSQL {version}, round trip {latency:.1} ms");
    let members = database.members().await?;
    let other_versions: Vec<&str> = members
        .iter()
        .map(|member| member.version.as_str())
        .filter(|version| *version != env!("CARGO_PKG_VERSION"))
        .collect();
    let versions = match other_versions.as_slice() {
        [] => Diagnosis::Ok(format!("the team's processes ({}) all have this version", members.len())),
        others => Diagnosis::Warning(format!(
            "another version in {} of the team's {} processes: {}",
            others.len(),
            members.len(),
            others.join(", ")
        )),
    };
    let replica = match reader.replica_position(info.team) {
        Err(error) => Diagnosis::Error(error.to_string()),
        Ok(position) => match head.saturating_sub(position.seq) {
            0 if matches!(reader.replica(), Ok(Some(replica)) if replica.lacks_bodies) => Diagnosis::Ok(format!(
                "has everything but the bodies of answers, through entry {head}; it is light, so this machine makes no snapshots"
            )),
            0 => Diagnosis::Ok(format!("has everything, through entry {head}")),
            behind => {
                Diagnosis::Warning(format!("lacks {behind} of {head} entries; a running hoptop catches up by itself"))
            }
        },
    };
    let mut findings = vec![
        ("team", Diagnosis::Ok(team_line)),
        ("tls", check_tls(address)),
        ("commits", check_durability(info.in_recovery, &facts)),
        ("versions", versions),
        ("replica", replica),
    ];
    // A standby sends no notifications.
    if !info.in_recovery {
        let mut other = TeamDatabase::connect(&team.connector).await?;
        let notices = match database.receives_notifications(&mut other).await? {
            true => Diagnosis::Ok("arrive: new entries are seen at once".into()),
            false => Diagnosis::Warning(
                "don't arrive (a connection pooler in transaction mode drops them): new entries are seen within 1 s, and what others have open isn't shown".into(),
            ),
        };
        findings.push(("notices", notices));
    }
    Ok(findings)
}

/// Says whether this machine's connection is encrypted; behind a pooler the server can't know.
fn check_tls(address: &TeamAddress) -> Diagnosis {
    match (address.tls, &address.host) {
        (TlsMode::VerifyFull, _) => Diagnosis::Ok("on; the server's certificate and name are verified".into()),
        (TlsMode::Off, Host::Socket(_)) => Diagnosis::Ok("off, through a socket of this machine".into()),
        (TlsMode::Off, Host::Tcp(_)) if address.host.is_on_this_machine() => {
            Diagnosis::Ok("off, within this machine".into())
        }
        (TlsMode::Off, Host::Tcp(_)) => {
            Diagnosis::Warning("off: the network between can read and change everything".into())
        }
    }
}

/// Checks whether the server may lose confirmed entries.
fn check_durability(in_recovery: bool, facts: &ServerFacts) -> Diagnosis {
    if in_recovery {
        return Diagnosis::Error("the server is a standby, so nothing can be written; name the primary".into());
    }
    match (facts.synchronous_commit.as_str(), facts.standbys, facts.has_synchronous_standby) {
        ("local", _, true) => Diagnosis::Warning(
            "synchronous_commit is `local` for this role: the standby doesn't confirm what hoptop writes, and a failover may lose it"
                .into(),
        ),
        ("off", ..) => Diagnosis::Warning(
            "synchronous_commit is off for this role; hoptop turns it on for what it writes, other programs don't"
                .into(),
        ),
        (_, 0, _) => Diagnosis::Ok("on the server's disk; there is no standby".into()),
        (_, count, true) => Diagnosis::Ok(format!("on a standby too ({count} connected)")),
        (_, count, false) => Diagnosis::Warning(format!(
            "{} connected asynchronously: a failover may lose the newest entries; each machine then goes back to a snapshot and reports what was lost",
            text::counted(count, "standby")
        )),
    }
}

/// The maximum number of attempts to read two replicas that have the same entries.
const VERIFY_ATTEMPTS: usize = 1_000;

/// Compares this machine's replica with a new one, which the team's snapshot and log add up to.
pub(super) fn verify_replica(team: Option<&TeamAccess>, cx: &mut Context<'_>) -> Result<Exit> {
    let access = team.ok_or_else(|| eyre!("this store is no replica; name the team's store with --store"))?;
    let folder = tempfile::Builder::new().prefix("hoptop-").tempdir().wrap_err("no temporary folder")?;
    let other = team_store::open_new_replica(access, &folder.path().join("replica.db"))?;
    let [own, new] = [cx.store.reader()?, other.reader()?];
    for _ in 0..VERIFY_ATTEMPTS {
        // Both copies stay as they are while their tables are read.
        let read = || {
            own.snapshot(|| {
                let position = own.replica()?.map(|replica| replica.position);
                new.snapshot(|| match new.replica()?.map(|replica| replica.position) == position {
                    true => Ok(Some((position.unwrap_or_default(), own.checksums()?, new.checksums()?))),
                    false => Ok(None),
                })
            })
        };
        let Some((position, own, new)) = read()? else {
            // An entry came between the two reads.
            for flush in [cx.store.flush(), other.flush()] {
                flush.wait()?;
            }
            continue;
        };
        // The duration statistics may differ: they depend on the version that applied each entry.
        let is_compared = |own: &TableChecksum| own.digest != LEFT_OUT && own.table != "forecasts";
        let differs = |(own, new): &(TableChecksum, TableChecksum)| own != new && is_compared(own);
        let differing: Vec<_> = own.into_iter().zip(new).filter(differs).map(|(own, _)| own.table).collect();
        if differing.is_empty() {
            writeln!(cx.out, "this machine's copy equals the team's store through entry {}", position.seq)?;
            return Ok(Exit::Success);
        }
        writeln!(
            cx.out,
            "this machine's copy differs from the team's store in {}; quit hoptop here, delete {} and start again",
            differing.join(", "),
            text::clean_path(cx.store.path())
        )?;
        return Ok(Exit::Error);
    }
    bail!("the team writes faster than two copies can be compared; try again when it is quieter")
}
