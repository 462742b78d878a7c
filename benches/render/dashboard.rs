//! The dashboard's model over a store, kept up by hand instead of by the loop: so that a frame alone can be timed.

use chrono::{Offset, Utc};
use hoptop::{
    clock::Clock,
    domain::answer::Templates,
    store::{FeedReader, Reader, Store},
    tui::{
        effect::Effect,
        keymap,
        keys::Keys,
        model::{Model, Setting, polled::Polled},
        step::step,
        update::{Msg, StoreNews},
    },
};

use crate::tracked::PROFILE;

pub struct Dashboard {
    pub model: Model,
    reader: Reader,
    clock: Clock,
}

impl Dashboard {
    pub fn open(store: &Store, size: (u16, u16), clock: &Clock) -> Self {
        let reader = store.reader().unwrap();
        let news = FeedReader::new(store.reader().unwrap()).changes().unwrap();
        let oldest_answer = reader.oldest_answer(PROFILE).unwrap();
        let mut dashboard = Self { model: Model::new(setting(), size), reader, clock: clock.clone() };
        dashboard.take(Msg::News(Box::new(StoreNews {
            news,
            own: Polled { oldest_answer, ..Polled::default() },
            ..StoreNews::default()
        })));
        assert!(dashboard.model.list.part.rows.len() > usize::from(size.1) / 2, "rows for the whole screen");
        dashboard
    }

    pub fn press(&mut self, key: &str) {
        self.take(Msg::Key(keymap::parse(key).unwrap()));
    }

    /// Takes a message in, and reads the parts of the list that it asks for.
    fn take(&mut self, message: Msg) {
        let now = self.clock.now();
        for effect in step(&mut self.model, message, now) {
            if let Effect::LoadPage(request) = effect {
                let page = self.reader.listing(&request.filter, now.wall).page(
                    request.place.clone(),
                    request.length,
                    &self.model.known(),
                );
                self.take(Msg::Page(Box::new((request, page.map_err(|error| error.to_string())))));
            }
        }
    }
}

pub fn setting() -> Setting {
    Setting {
        profile: PROFILE.into(),
        beside: Vec::new(),
        shown_id: Some("…7f3a".into()),
        demo: false,
        polls: false,
        process: std::process::id(),
        zone: Utc.fix(),
        any_chain: false,
        templates: Templates::default(),
        keys: Keys::default(),
        told_by: Vec::new(),
    }
}
