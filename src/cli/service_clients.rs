//! The clients of the profiles that one process polls together, each with its own ID and budget.

use color_eyre::eyre::{Result, WrapErr, bail};

use crate::{
    clock::Clock,
    config::Settings,
    domain::text,
    poller::PollScope,
    runtime::{
        background_poller::{PollerOptions, ServiceClient},
        chain_nodes,
        team_store::TeamAccess,
    },
};

/// Returns the client of each profile of the settings, the current profile first. They count their requests together.
///
/// # Errors
/// Returns an error if a setting is invalid, or if two profiles have the same ID with different limits.
pub(crate) fn clients(settings: &Settings) -> Result<Vec<ServiceClient>> {
    let own = ServiceClient::checked(settings.polling())?;
    let requests = own.requests.clone();
    let mut clients = vec![own];
    for connection in &settings.beside {
        let name_profile = || format!("profile {}", text::clean(&connection.profile));
        let mut client = ServiceClient::checked(connection.polling()).wrap_err_with(name_profile)?;
        client.requests = requests.clone();
        if let Some((other, profile)) =
            clients.iter().zip(settings.profiles()).find(|(other, _)| other.contradicts(&client))
        {
            let (name, other_name) = (text::clean(&connection.profile), text::clean(profile));
            let (limit, other_limit) = (client.rps, other.rps);
            bail!(
                "profiles {other_name} and {name} have the same ID but different limits: {other_limit} and {limit} requests/s"
            );
        }
        clients.push(client);
    }
    // The profiles of this process share the pace of a node's host. With a team's store each polls in a process of its
    // own, with an equal part of the rate.
    let (nodes, profiles) = (chain_nodes::read_all(settings, &Clock::system()), clients.len());
    for client in &mut clients {
        client.chain_nodes.clone_from(&nodes);
        client.sharing_profiles = profiles;
    }
    Ok(clients)
}

/// Adds the team's access and the chain nodes to each client of [`clients`].
pub(crate) fn with_options<'a>(
    clients: Vec<ServiceClient>,
    settings: &'a Settings,
    team: Option<&'a TeamAccess>,
) -> Vec<(ServiceClient, PollerOptions<'a>)> {
    let options = PollerOptions::of(settings, PollScope::Everything, team);
    clients.into_iter().zip(settings.profiles().map(|profile| PollerOptions { profile, ..options })).collect()
}
