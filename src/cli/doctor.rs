//! `hoptop doctor`: looks at everything that polling needs, and says what to do about what is missing.
//!
//! It must never spend a request, nor show more of the ID than its last four characters.

use std::io::{self, IsTerminal, Write};

use color_eyre::eyre::Result;

use super::{context::Context, exit::Exit, stats::Budget};
use crate::{
    api::BaseUrl,
    budget::{self, Ledger},
    config::Settings,
    domain::{span, text},
};

/// How a check ended.
enum Finding {
    Fine(String),
    /// It works, but somebody should know.
    Warning(String),
    /// Polling can't work like that.
    Wrong(String),
}

/// Prints one line for each check.
pub fn doctor(settings: &Settings, cx: &mut Context) -> Result<Exit> {
    let mut findings = vec![("config", config(settings)), ("base url", base_url(settings))];
    let (id, fingerprint) = id(settings);
    findings.push(("id", id));
    let (transactions, alerts, _) = cx.store.reader()?.load()?;
    let (path, count) = (cx.store.path().display(), transactions.len());
    findings.push(("store", Finding::Fine(format!("{path}: {count} transactions, {} alerts", alerts.len()))));
    let budget = Budget::read(cx, settings.rps)?;
    let [need, polling] = budget.lines();
    findings.push(("poller", if budget.poller.is_some() { Finding::Fine(polling) } else { Finding::Warning(polling) }));
    let ledger = fingerprint.and_then(|fingerprint| budget::peek(&settings.state_dir, &fingerprint));
    findings.push(("ledger", self::ledger(ledger.as_ref(), cx)));
    findings.push(("budget", if budget.need.is_short() { Finding::Warning(need) } else { Finding::Fine(need) }));
    let ahead = transactions.iter().filter_map(|tx| tx.learned.last_checked_at).filter(|at| *at > cx.now.wall).max();
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
    findings.push(("service", Finding::Fine("not asked; `hoptop check TX` spends one request on it".into())));
    print(&findings, cx.out)
}

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
    let fingerprint = settings.polling().ok().and_then(|polling| {
        let base = BaseUrl::parse(&polling.base_url).ok()?;
        Some(polling.id.fingerprint(base.as_str()))
    });
    let finding = match settings.integrator_id() {
        Ok(id) => {
            let source = settings.id_source().unwrap_or_default();
            Finding::Fine(format!("{} from {source}, {} requests/s", id.last4(), settings.rps))
        }
        Err(error) => Finding::Wrong(error.to_string()),
    };
    (finding, fingerprint)
}

/// What all processes of this ID know of each other.
fn ledger(ledger: Option<&Ledger>, cx: &Context<'_>) -> Finding {
    let Some(ledger) = ledger else { return Finding::Fine("not used since the machine started".into()) };
    let rest = ledger.pace.resting_until().since(cx.now.mono);
    let under_way = ledger.under_way();
    let state = format!("limit {} requests/s as said last, {under_way} under way", ledger.limit());
    match (rest.is_zero(), ledger.pace.share() < 1.0) {
        (false, _) => Finding::Warning(format!("{state}; the ID rests for {} after a 429", span::long(rest))),
        (true, true) => Finding::Warning(format!("{state}; cut to {:.0} % after a 429", ledger.pace.share() * 100.0)),
        (true, false) => Finding::Fine(state),
    }
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
