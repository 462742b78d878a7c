//! The loop's part in a question for a route: into the store and out of it.
//!
//! It must never send anything: whoever polls does.

use chrono::{DateTime, Utc};

use super::Dashboard;
use crate::{
    domain::operation::Operation,
    store::{Outcome, StoreError},
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
                let operation = Operation::AskQuote { profile, request, wanted_until: until };
                let asked = store.apply(operation, at).wait().and_then(Outcome::asked);
                Msg::Quote(QuoteHeard::Asked(until, asked.map_err(|error| error.to_string())))
            }),
            QuoteWork::Read(id) => {
                self.read(&details, move |reader| Ok(Msg::Quote(QuoteHeard::Read(id, reader.quote(id)?.map(Box::new)))))
            }
            QuoteWork::Withdraw { id, until } => self.spawn(move || {
                let withdraw = || {
                    let Some(quote) = details.read(|reader| reader.quote(id))? else { return Ok(None) };
                    // Not with the reader in hand: others wait for that.
                    store.apply(Operation::WithdrawQuote { quote: quote.key(), wanted_until: until }, at).wait()?;
                    details.read(|reader| reader.quote(id))
                };
                withdraw().map_or_else(
                    |error: StoreError| Msg::Fault(error.to_string()),
                    |quote| Msg::Quote(QuoteHeard::Read(id, quote.map(Box::new))),
                )
            }),
        }
    }
}
