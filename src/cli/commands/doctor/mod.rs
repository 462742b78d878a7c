//! `hoptop doctor`: checks everything that polling needs, and prints the fix of each problem.
//!
//! The command connects to the service without sending anything: without `--probe` it must never spend a request. The
//! command must never show more of the ID than its last four characters.

mod finding;
mod probe;
mod team;

use std::{ops::ControlFlow, path::Path};

use chrono::{DateTime, TimeDelta};
use clap::Args;
use color_eyre::eyre::Result;

use self::finding::{Diagnosis, print_findings};
use super::{backup::size, dashboard, stats::BudgetStatus};
use crate::{
    api::{BaseUrl, Endpoint, HttpAnswer, interpret},
    budget::{self, Ledger},
    chain_rpc::NodeAddress,
    cli::{context::Context, notifiers, theme},
    config::{ConfigError, ProfileConnection, Settings},
    domain::{
        filter::Filter, notification, observation::StatusOutcome, polling::PollingVerdict, record::StatusRecord,
        secret::IntegratorId, span, text, transaction::TransactionParams,
    },
    notify::Channel,
    process::{files, program},
    runtime::{exit::Exit, team_store::TeamAccess},
    store::{self, AlertCounts, DamagedValue, Reader, TableChecksum, filesystem},
    tui::keys::Keys,
};

/// The text below the options in the help.
pub(crate) const EXAMPLES: &str = "\
Examples:
  # Print one line for each check
  hoptop doctor
  # Also send a request to the service and to each node
  hoptop doctor --probe
  # Print a checksum for each table, and check nothing
  hoptop doctor --checksums
  # Also repair records, and restore the rest at the next start
  hoptop doctor --repair
  # Compare this machine's copy with the team's log
  hoptop doctor --verify-replica

The exit code is 1 if a line is an error. Stores with the same content have the same checksums, even if their files \
differ.";

/// The arguments of `hoptop doctor`.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct DoctorArgs {
    /// Only print a checksum of each table (reads the whole store)
    #[arg(long)]
    pub checksums: bool,
    /// Only build a second copy of the team's store from its database, and compare each table (reads both stores)
    #[arg(long, conflicts_with = "checksums")]
    pub verify_replica: bool,
    /// Also send one request within the budget, and check the node of each chain
    #[arg(long, conflicts_with_all = ["checksums", "verify_replica"])]
    pub probe: bool,
    /// Also rebuild unreadable records from the history, and mark other damaged values for repair: the next start takes
    /// them from the newest backup
    #[arg(long, conflicts_with_all = ["checksums", "verify_replica"])]
    pub repair: bool,
    /// Print one JSON object
    #[arg(long, conflicts_with_all = ["checksums", "verify_replica"])]
    pub json: bool,
}

/// An answer up to this far ahead of the clock is no sign of a wrong clock. Such an answer came after the checks began, or
/// from another machine of the team.
const CLOCK_TOLERANCE: TimeDelta = TimeDelta::seconds(5);

/// The names of the checks whose result means nothing while the store can't be opened.
const CHECKS_OF_STORE: [&str; 5] = ["disk", "backup", "poller", "budget", "clock"];

/// Connects to an endpoint; returns a sentence on the result.
pub(crate) type Connect = fn(&Endpoint) -> Result<String, String>;

/// The errors of opening the settings or the store. After an error, the checks use default settings or a temporary
/// store.
#[derive(Clone, Debug, Default)]
pub(crate) struct OpeningErrors {
    /// The reason why the settings can't be loaded, and the settings that the checks use.
    pub config: Option<String>,
    /// The reason why the store can't be opened.
    pub store: Option<String>,
}

