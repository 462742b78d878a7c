//! `hoptop doctor`: looks at everything that polling needs, and says what to do about what is missing.
//!
//! It connects to the service and sends nothing: it must never spend a request, nor show more of the ID than its last four characters.

use std::{
    io::{self, IsTerminal, Write},
    path::Path,
};

use chrono::TimeDelta;
use clap::Args;
use color_eyre::eyre::Result;

use super::{backup::size, context::Context, exit::Exit, notifiers, stats::Budget};
use crate::{
    api::BaseUrl,
    budget::{self, Ledger},
    config::{Account, Settings},
    domain::{filter::Filter, notification, poller::PollerHealth, span, text},
    notify::Channel,
    process::program,
    store::{AlertCounts, Reader, TableChecksum, filesystem},
};

/// For the help.
pub const EXAMPLES: &str = "\
Examples:
  hoptop doctor                                    one line for each check
  hoptop doctor --checksums                        a checksum for each table of the store, and nothing else

Two stores that were written the same way have the same checksums, whatever their files look like.";

/// Check what polling needs.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct DoctorArgs {
    /// Print a checksum of each table's content instead: takes as long as reading the whole store
    #[arg(long)]
    pub checksums: bool,
}

/// How a check ended.
enum Finding {
    Fine(String),
    /// It works, but somebody should know.
    Warning(String),
    /// Polling can't work like that.
    Wrong(String),
}

/// What a connection to the service came to.
pub type Reach = fn(&BaseUrl) -> std::result::Result<String, String>;

/// Prints one line for each check; `reach` tries to connect to the service.
pub fn doctor(args: &DoctorArgs, settings: &Settings, reach: Reach, cx: &mut Context) -> Result<Exit> {
    if args.checksums {
        return checksums(cx);
    }
    let mut findings = vec![("config", config(settings)), ("base url", base_url(settings))];
    let (id, fingerprint) = id(settings);
    findings.push(("id", id));
    let reader = cx.store.reader()?;
    let tracked = reader.listing(&Filter::everything(), cx.now.wall).count()?;
    let AlertCounts { firing, handled } = AlertCounts::sum(&reader.alerts_by_rule(None, cx.now.wall)?);
    findings.push(("store", store(tracked, firing.iter().sum::<u64>() + handled, cx)?));
    findings.push(("disk", disk(cx)));
    findings.push(("backup", backup(tracked == 0, cx)));
    let budget = Budget::read(&reader, settings.rps, cx)?;
    let [need, polling] = budget.lines();
    let is_well =
        budget.poller.as_ref().is_some_and(|report| report.health == PollerHealth::Live && report.share >= 1.0);
    findings.push(("poller", if is_well { Finding::Fine(polling) } else { Finding::Warning(polling) }));
    let ledger = fingerprint.and_then(|fingerprint| budget::peek(&settings.state_dir, &fingerprint));
    findings.push(("ledger", self::ledger(ledger.as_ref(), settings.rps, cx)));
    findings.push(("budget", if budget.need.is_lasting() { Finding::Warning(need) } else { Finding::Fine(need) }));
    let ahead = reader.newest_answer()?.filter(|at| *at > cx.now.wall);
    findings.push((
        "clock",
        match ahead {
            Some(at) => {
                let ahead = span::long(span::between(cx.now.wall, at));
                Finding::Warning(format!("the last answer is {ahead} ahead of this clock: was it set back?"))
            }
            None => Finding::Fine(format!("{}", cx.now.wall.with_timezone(&cx.zone).format("%Y-%m-%d %H:%M:%S %:z"))),
        },
    ));
    findings.push(("terminal", terminal()));
    let base = settings.base_url.as_ref().and_then(|url| BaseUrl::parse(url).ok());
    let not_asked = || Finding::Fine(format!("not asked; {SPENDS}"));
    findings.push(("service", base.map_or_else(not_asked, |base| service(&base, reach))));
    findings.extend(settings.beside.iter().map(|account| ("beside", beside(account, reach))));
    findings.push(("alerting", alerting(settings, &reader)?));
    print(&findings, cx.out)
}

