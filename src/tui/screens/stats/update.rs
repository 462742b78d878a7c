//! The update of the charts: the data is loaded again after changes of the store.
//!
//! A load takes time in proportion to the number of tracked transactions, so loads must be rare.

use std::time::Duration;

use super::state::{ChartRange, Statistics};
use crate::{
    clock::MonotonicTime,
    domain::filter::Direction,
    tui::{
        effect::Effect,
        model::{MessageTone, Model, Screen},
        screens::list::{tab::Tab, update::views},
    },
};

/// The shortest pause between two loads.
const MIN_PAUSE: Duration = Duration::from_secs(5);
/// The pause after a load, as a multiple of the load's duration.
const PAUSE_FACTOR: u32 = 50;
/// The longest pause between two loads: a load may seem long because the process was suspended.
const MAX_PAUSE: Duration = Duration::from_secs(5 * 60);

/// Loads the statistics if the charts are shown and stale, and the pause since the last load is over.
pub(crate) fn load_if_due(model: &mut Model, now: MonotonicTime) {
    let charts = &mut model.stats;
    if model.screen != Screen::Stats || !charts.is_stale || charts.is_loading || now < charts.next_load_at {
        return;
    }
    (charts.is_stale, charts.is_loading) = (false, true);
    model.effects.push(Effect::LoadStatistics(charts.range));
}

/// Chooses the next period for the charts, and loads its statistics at once.
pub(crate) fn next_range(model: &mut Model) {
    model.stats.range = Direction::Forwards.neighbor(&ChartRange::ALL, model.stats.range);
    (model.stats.is_stale, model.stats.is_loading) = (false, true);
    model.effects.push(Effect::LoadStatistics(model.stats.range))
}

/// Shows the transfers of the chosen route in the list, in a temporary view.
pub(crate) fn open_route(model: &mut Model) {
    let Some(route) = model.stats.summary().map(|summary| summary.route.clone()) else { return };
    let Some(route) = route else { return views::show_tab(model, Tab::All) };
    let mut filter = format!("from:{} to:{}", quoted(route.from.as_str()), quoted(route.to.as_str()));
    // The charts are those of the active profile.
    if model.setting.profiles().count() > 1 {
        filter.push_str(&format!(" profile:{}", quoted(&model.setting.profile)));
    }
    model.begin_search(&filter);
    model.show_list();
    model.effects.push(Effect::Count)
}

/// Returns the value of a filter's term, in quotation marks unless it consists of letters and digits.
fn quoted(id: &str) -> String {
    let is_plain = id.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '-');
    if is_plain { id.to_owned() } else { format!("\"{}\"", id.replace('"', "")) }
}

/// Shows the statistics of a period, or the error, and sets the next load by the duration of this load. Statistics of
/// another period than the chosen one are ignored: those of the chosen period are being loaded.
pub(crate) fn on_statistics(
    model: &mut Model,
    (range, loaded, load_time): (ChartRange, Result<Statistics, String>, Duration),
    now: MonotonicTime,
) {
    if range != model.stats.range {
        return;
    }
    model.stats.is_loading = false;
    model.stats.next_load_at = now + (load_time * PAUSE_FACTOR).clamp(MIN_PAUSE, MAX_PAUSE);
    match loaded {
        Ok(statistics) => model.stats.apply_statistics(statistics),
        Err(error) => {
            model.stats.is_stale = true;
            model.show_message(MessageTone::Bad, error, now);
        }
    }
}