/// Prints one line for each check. `connect` tries to connect to the service.
pub(crate) fn doctor(
    args: &DoctorArgs,
    settings: &Settings,
    team: Option<&TeamAccess>,
    opening_errors: &OpeningErrors,
    connect: Connect,
    cx: &mut Context,
) -> Result<Exit> {
    if args.checksums {
        return print_checksums(cx);
    }
    if args.verify_replica {
        return team::verify_replica(team, cx);
    }
    let state = check_state(&settings.state_dir);
    let is_state_usable = !matches!(state, Diagnosis::Error(_));
    let found_id = settings.integrator_id();
    let known_id = found_id.as_ref().ok().map(|(id, _)| id);
    let base_url = check_base_url(settings, opening_errors, known_id);
    let id = check_id(settings, &found_id);
    let mut findings =
        vec![("config", check_config(settings, opening_errors)), ("state", state), ("base url", base_url), ("id", id)];
    let reader = cx.store.reader()?;
    let tracked = reader.listing(&Filter::everything(), cx.now.wall).count()?;
    let AlertCounts { firing, handled } = AlertCounts::sum(&reader.alerts_by_rule(None, cx.now.wall)?);
    let alerts = firing.iter().sum::<u64>() + handled;
    let store = match &opening_errors.store {
        Some(reason) => Diagnosis::Error(reason.clone()),
        None => check_store(tracked, alerts, args.repair, cx)?,
    };
    findings.push(("store", store));
    if let Some(team) = team {
        findings.extend(team::checks(team, &reader)?);
    }
    findings.push(("disk", check_disk(cx)));
    findings.push(("backup", check_backup(tracked == 0, cx)));
    let budget = BudgetStatus::read(&reader, settings.rps, cx)?;
    let [need, polling] = budget.lines();
    // The budget has a line of its own.
    let is_good = PollingVerdict { is_short: false, ..budget.polling.verdict(cx.now.wall) }.is_good()
        && budget.poller().is_some_and(|report| report.share >= 1.0);
    findings.push(("poller", if is_good { Diagnosis::Ok(polling) } else { Diagnosis::Warning(polling) }));
    let base = settings.base_url.as_ref().and_then(|url| BaseUrl::parse(url).ok());
    let fingerprint = known_id.zip(base.as_ref()).map(|(id, base)| id.fingerprint(&base.budget_name()));
    let folder = &settings.state_dir;
    let is_lost = fingerprint.as_ref().is_some_and(|fingerprint| budget::is_lost(folder, fingerprint));
    let ledger = fingerprint.and_then(|fingerprint| budget::read_for_display(folder, &fingerprint));
    let ledger = match is_state_usable {
        true if is_lost => {
            Diagnosis::Warning("its file was altered, or is of another version; it is made again".into())
        }
        true => check_ledger(ledger.as_ref(), settings.rps, cx),
        false => Diagnosis::Warning("not checked, because the state folder can't be used".into()),
    };
    findings.push(("ledger", ledger));
    findings
        .push(("budget", if budget.need.is_always_short() { Diagnosis::Warning(need) } else { Diagnosis::Ok(need) }));
    let ahead = reader.newest_answer()?.filter(|at| *at > cx.now.wall + CLOCK_TOLERANCE);
    let clock = match ahead {
        Some(at) => {
            let ahead = span::long(span::between(cx.now.wall, at));
            Diagnosis::Warning(format!("the last answer is {ahead} ahead of this clock; was the clock set back?"))
        }
        None => Diagnosis::Ok(cx.now.wall.with_timezone(&cx.zone).format("%Y-%m-%d %H:%M:%S %:z").to_string()),
    };
    findings.push(("clock", clock));
    findings.push(("terminal", check_terminal(settings)));
    let not_checked = || Diagnosis::Warning("not checked, because there is no valid base URL".into());
    findings.push(("service", base.map_or_else(not_checked, |base| check_service(&base, connect))));
    if args.probe {
        match probe::probe(settings, team, cx)? {
            ControlFlow::Continue(diagnosis) => findings.push(("probe", diagnosis)),
            ControlFlow::Break(exit) => return Ok(exit),
        }
        findings.extend(probe::chains(settings, cx)?);
    }
    findings.extend(settings.beside.iter().map(|connection| ("beside", check_profile(connection, connect))));
    findings.push(("alerting", check_alerting(settings, &reader, connect)?));
    if opening_errors.store.is_some() {
        // These checks have used the temporary store, which says nothing.
        for (_, diagnosis) in findings.iter_mut().filter(|(name, _)| CHECKS_OF_STORE.contains(name)) {
            *diagnosis = Diagnosis::Warning("not checked, because the store can't be opened".into());
        }
    }
    print_findings(findings, args.json, cx)
}

