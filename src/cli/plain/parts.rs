//! The parts that the plain dashboard is started with.

use crate::{clock::Clock, domain::answer::Templates, store::Store, tui::model::DashboardSettings};

/// The store, the clock and the settings of a plain dashboard.
pub(crate) struct PlainInputs {
    /// The store whose changes are printed.
    pub store: Store,
    /// The source of the time.
    pub clock: Clock,
    /// The profiles, the time zone and the reply templates.
    pub setting: DashboardSettings,
    /// The limit in requests per second.
    pub rps: f64,
    /// The mark of a shortened text.
    pub ellipsis: &'static str,
}

impl PlainInputs {
    /// Returns the reply templates of the settings.
    pub(super) fn templates(&self) -> &Templates {
        &self.setting.templates
    }
}