/// Prints the checksum of each table.
fn checksums(cx: &mut Context) -> Result<Exit> {
    for TableChecksum { table, rows, digest } in cx.store.reader()?.checksums()? {
        writeln!(cx.out, "{digest}  {table} ({rows} rows)")?;
    }
    Ok(Exit::Fine)
}

/// What asks the service itself.
const SPENDS: &str = "`hoptop check TX` spends one request on it";

fn print(findings: &[(&str, Finding)], out: &mut dyn Write) -> Result<Exit> {
    let mut exit = Exit::Fine;
    for (name, finding) in findings {
        let (word, sentence) = match finding {
            Finding::Fine(sentence) => ("ok", sentence),
            Finding::Warning(sentence) => ("look", sentence),
            Finding::Wrong(sentence) => {
                exit = Exit::Error;
                ("WRONG", sentence)
            }
        };
        writeln!(out, "{word:<5}  {name:<9} {}", text::clean(sentence))?;
    }
    Ok(exit)
}

fn config(settings: &Settings) -> Finding {
    let profile = &settings.profile;
    Finding::Fine(match settings.config_file.as_ref().filter(|path| path.exists()) {
        Some(path) => format!("{}, profile {profile}", path.display()),
        None => format!("no config file; flags and environment count, profile {profile}"),
    })
}

/// What the store holds, and whether all of it can be read.
fn store(transactions: u64, alerts: u64, cx: &Context<'_>) -> Result<Finding> {
    let path = cx.store.path().display();
    if let Some(reason) = cx.store.check()? {
        let way_out = "end every hoptop that has it open, and the next start recovers it";
        return Ok(Finding::Wrong(format!("{path} is damaged ({reason}); {way_out}")));
    }
    let held = format!("{path}: {transactions} transactions, {alerts} alerts, sound");
    Ok(match cx.store.trouble() {
        Some(trouble) => Finding::Warning(format!("{held}; {trouble}")),
        None => Finding::Fine(held),
    })
}

/// What lies below the store, and how much room there is to write it once more for a backup.
fn disk(cx: &Context<'_>) -> Finding {
    let folder = cx.store.path().parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let kind = filesystem::kind(folder).unwrap_or_else(|| "file system unknown".to_owned());
    let (bytes, log) = cx.store.sizes();
    let sizes = format!("store {}, its log {}", size(bytes), size(log));
    match filesystem::free(folder) {
        Some(free) if free < (bytes + log).saturating_mul(2) => {
            Finding::Warning(format!("{kind}, {} free, too little for a backup; {sizes}", size(free)))
        }
        Some(free) => Finding::Fine(format!("{kind}, {} free; {sizes}", size(free))),
        None => Finding::Fine(format!("{kind}; {sizes}")),
    }
}

/// The newest backup, and how old it is.
fn backup(is_empty: bool, cx: &Context<'_>) -> Finding {
    /// One is made each day that hoptop is used.
    const OLD: TimeDelta = TimeDelta::hours(48);
    let kept = cx.store.backups(cx.now.wall);
    let Some(newest) = kept.first() else {
        return match is_empty {
            true => Finding::Fine("none, for nothing is tracked".into()),
            false => Finding::Warning("none yet; hoptop makes one a day, `hoptop backup FILE` makes one now".into()),
        };
    };
    let ahead = kept.iter().filter(|kept| kept.at > cx.now.wall).count();
    if ahead > 0 {
        let newest = newest.path.display();
        return Finding::Warning(format!(
            "{ahead} of {} dated ahead of this clock: was it set back? {newest}",
            kept.len()
        ));
    }
    let age = span::long(span::between(newest.at, cx.now.wall));
    let line = format!("{} kept, the newest {age} old: {}", kept.len(), newest.path.display());
    if cx.now.wall - newest.at > OLD { Finding::Warning(line) } else { Finding::Fine(line) }
}