fn print_checksums(cx: &mut Context) -> Result<Exit> {
    for TableChecksum { table, rows, digest } in cx.store.reader()?.checksums()? {
        writeln!(cx.out, "{digest}  {table} ({rows} rows)")?;
    }
    Ok(Exit::Success)
}

/// Checks the config file, and the settings that only the dashboard or the nodes of chains need.
fn check_config(settings: &Settings, opening_errors: &OpeningErrors) -> Diagnosis {
    if let Some(reason) = &opening_errors.config {
        return Diagnosis::Error(reason.clone());
    }
    let of_dashboard = theme::load_from_settings(settings).map_err(|error| error.to_string());
    let of_dashboard = of_dashboard.and(Keys::new(&settings.keys).map_err(|error| error.to_string()));
    if let Err(reason) = of_dashboard {
        return Diagnosis::Error(format!("the dashboard doesn't start: {reason}"));
    }
    for node in &settings.chain_nodes {
        if let Some(Err(reason)) = node.inline_address().map(|url| NodeAddress::parse(&url.0)) {
            return Diagnosis::Error(format!("chains.{}.rpc: {reason}", text::clean(&node.chain)));
        }
    }
    if let Some(warning) = settings.config_warning() {
        return Diagnosis::Warning(warning);
    }
    let profile = &settings.profile;
    Diagnosis::Ok(match settings.config_file.as_ref().filter(|path| path.exists()) {
        Some(path) => format!("{}, profile {profile}", path.display()),
        None => format!("no config file; flags and environment apply, profile {profile}"),
    })
}

/// The maximum number of damaged values that are counted.
const MAX_DAMAGED: usize = 100;

/// Counts the transactions and alerts of the store, and checks that every value is as it was written. With
/// `should_repair` damaged values are repaired by the next start.
fn check_store(transactions: u64, alerts: u64, should_repair: bool, cx: &Context<'_>) -> Result<Diagnosis> {
    let path = cx.store.path().display();
    if let Some(reason) = cx.store.check()? {
        let way_out = "quit all hoptop processes that use it; the next start recovers it";
        return Ok(Diagnosis::Error(format!("{path} is damaged ({reason}); {way_out}")));
    }
    let rebuilt = if should_repair { cx.store.rebuild_records(&decode_record)? } else { 0 };
    let from_history = match rebuilt {
        0 => String::new(),
        1 => "; 1 record was rebuilt from the history".to_owned(),
        rebuilt => format!("; {rebuilt} records were rebuilt from the history"),
    };
    let damaged = cx.store.reader()?.damaged_values(MAX_DAMAGED)?;
    if let Some(DamagedValue { column, row }) = damaged.first() {
        let count =
            if damaged.len() == MAX_DAMAGED { format!("{MAX_DAMAGED} or more") } else { damaged.len().to_string() };
        let damage = format!("damaged values: {count}, the first in {column} of {}", text::clean(row));
        let way_out = if should_repair {
            cx.store.mark_for_repair(&count);
            "quit all hoptop processes that use the store; the next start repairs it from the newest backup"
        } else {
            "all else is shown; `hoptop doctor --repair` takes them from the newest backup"
        };
        return Ok(Diagnosis::Error(format!("{path}: {damage}{from_history}; {way_out}")));
    }
    let (transactions, alerts) = (text::counted(transactions, "transaction"), text::counted(alerts, "alert"));
    let contents = format!("{path}: {transactions}, {alerts}, intact{from_history}");
    Ok(match cx.store.fault() {
        Some(fault) => Diagnosis::Warning(format!("{contents}; {fault}")),
        None => Diagnosis::Ok(contents),
    })
}

