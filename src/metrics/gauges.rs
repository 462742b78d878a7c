//! What is read of the store when somebody asks for the metrics: how many stand how, and how polling goes.
//!
//! It must never name a transaction, a ticket or an integrator ID: what asks for metrics keeps them for long.

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{family::Family, gauge::Gauge},
    registry::{Registry, Unit},
};

use crate::{
    clock::Now,
    domain::{span, status::RouterStatus},
    store::{PollerReport, Reader, StoreError},
};

/// A number that isn't whole.
type Real = Gauge<f64, std::sync::atomic::AtomicU64>;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Status {
    status: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Standing {
    rule: &'static str,
    severity: &'static str,
    state: &'static str,
}

/// Reads them of a profile. Costs n in what is tracked.
pub(super) fn read(reader: &Reader, profile: &str, now: Now) -> Result<Registry, StoreError> {
    let labels = [("profile".into(), profile.to_owned().into())];
    let mut registry = Registry::with_prefix_and_labels("hoptop", labels.into_iter());
    transactions(reader, profile, &mut registry)?;
    alerts(reader, profile, (&mut registry, now))?;
    if let Some(oldest) = reader.oldest_answer(profile)? {
        let said = "Of the transactions that are polled, the age of the oldest answer";
        let age = span::between(oldest, now.wall).as_secs_f64();
        registry.register_with_unit("oldest_answer_age", said, Unit::Seconds, real(age));
    }
    let report = reader.poller(profile)?.filter(|report| report.is_live(now.wall));
    let said = "Whether somebody polls this profile, here or in another process";
    registry.register("poller_up", said, real(f64::from(u8::from(report.is_some()))));
    if let Some(report) = report {
        polling(&report, &mut registry);
    }
    Ok(registry)
}

fn transactions(reader: &Reader, profile: &str, registry: &mut Registry) -> Result<(), StoreError> {
    let tracked = Family::<Status, Gauge>::default();
    let count = |status| tracked.get_or_create(&Status { status }).clone();
    // Those that there are none of are zero, and not absent.
    count("unanswered").set(0);
    count("unknown").set(0);
    for status in RouterStatus::DOCUMENTED {
        count(status.name()).set(0);
    }
    for (status, found) in reader.by_status(profile)? {
        let name = status.as_ref().map_or("unanswered", RouterStatus::name);
        count(name).inc_by(i64::try_from(found).unwrap_or(i64::MAX));
    }
    registry.register("transactions", "What is tracked, by status", tracked);
    Ok(())
}

fn alerts(reader: &Reader, profile: &str, (registry, now): (&mut Registry, Now)) -> Result<(), StoreError> {
    let standing = Family::<Standing, Gauge>::default();
    for (rule, counts) in reader.alerts_by_rule(profile, now.wall)? {
        for (state, count) in ["firing", "set_aside"].into_iter().zip(counts) {
            let labels = Standing { rule: rule.name(), severity: rule.severity().name(), state };
            standing.get_or_create(&labels).set(i64::try_from(count).unwrap_or(i64::MAX));
        }
    }
    registry.register("alerts", "What stands as an alert; acknowledged and snoozed ones are set aside", standing);
    Ok(())
}

fn polling(report: &PollerReport, registry: &mut Registry) {
    let need = report.need.unwrap_or_default();
    let paused = f64::from(u8::from(report.health == "paused"));
    for (name, said, number) in [
        ("budget_limit", "Requests a second that the ID may send", report.rps),
        ("budget_used", "Requests a second over the last ten seconds", report.used),
        ("budget_needed", "Requests a second that would keep all answers as fresh as they should be", need.polls),
        ("budget_allowed", "Requests a second that the budget allows, with the time that they take", need.allowed),
        ("budget_share", "The share of the limit that is used: less than 1 after an HTTP 429", report.share),
        ("poller_paused", "Whether a person wants nothing polled", paused),
    ] {
        registry.register(name, said, real(number));
    }
    let polled = Gauge::<i64>::default();
    polled.set(i64::try_from(report.unsettled).unwrap_or(i64::MAX));
    registry.register("polled_transactions", "Transactions that are polled", polled);
}

fn real(number: f64) -> Real {
    let gauge = Real::default();
    gauge.set(number);
    gauge
}