fn base_url(settings: &Settings) -> Finding {
    match &settings.base_url {
        None => Finding::Wrong("none: name the service with --base-url, HOPTOP_BASE_URL or in the profile".into()),
        Some(url) => match BaseUrl::parse(url) {
            Ok(url) => Finding::Fine(url.as_str().to_owned()),
            Err(error) => Finding::Wrong(error.to_string()),
        },
    }
}

/// The ID, and what its budget goes by.
fn id(settings: &Settings) -> (Finding, Option<String>) {
    match settings.integrator_id() {
        Ok(id) => {
            let source = settings.id_source().unwrap_or_default();
            let base = settings.base_url.as_ref().and_then(|url| BaseUrl::parse(url).ok());
            let fingerprint = base.map(|base| id.fingerprint(base.as_str()));
            (Finding::Fine(format!("{} from {source}, {} requests/s", id.last4(), settings.rps)), fingerprint)
        }
        Err(error) => (Finding::Wrong(error.to_string()), None),
    }
}

/// A profile that the dashboard polls beside the one in force.
fn beside(account: &Account, reach: Reach) -> Finding {
    let parsed = account.polling().map(|polling| BaseUrl::parse(&polling.base_url).map(|base| (polling, base)));
    let name = &account.profile;
    match parsed {
        Ok(Ok((polling, base))) => {
            let account = format!("{name}: {}, {} requests/s", polling.id.last4(), polling.rps);
            match service(&base, reach) {
                Finding::Fine(reached) => Finding::Fine(format!("{account}; {reached}")),
                Finding::Warning(reason) | Finding::Wrong(reason) => Finding::Warning(format!("{account}; {reason}")),
            }
        }
        Ok(Err(error)) => Finding::Wrong(format!("{name}: {error}")),
        Err(error) => Finding::Wrong(format!("{name}: {error}")),
    }
}

/// What all processes of this ID know of each other.
fn ledger(ledger: Option<&Ledger>, rps: f64, cx: &Context<'_>) -> Finding {
    let Some(ledger) = ledger else { return Finding::Fine("not used since the machine started".into()) };
    let rest = ledger.pace.resting_until().since(cx.now.mono);
    let under_way = ledger.under_way();
    let state = format!("limit {} requests/s as said last, {under_way} under way", ledger.limit());
    if ledger.limit() != rps {
        return Finding::Warning(format!(
            "{state}; you say {rps}, which counts as soon as a hoptop that polls says it"
        ));
    }
    match (rest.is_zero(), ledger.pace.share() < 1.0) {
        (false, _) => Finding::Warning(format!("{state}; the ID rests for {} after a 429", span::long(rest))),
        (true, true) => Finding::Warning(format!("{state}; cut to {:.0} % after a 429", ledger.pace.share() * 100.0)),
        (true, false) => Finding::Fine(state),
    }
}

/// Whether a connection is taken. Through a proxy only a request could tell.
fn service(base: &BaseUrl, reach: Reach) -> Finding {
    let proxies = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];
    let proxy = proxies.into_iter().find(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()));
    match (proxy, reach(base)) {
        (Some(name), _) if base.as_str().starts_with("https:") => {
            Finding::Fine(format!("reached through the proxy of {name}, and not asked; {SPENDS}"))
        }
        (_, Ok(reached)) => Finding::Fine(reached),
        (_, Err(reason)) => Finding::Warning(reason),
    }
}