/// Decodes a stored body. Returns `None` if it holds no status record.
fn decode_record(params: &TransactionParams, body: &str) -> Option<StatusRecord> {
    let reply = HttpAnswer { status: 200, retry_after: None, body: body.as_bytes() };
    match interpret(&reply, params, DateTime::UNIX_EPOCH).outcome {
        StatusOutcome::Record(record) => Some(*record),
        StatusOutcome::NotFound(_) | StatusOutcome::Failed(_) => None,
    }
}

/// Checks the file system of the store, and whether it has space for a backup.
fn check_disk(cx: &Context<'_>) -> Diagnosis {
    let folder = files::folder_of(cx.store.path());
    let kind = filesystem::kind(folder).unwrap_or_else(|| "file system unknown".to_owned());
    let (bytes, log) = store::file_sizes(cx.store.path());
    let sizes = format!("store {}, its log {}", size(bytes), size(log));
    match filesystem::free(folder) {
        Some(free) if free < (bytes + log).saturating_mul(2) => {
            Diagnosis::Warning(format!("{kind}, {} free, too little for a backup; {sizes}", size(free)))
        }
        Some(free) => Diagnosis::Ok(format!("{kind}, {} free; {sizes}", size(free))),
        None => Diagnosis::Ok(format!("{kind}; {sizes}")),
    }
}

/// Checks the age of the newest backup.
fn check_backup(is_empty: bool, cx: &Context<'_>) -> Diagnosis {
    /// The age from which the newest backup is a warning. hoptop makes one on each day of use.
    const OLD: TimeDelta = TimeDelta::hours(48);
    let kept = store::backups(cx.store.path(), cx.now.wall);
    let Some(newest) = kept.first() else {
        return match is_empty {
            true => Diagnosis::Ok("none, because nothing is tracked".into()),
            false => Diagnosis::Warning("none yet; hoptop makes one a day, `hoptop backup FILE` makes one now".into()),
        };
    };
    let ahead = kept.iter().filter(|kept| kept.at > cx.now.wall).count();
    if ahead > 0 {
        return Diagnosis::Warning(format!(
            "{ahead} of {} are dated ahead of this clock; was the clock set back? They are in {}",
            kept.len(),
            files::folder_of(&newest.path).display()
        ));
    }
    let age = span::long(span::between(newest.at, cx.now.wall));
    let line = format!("{} kept, the newest {age} old: {}", kept.len(), newest.path.display());
    if cx.now.wall - newest.at > OLD { Diagnosis::Warning(line) } else { Diagnosis::Ok(line) }
}

/// Checks the base URL, and hides an integrator ID that was pasted into it.
fn check_base_url(settings: &Settings, opening_errors: &OpeningErrors, id: Option<&IntegratorId>) -> Diagnosis {
    let redact = |text: String| match id {
        Some(id) => id.redact(text),
        None => text,
    };
    match &settings.base_url {
        None if opening_errors.config.is_some() => Diagnosis::Error("none: correct the settings first".into()),
        None => Diagnosis::Error(
            "none: set the URL of the service with --base-url, HOPTOP_BASE_URL or in the profile".into(),
        ),
        Some(url) => match BaseUrl::parse(url) {
            Ok(url) => Diagnosis::Ok(redact(url.as_str().to_owned())),
            Err(error) => Diagnosis::Error(redact(error.to_string())),
        },
    }
}

/// Checks the integrator ID.
fn check_id(settings: &Settings, found: &Result<(IntegratorId, Option<String>), ConfigError>) -> Diagnosis {
    match found {
        Ok((id, warning)) => {
            let source = settings.id_source().unwrap_or_default();
            let id = format!("{} from {source}, {} requests/s", id.last4(), settings.rps);
            match warning {
                None => Diagnosis::Ok(id),
                Some(warning) => Diagnosis::Warning(format!("{id}; {warning}")),
            }
        }
        Err(error) => Diagnosis::Error(error.to_string()),
    }
}

