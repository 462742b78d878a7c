//! A team's store, as a replica and the screens know it: a position in the log, and the connected members.
//!
//! Plain data. It must never know how the log is stored or reached.

use std::{collections::BTreeMap, fmt};

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::{ids::TransactionKey, people::VIA, span};

/// A random number that identifies an entry of the log, or a member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Nonce(pub u128);

impl Nonce {
    /// Reads the form that [`Nonce`] displays; `None` for another text.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        u128::from_str_radix(&text.replace('-', ""), 16).ok().map(Self)
    }
}

impl fmt::Display for Nonce {
    /// Writes the number as a UUID.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hex = format!("{:032x}", self.0);
        let (a, b, c, d, e) = (&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]);
        write!(out, "{a}-{b}-{c}-{d}-{e}")
    }
}

/// A place in the log: after the entry `seq`, which has this nonce. 0 is the place before the first entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogPosition {
    /// The number of the entry. The numbers have no gaps.
    pub seq: u64,
    /// The nonce of the entry. Another nonce under the same number means that the database lost entries.
    pub nonce: Nonce,
}

/// An entry of the log as a replica applies it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LogEntry {
    /// The entry's place in the log.
    pub position: LogPosition,
    /// The name that the database verified; `None` if it knows none.
    pub author: Option<String>,
    /// The operations, encoded.
    pub payload: Vec<u8>,
}

/// The entries that a log lost, from the view of one machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LogLoss {
    /// The entries of this machine that are no longer in the log.
    pub(crate) entries: Vec<Nonce>,
    /// A notice for a person: the lost entries, and the file that has them.
    pub(crate) notice: String,
    /// Whether an entry of this machine is lost and not appended again yet.
    pub(crate) is_open: bool,
}

/// Whether the service has answered every request of a poller that was stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Drain {
    /// A request may still arrive at the service. The next holder of the lease waits as if this machine had died.
    Incomplete,
    /// No request is under way.
    Complete,
}

/// Returns the author of an operation: the name that the database verified, and the person's own name if several people
/// share a role.
pub(crate) fn author(verified: Option<&str>, given: Option<&str>) -> Option<String> {
    match (verified, given) {
        (Some(verified), Some(given)) if verified != given => Some(format!("{given}{VIA}{verified}")),
        (verified, given) => verified.or(given).map(str::to_owned),
    }
}

/// The notice that no machine polls with an integrator ID, with the remedy.
pub(crate) const NOBODY_POLLS: &str = "no machine of the team polls with this integrator ID; start hoptop on a machine \
     whose role has hoptop_poller (`hoptop store status` shows who is connected)";

/// The state of a team's store on this machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TeamStatus {
    /// Whether this machine follows the log.
    pub link: TeamLink,
    /// The number of the last applied entry.
    pub applied: u64,
    /// The number of the newest entry that the database named.
    pub head: u64,
    /// When the newest entry was seen that isn't applied yet; `None` if all are applied.
    pub behind_since: Option<DateTime<Utc>>,
    /// Goes into the keys of the leases; `None` before the first connection.
    pub salt: Option<Nonce>,
    /// The name under which this machine appends; `None` before the first connection.
    pub author: Option<String>,
    /// The name of this machine.
    pub host: String,
    /// The processes that are connected, this one included.
    pub members: Vec<TeamMember>,
    /// The open transactions of the other processes.
    pub open: BTreeMap<Nonce, TransactionKey>,
    /// The process that holds a lease; `None` if nobody polls.
    pub poller: Option<TeamMember>,
    /// A notice about entries that the database lost; `None` if it lost none.
    pub loss: Option<String>,
    /// The entries that this process has appended to the log since it started.
    pub appended: u64,
}

impl TeamStatus {
    /// Returns the people who have this transaction open, without this process.
    pub(crate) fn people_viewing(&self, transaction: &TransactionKey) -> impl Iterator<Item = &str> {
        let is_open = |member: &&TeamMember| self.open.get(&member.id) == Some(transaction);
        self.members.iter().filter(is_open).map(|member| member.author.as_str())
    }

    /// Whether the team is known, and none of its machines polls for a profile.
    pub(crate) fn is_unpolled(&self, profile: &str) -> bool {
        let polls = |member: &TeamMember| member.epoch.is_some() && member.polls.iter().any(|name| name == profile);
        self.link == TeamLink::Live && !self.members.is_empty() && !self.members.iter().any(polls)
    }

    /// Returns how many people's processes are connected, without those that only poll.
    pub(crate) fn online_count(&self) -> usize {
        self.members.iter().filter(|member| member.polls.is_empty()).count()
    }
}

/// Whether a machine follows the log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum TeamLink {
    /// The first connection is being made.
    #[default]
    Connecting,
    /// Older entries are being applied.
    CatchingUp,
    /// New entries are applied as they come.
    Live,
    /// The database can't be reached, for this reason. It is tried again.
    Away {
        /// Why, as a sentence.
        reason: String,
        /// The start of the outage.
        since: DateTime<Utc>,
    },
    /// The database can't be used until a person does something.
    Refused {
        /// Why, as a sentence that says what to do.
        reason: String,
    },
}

/// A process that is connected to the team's store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TeamMember {
    /// The process.
    #[serde(skip)]
    pub id: Nonce,
    /// Whose process it is.
    pub author: String,
    /// The machine.
    pub host: String,
    pub version: String,
    /// The profiles for which this process may poll.
    pub polls: Vec<String>,
    /// The order in which machines take a lease: lower first.
    pub rank: u8,
    /// The number of the last entry that the process had applied when it was last seen.
    pub applied: u64,
    /// The epoch of the lease that the process holds; `None` if it doesn't poll.
    pub epoch: Option<u64>,
    /// When the process was last seen, by the database's clock.
    #[serde(serialize_with = "span::serialize_rfc3339")]
    pub last_seen: DateTime<Utc>,
}

#[cfg(test)]
pub(crate) mod fixtures {
    use super::*;

    /// Returns a process of a person, which may poll for these profiles and does so in an epoch.
    pub(crate) fn member(number: u128, author: &str, polls: &[&str], epoch: Option<u64>) -> TeamMember {
        TeamMember {
            id: Nonce(number),
            author: author.to_owned(),
            host: format!("{author}-laptop"),
            version: "1".to_owned(),
            polls: polls.iter().map(|&profile| profile.to_owned()).collect(),
            rank: 5,
            applied: 40,
            epoch,
            last_seen: DateTime::UNIX_EPOCH,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nonce_is_read_as_it_is_written() {
        for number in [0, 1, u128::MAX, 0x0123_4567_89ab_cdef_0123_4567_89ab_cdef] {
            assert_eq!(Nonce::parse(&Nonce(number).to_string()), Some(Nonce(number)));
        }
        assert_eq!(Nonce(1).to_string(), "00000000-0000-0000-0000-000000000001");
        assert_eq!(Nonce::parse("no"), None);
    }
}