/// Whether others are told of alerts, and what keeps them from it.
fn alerting(settings: &Settings, reader: &Reader) -> Result<Finding> {
    let channels = match notifiers::channels(settings) {
        Ok(channels) => channels,
        Err(error) => return Ok(Finding::Wrong(error.to_string())),
    };
    let names = notifiers::names(&channels);
    let missing = channels.iter().find_map(|channel| match channel {
        Channel::Command(words) => words.first().filter(|name| !program::is_there(name)),
        Channel::Webhook(_) => None,
    });
    if let Some(name) = missing {
        let way_out = "write its path, or check PATH";
        return Ok(Finding::Warning(format!("on_alert: there is no program {name}; {way_out}")));
    }
    if let [first, ..] = notification::troubles(&reader.notification_cursors(&settings.profile)?, &names).as_slice() {
        return Ok(Finding::Warning(format!("the last alert was not told: {first}")));
    }
    Ok(Finding::Fine(match names.as_slice() {
        [] => "no notifications; on_alert and webhook in the config file send alerts to others".into(),
        names => format!("told by {}", names.join(" and ")),
    }))
}

fn terminal() -> Finding {
    let term = std::env::var("TERM").unwrap_or_default();
    if !io::stdout().is_terminal() || !io::stdin().is_terminal() {
        return Finding::Fine("none here; the dashboard needs one, `hoptop watch` doesn't".into());
    }
    match term.as_str() {
        "" | "dumb" => Finding::Warning(format!("TERM is `{term}`: the dashboard prints the list instead")),
        term => Finding::Fine(term.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::{super::context::testing::Bench, *};
    use crate::{
        budget::{Budget as Shared, Returned},
        config::{self, Environment, Flags},
        domain::{fixtures, status::RouterStatus},
        store::Store,
    };

    const CANARY: &str = "canary-integrator-7f3a";

    fn settings(bench: &Bench, variables: &[(&str, &str)]) -> Settings {
        let flags = Flags { state_dir: Some(bench.folder.path().join("state")), ..Flags::default() };
        config::load(flags, &Environment::fixed(variables, Some(bench.folder.path()))).unwrap()
    }

    fn run(bench: &mut Bench, variables: &[(&str, &str)]) -> (String, Exit) {
        let settings = settings(bench, variables);
        let (out, err, exit) = bench.run(|cx| doctor(&DoctorArgs::default(), &settings, |_| Ok("reached".into()), cx));
        assert_eq!(err, "");
        assert!(!out.contains("canary"), "{out}");
        (out, exit.unwrap())
    }

    const ALL: [(&str, &str); 2] = [("HOPTOP_BASE_URL", "https://api.example"), ("HOPTOP_INTEGRATOR_ID", CANARY)];

    #[test]
    fn what_is_missing_is_wrong_and_says_the_way_out() {
        let (out, exit) = run(&mut Bench::new(), &[]);
        assert_eq!(exit, Exit::Error);
        let wrong: Vec<_> = out.lines().filter(|line| line.starts_with("WRONG")).collect();
        assert!(
            wrong.len() == 2 && wrong[0].contains("--base-url") && wrong[1].contains("HOPTOP_INTEGRATOR_ID"),
            "{out}"
        );
    }

    #[test]
    fn what_keeps_alerts_from_being_told_is_said() {
        let mut bench = Bench::new();
        let config = bench.folder.path().join(".config/hoptop/config.toml");
        std::fs::create_dir_all(config.parent().unwrap()).unwrap();
        let mut said = |text: &str| {
            std::fs::write(&config, text).unwrap();
            let (out, exit) = run(&mut bench, &ALL);
            (out.lines().find(|line| line.contains("  alerting")).unwrap().to_owned(), exit)
        };
        assert!(said("").0.starts_with("ok     alerting  no notifications"));
        assert!(said("on_alert = \"no-such-program-here\"").0.contains("there is no program no-such-program-here"));
        assert!(said("webhook = \"https://hooks.example/canary\"").0.ends_with("told by webhook"));
        let (line, exit) = said("webhook = \"http://hooks.example/canary\"");
        assert!(line.starts_with("WRONG") && exit == Exit::Error, "{line}");
    }

    #[test]
    fn a_budget_that_is_short_says_what_would_help() {
        let mut bench = Bench::new();
        for number in 1..=100 {
            let row = bench.track(fixtures::new(number));
            bench.hear(row, fixtures::says(RouterStatus::Ongoing), 30);
        }
        let (out, exit) = run(&mut bench, &ALL);
        assert_eq!(exit, Exit::Fine);
        assert!(out.contains("look   budget    100 to poll need 1.11 of the 0.83 requests/s"), "{out}");
        assert!(out.contains("a limit of 2 RPS would do"), "{out}");
        assert!(out.contains("ok     id        …7f3a from HOPTOP_INTEGRATOR_ID"), "{out}");
        assert!(out.contains("look   poller    nobody polls now"), "{out}");
    }

    #[test]
    fn what_other_processes_did_to_the_id_is_said() {
        let mut bench = Bench::new();
        let fingerprint = id(&settings(&bench, &ALL)).1.unwrap();
        let now = crate::clock::Now { mono: crate::clock::Mono::default(), wall: chrono::DateTime::UNIX_EPOCH };
        let mut other = Shared::shared(&bench.folder.path().join("state"), &fingerprint, 1.0, now).unwrap();
        let ticket = other.take(now.mono + std::time::Duration::from_secs(1)).unwrap();
        let (out, _) = run(&mut bench, &ALL);
        assert!(out.contains("ok     ledger    limit 1 requests/s as said last, 1 under way"), "{out}");
        other.hand_back(ticket, Returned::Throttled { retry_after: None, jitter: 0.0 }, (now.mono, now.mono));
        let (out, _) = run(&mut bench, &ALL);
        assert!(
            out.contains("look   ledger    limit 1 requests/s as said last, 0 under way; the ID rests for 1s"),
            "{out}"
        );
    }

    #[test]
    fn a_limit_that_somebody_else_said_is_pointed_out() {
        let mut bench = Bench::new();
        let fingerprint = id(&settings(&bench, &ALL)).1.unwrap();
        let now = crate::clock::Now { mono: crate::clock::Mono::default(), wall: chrono::DateTime::UNIX_EPOCH };
        let _other = Shared::shared(&bench.folder.path().join("state"), &fingerprint, 8.0, now).unwrap();
        let (out, _) = run(&mut bench, &ALL);
        assert!(out.contains("look   ledger    limit 8 requests/s as said last, 0 under way; you say 1,"), "{out}");
    }

    #[test]
    fn the_store_its_disk_and_its_backup_are_looked_at() {
        let mut bench = Bench::new();
        let (out, _) = run(&mut bench, &ALL);
        assert!(out.contains("0 transactions, 0 alerts, sound\n"), "{out}");
        assert!(out.contains("ok     backup    none, for nothing is tracked"), "{out}");
        bench.track(fixtures::new(1));
        assert!(run(&mut bench, &ALL).0.contains("look   backup    none yet; hoptop makes one a day"));
        let two_days_before = super::super::context::testing::at(60) - TimeDelta::hours(49);
        Store::backup_if_due(bench.store.path(), two_days_before, &|| true).unwrap();
        let (out, _) = run(&mut bench, &ALL);
        assert!(out.contains("look   backup    1 kept, the newest 2d 01h old: "), "{out}");
        assert!(out.contains(" free; store ") && out.contains(" kB, its log "), "{out}");
        let next_year = two_days_before + TimeDelta::days(365);
        Store::backup_if_due(bench.store.path(), next_year, &|| true).unwrap();
        let (out, _) = run(&mut bench, &ALL);
        assert!(out.contains("look   backup    1 of 2 dated ahead of this clock: was it set back?"), "{out}");
    }

    #[test]
    fn answers_from_the_future_mean_that_the_clock_was_set_back() {
        let mut bench = Bench::new();
        let row = bench.track(fixtures::new(1));
        bench.hear(row, fixtures::says(RouterStatus::Ongoing), 3_660);
        let (out, _) = run(&mut bench, &ALL);
        assert!(out.contains("look   clock     the last answer is 1h 00m ahead of this clock"), "{out}");
    }
}