/// Checks a profile that the dashboard polls beside the current one.
fn check_profile(connection: &ProfileConnection, connect: Connect) -> Diagnosis {
    let parsed = connection.polling().map(|polling| BaseUrl::parse(&polling.base_url).map(|base| (polling, base)));
    let name = &connection.profile;
    match parsed {
        Ok(Ok((polling, base))) => {
            let described = format!("{name}: {}, {} requests/s", polling.id.last4(), polling.rps);
            match check_service(&base, connect) {
                Diagnosis::Ok(reached) => Diagnosis::Ok(format!("{described}; {reached}")),
                Diagnosis::Warning(reason) => Diagnosis::Warning(format!("{described}; {reason}")),
                Diagnosis::Error(reason) => Diagnosis::Error(format!("{described}; {reason}")),
            }
        }
        Ok(Err(error)) => Diagnosis::Error(format!("{name}: {error}")),
        Err(error) => Diagnosis::Error(format!("{name}: {error}")),
    }
}

/// Checks the budget that all processes with this ID share.
fn check_ledger(ledger: Option<&Ledger>, rps: f64, cx: &Context<'_>) -> Diagnosis {
    let Some(ledger) = ledger else { return Diagnosis::Ok("not used since the machine started".into()) };
    let rest = ledger.pace.resting_until().since(cx.now.mono);
    let under_way = ledger.under_way();
    let state = format!("limit {} requests/s as last set, {under_way} in flight", ledger.limit());
    if ledger.limit() != rps {
        return Diagnosis::Warning(format!(
            "{state}; your limit of {rps} applies when a hoptop process starts polling"
        ));
    }
    match (rest.is_zero(), ledger.pace.share() < 1.0) {
        (false, _) => Diagnosis::Warning(format!("{state}; no requests for {} after an HTTP 429", span::long(rest))),
        (true, true) => {
            Diagnosis::Warning(format!("{state}; cut to {:.0} % after an HTTP 429", ledger.pace.share() * 100.0))
        }
        (true, false) => Diagnosis::Ok(state),
    }
}

/// Checks whether the service accepts a connection. Behind a proxy only a request could tell.
fn check_service(base: &BaseUrl, connect: Connect) -> Diagnosis {
    let endpoint = Endpoint::of_url(base.url(), "the base URL");
    match endpoint.proxy() {
        Some(proxy) => Diagnosis::Ok(format!(
            "not checked, since requests go through the proxy {proxy}; `hoptop doctor --probe` sends one request"
        )),
        None => connect(&endpoint).map_or_else(Diagnosis::Error, Diagnosis::Ok),
    }
}

/// Checks that the state folder is a folder that can be written, or can be created.
fn check_state(folder: &Path) -> Diagnosis {
    let (shown, way_out) = (folder.display(), "or choose another folder with --state-dir");
    // A folder that doesn't exist is created in the first one that does.
    let existing = folder.ancestors().find(|path| path.exists()).unwrap_or(Path::new("."));
    if !existing.is_dir() {
        let reason = match existing == folder {
            true => format!("{shown} is a file, not a folder"),
            false => format!("{} is a file, but the state folder is {shown}", existing.display()),
        };
        return Diagnosis::Error(format!("{reason}; move the file, {way_out}"));
    }
    if let (true, Err(reason)) = (existing == folder, files::refuse_shared_folder(folder)) {
        return Diagnosis::Error(format!("{shown} can't be used: {reason}; {way_out}"));
    }
    match tempfile::tempfile_in(existing) {
        Err(error) => {
            let existing = existing.display();
            Diagnosis::Error(format!(
                "{shown} can't be used: no file can be created in {existing} ({error}); check its permissions, {way_out}"
            ))
        }
        Ok(_) if existing == folder => Diagnosis::Ok(shown.to_string()),
        Ok(_) => Diagnosis::Ok(format!("{shown}, created when it is needed")),
    }
}

