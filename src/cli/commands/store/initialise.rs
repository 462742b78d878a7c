//! `hoptop store init`: creates the team's store in a database.
//!
//! The command must never change a store that is there.

use std::io::{self, Write};

use color_eyre::eyre::Result;

use crate::{
    domain::team_address::TeamAddress,
    runtime::{exit::Exit, team_store::TeamAccess, tokio_runtime},
    team::{TeamDatabase, TeamError},
};

/// Creates the schema and the roles, unless they are there.
pub(super) fn initialise(access: &TeamAccess) -> Result<Exit> {
    let address = access.connector.address();
    let for_role = TeamAddress { user: Some("ROLE".to_owned()), ..address.clone() };
    let created = tokio_runtime::start()?.block_on(async {
        if has_store(access).await? {
            return Ok(false);
        }
        let created = TeamDatabase::connect(&access.connector).await?.create_schema().await;
        // Somebody else may have created the store at the same moment.
        if created.is_err() && has_store(access).await.unwrap_or(false) {
            return Ok(false);
        }
        created.map(|()| true)
    })?;
    let mut out = io::stdout().lock();
    if !created {
        writeln!(out, "{address} is a team's store already")?;
        return Ok(Exit::Success);
    }
    writeln!(
        out,
        "{address} is a team's store now. Grant access, as the owner of the database:\n\
         \x20 GRANT hoptop_poller TO \"ROLE\";   may read, write and poll\n\
         \x20 GRANT hoptop_member TO \"ROLE\";   may read and write\n\
         \x20 GRANT hoptop_viewer TO \"ROLE\";   may read\n\
         Then each of them runs: hoptop --store {for_role}\n\
         `hoptop help team` is the guide."
    )?;
    Ok(Exit::Success)
}

/// Whether the database has a team's store already.
async fn has_store(access: &TeamAccess) -> Result<bool, TeamError> {
    match TeamDatabase::connect(&access.connector).await?.connection_info().await {
        Ok(_) => Ok(true),
        Err(TeamError::NotInitialised) => Ok(false),
        Err(error) => Err(error),
    }
}
