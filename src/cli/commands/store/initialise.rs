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
        let mut database = TeamDatabase::connect(&access.connector).await?;
        match database.connection_info().await {
            Ok(_) => Ok(false),
            Err(TeamError::NotInitialised) => match database.create_schema().await {
                Ok(()) => Ok(true),
                // Somebody else may have created it at the same moment.
                Err(error) => match TeamDatabase::connect(&access.connector).await?.connection_info().await {
                    Ok(_) => Ok(false),
                    Err(_) => Err(error),
                },
            },
            Err(error) => Err(error),
        }
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