/// Checks the notification channels and their last failure.
fn check_alerting(settings: &Settings, reader: &Reader, connect: Connect) -> Result<Diagnosis> {
    let channels = match notifiers::channels(settings) {
        Ok(channels) => channels,
        Err(error) => return Ok(Diagnosis::Error(error.to_string())),
    };
    let names = notifiers::names(&channels);
    // The webhook is the last one, and its error counts more than a missing program.
    let problem = channels.iter().rev().find_map(|channel| match channel {
        Channel::Webhook(webhook) => {
            let endpoint = Some(webhook.endpoint()).filter(|endpoint| endpoint.proxy().is_none())?;
            Some(Diagnosis::Error(format!("webhook: {}", connect(&endpoint).err()?)))
        }
        Channel::Command(words) => missing_program("on_event", words).map(Diagnosis::Warning),
    });
    if let Some(problem) = problem {
        return Ok(problem);
    }
    let errors = notification::delivery_errors(&reader.notification_cursors(&settings.profile)?, &names);
    if let Some(first) = errors.first() {
        return Ok(Diagnosis::Warning(format!("the last notification failed: {first}")));
    }
    Ok(Diagnosis::Ok(match names.as_slice() {
        [] => "no notifications; on_event or webhook in the config file sends alerts to others".into(),
        _ => {
            let keys = channels.iter().map(|channel| match channel {
                Channel::Command(_) => "on_event",
                Channel::Webhook(_) => "webhook",
            });
            format!("alerts are sent by {}", keys.collect::<Vec<_>>().join(" and "))
        }
    }))
}

/// Returns a sentence if the program of a setting's command can't be found.
fn missing_program(setting: &str, command: &[String]) -> Option<String> {
    let name = command.first().filter(|name| !program::program_exists(name))?;
    Some(format!("{setting}: there is no program {name}; write its path, or check PATH"))
}

