//! The quote form: what a person asks a route for, what became of the question, and the hash of the transaction that
//! follows it.
//!
//! What was typed stays when the form is closed. It must never show an answer beside values that it wasn't given for.

use chrono::{DateTime, Utc};
use tui_input::Input;

use crate::{
    domain::{
        chains::{self, Chain},
        quote::{
            Quote, QuoteAnswer, QuoteRequest,
            draft::{Draft, Part, Wrong},
        },
        transaction::NewTransaction,
    },
    intake::{self, Field},
    store::StoredQuote,
};

/// The form's state.
#[derive(Debug, Default)]
pub struct QuoteForm {
    /// What is typed for each of [`Part::ALL`].
    pub inputs: [Input; Part::ALL.len()],
    /// Which of these takes the keys, unless the answer does.
    pub place: usize,
    /// What is wrong with what was typed, as Enter found it.
    pub wrong: Vec<Wrong>,
    /// How far the question has come.
    pub stage: Stage,
}

/// How far a question has come.
#[derive(Debug, Default)]
pub enum Stage {
    /// It is being written.
    #[default]
    Writing,
    /// It goes into the store.
    Asking {
        /// How long it is waited for, by which its answer is known.
        until: DateTime<Utc>,
    },
    /// Whoever polls is to ask it.
    Waiting {
        /// The store's number.
        id: i64,
        /// How long it is waited for.
        until: DateTime<Utc>,
    },
    /// An answer came. It takes the keys.
    Answered(Answer),
    /// The wallet has to wait; nothing was sent.
    Held {
        /// Until when.
        until: DateTime<Utc>,
        /// What the service said.
        message: String,
    },
    /// Nothing came, for this reason.
    InVain(String),
    /// The transaction that follows the answer is being named.
    Tracking {
        /// The answer.
        answer: Answer,
        /// The transaction's hash.
        hash: Input,
        /// What is wrong with that, or went wrong.
        wrong: Option<String>,
        /// Whether it is being tracked.
        is_sent: bool,
    },
}

impl Stage {
    /// What the keys do, for the footer.
    pub fn hints(&self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Writing | Self::Held { .. } | Self::InVain(_) => {
                &[("Enter", "ask (1 request)"), ("Tab", "next"), ("^U", "empty it"), ("Esc", "close")]
            }
            Self::Asking { .. } | Self::Waiting { .. } => &[("Esc", "stop waiting")],
            Self::Answered(answer) if answer.quote_id().is_some() => {
                &[("y", "copy quoteId"), ("T", "track with it"), ("Tab", "back to the values"), ("Esc", "close")]
            }
            Self::Answered(_) => &[("Enter", "ask again (1 request)"), ("Tab", "back to the values"), ("Esc", "close")],
            Self::Tracking { .. } => &[("Enter", "track"), ("Esc", "back to the quote")],
        }
    }
}

/// An answer to a question for a route.
#[derive(Clone, Debug)]
pub struct Answer {
    /// What was asked and what came.
    pub quote: Box<StoredQuote>,
    /// Whether it is an earlier answer to the same question, for which nothing was sent.
    pub kept: bool,
}

impl Answer {
    /// The route, if there is one.
    pub fn route(&self) -> Option<&Quote> {
        match self.quote.answer.as_ref()? {
            QuoteAnswer::Route(route) => Some(route),
            QuoteAnswer::WalletLimited { .. } | QuoteAnswer::Failed(_) => None,
        }
    }

    /// What the status endpoint needs of the route.
    pub fn quote_id(&self) -> Option<&str> {
        self.route()?.quote_id.as_deref()
    }

    /// The transaction with this hash, sent with this quote.
    ///
    /// # Errors
    /// What is wrong with the hash.
    pub fn transaction(&self, hash: &str) -> Result<NewTransaction, String> {
        let request = &self.quote.request;
        let estimate = self.route().and_then(|route| route.estimate);
        let estimate = estimate.map_or_else(String::new, |estimate| estimate.as_secs_f64().to_string());
        let values = [
            (Field::TransactionId, hash),
            (Field::FromChainId, request.from_chain.as_str()),
            (Field::ToChainId, request.to_chain.as_str()),
            (Field::QuoteId, self.quote_id().unwrap_or_default()),
            (Field::EstimatedRouteDuration, estimate.as_str()),
            (Field::FromAddress, request.from_address.as_str()),
        ];
        // The chains were asked with, so they pass.
        let (new, _) = intake::one(&values, true)
            .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join(". "))?;
        Ok(new)
    }
}

impl QuoteForm {
    /// What is typed for a value.
    pub fn value(&self, part: Part) -> &str {
        self.inputs.get(part as usize).map_or("", Input::value)
    }

    /// The value that takes the keys; `None` while the answer does, or nothing may be changed.
    pub fn focus(&self) -> Option<Part> {
        let is_open = matches!(self.stage, Stage::Writing | Stage::Held { .. } | Stage::InVain(_));
        Part::ALL.get(self.place).copied().filter(|_| is_open)
    }

    /// Goes so many values on, round the ends; from an answer it goes back to the values.
    pub fn move_by(&mut self, values: isize) {
        self.settle();
        let count = Part::ALL.len() as isize;
        self.place = (self.place as isize + values).rem_euclid(count).unsigned_abs();
        if let Stage::Answered(_) = self.stage {
            self.stage = Stage::Writing;
        }
    }

    /// What is typed has changed: what was said of it counts no more.
    pub fn changed(&mut self) {
        let place = self.place;
        self.wrong.retain(|wrong| wrong.part as usize != place);
        self.stage = Stage::Writing;
    }

    /// The chains that may be meant by what is typed, while that isn't the ID of one.
    pub fn meant(&self, part: Part) -> Vec<&'static Chain> {
        match part {
            Part::FromChain | Part::ToChain => chains::meant(self.value(part)),
            _ => Vec::new(),
        }
    }

    /// Puts a chain's ID in the place of its name, where only one is meant.
    pub fn settle(&mut self) {
        for part in [Part::FromChain, Part::ToChain] {
            if let ([chain], Some(input)) = (self.meant(part).as_slice(), self.inputs.get_mut(part as usize)) {
                *input = Input::new(chain.id.to_string());
            }
        }
    }

    /// The request; nothing if the service could only refuse it. Then the first value that is wrong takes the keys.
    pub fn request(&mut self, any_chain: bool) -> Option<QuoteRequest> {
        self.settle();
        let to_address = Some(self.value(Part::ToAddress)).filter(|text| !text.trim().is_empty());
        let draft = Draft {
            from_chain: self.value(Part::FromChain),
            from_token: self.value(Part::FromToken),
            from_amount: self.value(Part::FromAmount),
            to_chain: self.value(Part::ToChain),
            to_token: self.value(Part::ToToken),
            from_address: self.value(Part::FromAddress),
            to_address,
            quote_only: true,
        };
        match draft.request(any_chain) {
            Ok(request) => Some(request),
            Err(wrong) => {
                self.place = wrong.first().map_or(self.place, |wrong| wrong.part as usize);
                self.wrong = wrong;
                None
            }
        }
    }
}
