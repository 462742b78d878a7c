//! The loop's part in a question for a route: into the store and out of it.
//!
//! It must never send anything: whoever polls does.

use chrono::{DateTime, Utc};

use super::Dashboard;
use crate::{
    store::QuoteWish,
    tui::{
        effect::QuoteWork,
        update::{Msg, QuoteHeard},
    },
};

impl Dashboard {
    /// Does it on the pool; what came of it comes back as a message.
    pub(super) fn quote(&mut self, work: QuoteWork, at: DateTime<Utc>) {
        let (store, profile) = (self.store.clone(), self.model.setting.profile.clone());
        let details = self.details.clone();
        match work {
            QuoteWork::Ask { request, until } => self.spawn(move || {
                let asked = store.ask_quote(QuoteWish { profile, request, at, until }).wait();
                Msg::Quote(QuoteHeard::Asked(until, asked.map_err(|error| error.to_string())))
            }),
            QuoteWork::Read(id) => {
                self.read(&details, move |reader| Ok(Msg::Quote(QuoteHeard::Read(id, reader.quote(id)?.map(Box::new)))))
            }
            QuoteWork::Withdraw { id, until } => self.spawn(move || {
                // Not with the reader in hand: others wait for that.
                let withdrawn = store.withdraw_quote(id, until, at).wait();
                let read = withdrawn.and_then(|_| details.read(|reader| reader.quote(id)));
                read.map_or_else(
                    |error| Msg::Fault(error.to_string()),
                    |quote| Msg::Quote(QuoteHeard::Read(id, quote.map(Box::new))),
                )
            }),
        }
    }
}