fn check_terminal(settings: &Settings) -> Diagnosis {
    let clipboard = settings.clipboard.as_deref().and_then(|command| missing_program("clipboard", command));
    let has_terminal = dashboard::has_terminal();
    let term = std::env::var("TERM").unwrap_or_default();
    let lacks_screen = has_terminal && dashboard::is_terminal_dumb();
    let dumb = lacks_screen.then(|| "TERM is `dumb`: the dashboard prints the list instead".to_owned());
    let warnings: Vec<String> = dumb.into_iter().chain(clipboard).collect();
    match (warnings.is_empty(), has_terminal) {
        (false, _) => Diagnosis::Warning(warnings.join("; ")),
        (true, true) if term.is_empty() => Diagnosis::Ok("TERM is not set".into()),
        (true, true) => Diagnosis::Ok(term),
        (true, false) => Diagnosis::Ok("none here; the dashboard needs one, `hoptop watch` doesn't".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        budget::{Budget as Shared, RequestEnd},
        cli::context::testing::CommandFixture,
        config::{self, CommandLineSettings, Environment},
        domain::{fixtures, status::RouterStatus},
        store::Store,
    };

    const CANARY: &str = "canary-integrator-7f3a";

    fn settings(fixture: &CommandFixture, variables: &[(&str, &str)]) -> Settings {
        let flags = CommandLineSettings {
            state_dir: Some(fixture.folder.path().join("state")),
            ..CommandLineSettings::default()
        };
        config::load(flags, &Environment::fixed(variables, Some(fixture.folder.path()))).unwrap()
    }

    fn run(fixture: &mut CommandFixture, variables: &[(&str, &str)]) -> (String, Exit) {
        let settings = settings(fixture, variables);
        let (out, err, exit) = fixture.run(|cx| {
            doctor(&DoctorArgs::default(), &settings, None, &OpeningErrors::default(), |_| Ok("reached".into()), cx)
        });
        assert_eq!(err, "");
        assert!(!out.contains("canary"), "{out}");
        (out, exit.unwrap())
    }

    /// Returns the fingerprint that names the budget of these settings.
    fn fingerprint(settings: &Settings) -> String {
        let (id, _) = settings.integrator_id().unwrap();
        id.fingerprint(&BaseUrl::parse("https://api.example").unwrap().budget_name())
    }

    const ALL: [(&str, &str); 2] = [("HOPTOP_BASE_URL", "https://api.example"), ("HOPTOP_INTEGRATOR_ID", CANARY)];

    #[test]
    fn settings_that_only_the_dashboard_or_a_chain_reads_are_checked() {
        let mut fixture = CommandFixture::new();
        let (out, exit) = run(&mut fixture, &[ALL.as_slice(), &[("HOPTOP_THEME", "pink")]].concat());
        assert_eq!(exit, Exit::Error);
        assert!(out.starts_with("error  config    the dashboard doesn't start: unknown theme"), "{out}");
        let folder = fixture.folder.path().join(".config/hoptop");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("config.toml"), "[keys]\nadd = \"a\"\n").unwrap();
        let (out, _) = run(&mut fixture, &ALL);
        assert!(out.contains("the dashboard doesn't start: keys: `a` is bound to both"), "{out}");
        std::fs::write(folder.join("config.toml"), "[chains.10]\nrpc = \"ftp://canary.example\"\n").unwrap();
        let (out, exit) = run(&mut fixture, &ALL);
        assert_eq!(exit, Exit::Error);
        assert!(out.contains("error  config    chains.10.rpc: its address must start with https"), "{out}");
    }

    #[test]
    fn nothing_is_said_about_a_store_that_cannot_be_opened() {
        let mut fixture = CommandFixture::new();
        let settings = settings(&fixture, &ALL);
        let errors = OpeningErrors { store: Some("it is no store".into()), ..OpeningErrors::default() };
        let (out, _, exit) =
            fixture.run(|cx| doctor(&DoctorArgs::default(), &settings, None, &errors, |_| Ok("reached".into()), cx));
        assert_eq!(exit.unwrap(), Exit::Error);
        assert_eq!(
            out.matches("not checked, because the store can't be opened").count(),
            CHECKS_OF_STORE.len(),
            "{out}"
        );
    }

    #[test]
    fn missing_setting_is_wrong_and_names_the_remedy() {
        let (out, exit) = run(&mut CommandFixture::new(), &[]);
        assert_eq!(exit, Exit::Error);
        let wrong: Vec<_> = out.lines().filter(|line| line.starts_with("error")).collect();
        assert!(
            wrong.len() == 2 && wrong[0].contains("--base-url") && wrong[1].contains("HOPTOP_INTEGRATOR_ID"),
            "{out}"
        );
    }

    #[test]
    fn failing_notification_channel_or_missing_program_is_reported() {
        let mut fixture = CommandFixture::new();
        let config = fixture.folder.path().join(".config/hoptop/config.toml");
        std::fs::create_dir_all(config.parent().unwrap()).unwrap();
        let mut alerting = |text: &str| {
            std::fs::write(&config, text).unwrap();
            let (out, exit) = run(&mut fixture, &ALL);
            (out.lines().find(|line| line.contains("  alerting")).unwrap().to_owned(), exit)
        };
        assert!(alerting("").0.starts_with("ok     alerting  no notifications"));
        assert!(alerting("on_alert = \"no-such-program-here\"").0.contains("there is no program no-such-program-here"));
        assert!(alerting("webhook = \"https://hooks.example/canary\"").0.ends_with("alerts are sent by webhook"));
        let (line, exit) = alerting("webhook = \"http://hooks.example/canary\"");
        assert!(line.starts_with("error") && exit == Exit::Error, "{line}");
        std::fs::write(&config, "clipboard = [\"no-such-program-here\"]\n").unwrap();
        let (out, exit) = run(&mut fixture, &ALL);
        assert!(out.contains("warn   terminal  clipboard: there is no program no-such-program-here"), "{out}");
        assert_eq!(exit, Exit::Success);
    }

    #[test]
    fn short_budget_names_a_sufficient_limit() {
        let mut fixture = CommandFixture::new();
        for number in 1..=100 {
            let row = fixture.track(fixtures::new(number));
            fixture.observe(row, fixtures::says(RouterStatus::Ongoing), 30);
        }
        let (out, exit) = run(&mut fixture, &ALL);
        assert_eq!(exit, Exit::Success);
        assert!(out.contains("warn   budget    100 to poll: 1.11 requests/s needed, 0.83 allowed"), "{out}");
        assert!(out.contains("raise the limit to 2 requests/s, or track at most 67"), "{out}");
        assert!(out.contains("ok     id        …7f3a from HOPTOP_INTEGRATOR_ID"), "{out}");
        assert!(out.contains("warn   poller    no poller is running"), "{out}");
    }

    #[test]
    fn requests_of_other_processes_are_reported() {
        let mut fixture = CommandFixture::new();
        let settings = settings(&fixture, &ALL);
        let fingerprint = fingerprint(&settings);
        let now = crate::clock::Now { mono: crate::clock::MonotonicTime::default(), wall: DateTime::UNIX_EPOCH };
        let mut other = Shared::shared(&fixture.folder.path().join("state"), &fingerprint, 1.0, now).unwrap();
        let ticket = other.take(now.mono + std::time::Duration::from_secs(1)).unwrap();
        let (out, _) = run(&mut fixture, &ALL);
        assert!(out.contains("ok     ledger    limit 1 requests/s as last set, 1 in flight"), "{out}");
        other.release(ticket, RequestEnd::Throttled { retry_after: None, jitter: 0.0 }, now.mono, now.mono);
        let (out, _) = run(&mut fixture, &ALL);
        assert!(
            out.contains("warn   ledger    limit 1 requests/s as last set, 0 in flight; no requests for 1s"),
            "{out}"
        );
    }

    #[test]
    fn limit_of_another_process_is_reported() {
        let mut fixture = CommandFixture::new();
        let settings = settings(&fixture, &ALL);
        let fingerprint = fingerprint(&settings);
        let now = crate::clock::Now { mono: crate::clock::MonotonicTime::default(), wall: DateTime::UNIX_EPOCH };
        let _other = Shared::shared(&fixture.folder.path().join("state"), &fingerprint, 8.0, now).unwrap();
        let (out, _) = run(&mut fixture, &ALL);
        assert!(out.contains("warn   ledger    limit 8 requests/s as last set, 0 in flight; your limit of 1"), "{out}");
    }

    #[test]
    fn store_disk_and_backup_are_checked() {
        let mut fixture = CommandFixture::new();
        let (out, _) = run(&mut fixture, &ALL);
        assert!(out.contains("0 transactions, 0 alerts, intact\n"), "{out}");
        assert!(out.contains("ok     backup    none, because nothing is tracked"), "{out}");
        fixture.track(fixtures::new(1));
        assert!(run(&mut fixture, &ALL).0.contains("warn   backup    none yet; hoptop makes one a day"));
        let two_days_before = crate::cli::context::testing::at(60) - TimeDelta::hours(49);
        Store::backup_if_due(fixture.store.path(), two_days_before, &|| true).unwrap();
        let (out, _) = run(&mut fixture, &ALL);
        assert!(out.contains("warn   backup    1 kept, the newest 2d 01h old: "), "{out}");
        assert!(out.contains(" free; store ") && out.contains(" kB, its log "), "{out}");
        let next_year = two_days_before + TimeDelta::days(365);
        Store::backup_if_due(fixture.store.path(), next_year, &|| true).unwrap();
        let (out, _) = run(&mut fixture, &ALL);
        assert!(
            out.contains("warn   backup    1 of 2 are dated ahead of this clock; was the clock set back?"),
            "{out}"
        );
    }

    #[test]
    fn answer_from_the_future_is_reported_as_a_clock_set_back() {
        let mut fixture = CommandFixture::new();
        let row = fixture.track(fixtures::new(1));
        fixture.observe(row, fixtures::says(RouterStatus::Ongoing), 3_660);
        let (out, _) = run(&mut fixture, &ALL);
        assert!(out.contains("warn   clock     the last answer is 1h 00m ahead of this clock"), "{out}");
    }
}
