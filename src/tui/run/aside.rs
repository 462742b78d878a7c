//! The loop's reading of the charts and of the log, on the pool.
//!
//! The charts have a reader of their own, so that nothing else waits for what costs as much as is tracked.

use super::Dashboard;
use crate::tui::{look, tail, update::Msg};

impl Dashboard {
    pub(super) fn read_statistics(&mut self, profile: String) {
        let (reader, clock) = (self.charts.clone(), self.clock.clone());
        self.spawn(move || {
            let began = clock.now();
            let read = reader.read(|reader| look::statistics(reader, &profile, began.wall));
            let took = clock.now().mono.since(began.mono);
            Msg::Statistics(Box::new((read.map_err(|error| error.to_string()), took)))
        });
    }

    pub(super) fn read_log(&mut self, known: Option<u64>) {
        let log = self.log.clone();
        self.spawn(move || Msg::Log(log.map_or(Err("There is no log here.".into()), |log| tail::read(&log, known))));
    }
}
