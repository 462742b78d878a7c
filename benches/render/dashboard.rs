//! Drives the dashboard's model over a store without the real loop, so that a single frame can be timed.

use hoptop::internals::{
    clock::Clock,
    store::{FeedReader, Reader, Store},
    tui::{DashboardSettings, Effect, Model, Msg, StoreUpdate, key_text, step},
};

use crate::tracked::PROFILE;

pub(crate) struct ModelDashboard {
    pub model: Model,
    reader: Reader,
    clock: Clock,
}

impl ModelDashboard {
    pub(crate) fn open(store: &Store, size: (u16, u16), clock: &Clock) -> Self {
        let reader = store.reader().unwrap();
        let feed = FeedReader::new(store.reader().unwrap()).changes().unwrap();
        let own = reader.polling(PROFILE, clock.now().wall).unwrap();
        let mut dashboard = Self { model: Model::new(setting(), size), reader, clock: clock.clone() };
        dashboard.handle_message(Msg::StoreChanged(Box::new(StoreUpdate { feed, own, ..StoreUpdate::default() })));
        assert!(dashboard.model.list.part.rows.len() > usize::from(size.1) / 2, "rows for the whole screen");
        dashboard
    }

    pub(crate) fn press(&mut self, key: &str) {
        self.handle_message(Msg::Key(key_text::parse(key).unwrap()));
    }

    /// Handles a message, and loads the list pages that the model requests.
    fn handle_message(&mut self, message: Msg) {
        let now = self.clock.now();
        for effect in step(&mut self.model, message, now) {
            if let Effect::LoadPage(request) = effect {
                let page = self.reader.listing(&request.filter, now.wall).page(
                    request.position.clone(),
                    request.length,
                    &self.model.loaded_rows(),
                );
                self.handle_message(Msg::Page(Box::new((request, page.map_err(|error| error.to_string())))));
            }
        }
    }
}

pub(crate) fn setting() -> DashboardSettings {
    DashboardSettings {
        shown_id: Some("…7f3a".into()),
        is_polling: false,
        ..DashboardSettings::of_profile(PROFILE, std::process::id())
    }
}
