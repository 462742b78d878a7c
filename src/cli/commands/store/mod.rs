//! `hoptop store`: sets up the team's store, moves a store into it or out of it, and shows its state.
//!
//! The module must never look inside an operation, and never move a store that others could write to unnoticed.

mod append;
mod initialise;
mod relocate;
mod status;

use clap::{Args, Subcommand};
use color_eyre::eyre::{Result, eyre};

use crate::{
    cli::opening::{StoreUse, with_context},
    config::Settings,
    runtime::{exit::Exit, stderr::print_line, team_store::TeamAccess},
};

/// The text below the options in the help.
pub(crate) const EXAMPLES: &str = "\
Examples:
  # Create the team's store in an empty database
  hoptop --store postgres://db/hoptop store init
  # Copy one machine's transactions into the empty store
  hoptop store move hoptop.db postgres://db/hoptop
  # Copy the team's store to a new SQLite file
  hoptop store move postgres://db/hoptop hoptop.db
  # Show who is connected, who polls, and sizes
  hoptop --store postgres://db/hoptop store status

`hoptop help team` is a guide: set-up, roles, TLS, what is guaranteed.";

const INIT_EXAMPLES: &str = "\
Examples:
  # Create the team's store in an empty database
  hoptop --store postgres://db/hoptop store init";

const MOVE_EXAMPLES: &str = "\
Examples:
  # Copy one machine's transactions into the empty store
  hoptop store move hoptop.db postgres://db/hoptop
  # Copy the team's store to a new SQLite file
  hoptop store move postgres://db/hoptop hoptop.db";

const STATUS_EXAMPLES: &str = "\
Examples:
  # Show who is connected, who polls, and sizes
  hoptop --store postgres://db/hoptop store status
  # The same as JSON
  hoptop --store postgres://db/hoptop store status --json";

const APPEND_EXAMPLES: &str = "\
Examples:
  # Append the changes that a failover lost, from the file that hoptop named
  hoptop --store postgres://db/hoptop store append hoptop.db.lost-FILE.jsonl";

/// The arguments of `hoptop store`.
#[derive(Args, Debug)]
pub(crate) struct StoreArgs {
    #[command(subcommand)]
    command: StoreCommand,
}

#[derive(Subcommand, Debug)]
enum StoreCommand {
    #[command(after_help = INIT_EXAMPLES)]
    /// Create the tables, functions and roles of the team's store in the database
    Init,
    #[command(after_help = MOVE_EXAMPLES)]
    /// Copy a SQLite file into an empty team's store, or a team's store into a new SQLite file
    Move(relocate::MoveArgs),
    #[command(after_help = STATUS_EXAMPLES)]
    /// Show who is connected, who polls, the size of the log, and the last snapshot
    Status(status::StatusArgs),
    #[command(after_help = APPEND_EXAMPLES)]
    /// Append the changes that a database failover lost, from the file that hoptop reported
    Append(append::AppendArgs),
}

impl StoreArgs {
    /// The address of the team's store that a subcommand names by itself.
    pub(crate) fn address(&self) -> Option<&str> {
        match &self.command {
            StoreCommand::Move(args) => args.address(),
            StoreCommand::Init | StoreCommand::Status(_) | StoreCommand::Append(_) => None,
        }
    }
}

/// Runs a subcommand of `hoptop store`.
pub(crate) fn store(args: &StoreArgs, settings: &Settings, team: Option<&TeamAccess>) -> Result<Exit> {
    let access = || team.ok_or_else(|| eyre!("no team's store is set; name it with --store postgres://HOST/DATABASE"));
    match &args.command {
        StoreCommand::Init => initialise::initialise(access()?),
        StoreCommand::Move(args) if args.is_between_file_and_team() => relocate::relocate(args, access()?),
        StoreCommand::Move(_) => {
            print_line(
                "`hoptop store move` needs a file and a team's store (postgres://HOST/DATABASE), in either order",
            );
            Ok(Exit::Usage)
        }
        StoreCommand::Status(args) => status::status(args, access()?),
        StoreCommand::Append(args) => {
            with_context(settings, Some(access()?), StoreUse::Created, |context| append::append(args, context))
        }
    }
}
