//! The state of the quote form: the values of the request, its progress, and the hash of the transaction to track.
//!
//! Typed values stay when the form closes. The form must never show an answer beside values of another request.

use chrono::{DateTime, Utc};
use tui_input::Input;

use crate::{
    domain::{
        chains::{self, Chain},
        quote::{
            Quote, QuoteAnswer, QuoteRequest,
            fields::{QuoteField, QuoteFieldError},
        },
        transaction::NewTransaction,
    },
    intake::{self, Field, ReadOptions},
    store::StoredQuote,
};

/// The state of the quote form.
#[derive(Debug, Default)]
pub struct QuoteForm {
    /// The typed values, in the order of [`QuoteField::ALL`].
    pub inputs: [Input; QuoteField::ALL.len()],
    /// The index of the value that takes the keys, unless the answer takes them.
    pub cursor: usize,
    /// The errors that Enter found in the values.
    pub errors: Vec<QuoteFieldError>,
    /// The progress of the request.
    pub stage: QuoteStage,
}

/// The progress of a request.
#[derive(Debug, Default)]
pub enum QuoteStage {
    /// The values are being typed.
    #[default]
    Writing,
    /// The request is being written to the store.
    Asking {
        /// The end of the wait, which identifies the request.
        until: DateTime<Utc>,
    },
    /// The store has the request, and the poller will send it.
    Waiting {
        /// The number of the request in the store.
        id: i64,
        /// The end of the wait.
        until: DateTime<Utc>,
    },
    /// An answer arrived. The answer takes the keys.
    Answered(QuoteOutcome),
    /// The service limits this wallet, so no request was sent.
    WalletLimited {
        /// The end of the limit.
        until: DateTime<Utc>,
        /// The message of the service.
        message: String,
    },
    /// No answer arrived, for this reason.
    NoAnswer(String),
    /// The hash of the transaction to track is being typed.
    Tracking {
        answer: QuoteOutcome,
        /// The transaction's hash.
        hash: Input,
        /// The error in the hash, or the error of the import.
        error: Option<String>,
        /// Whether the import was sent.
        is_sent: bool,
    },
}

impl QuoteStage {
    /// Returns the keys and their present actions, for the footer.
    pub fn hints(&self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Writing | Self::WalletLimited { .. } | Self::NoAnswer(_) => {
                &[("Enter", "quote (1 request)"), ("Tab", "next"), ("^U", "clear the value"), ("Esc", "close")]
            }
            Self::Asking { .. } | Self::Waiting { .. } => &[("Esc", "stop waiting")],
            Self::Answered(answer) if answer.quote_id().is_some() => {
                &[("y", "copy quoteId"), ("T", "track with it"), ("Tab", "back to the values"), ("Esc", "close")]
            }
            Self::Answered(_) => {
                &[("Enter", "quote again (1 request)"), ("Tab", "back to the values"), ("Esc", "close")]
            }
            Self::Tracking { .. } => &[("Enter", "track"), ("Esc", "back to the quote")],
        }
    }
}

/// An answer to a quote request.
#[derive(Clone, Debug)]
pub struct QuoteOutcome {
    /// The request and its answer.
    pub quote: Box<StoredQuote>,
    /// Whether the answer is an earlier one to the same request, so that no request was sent.
    pub is_stored: bool,
}

impl QuoteOutcome {
    /// Returns the route, if the service found one.
    pub fn route(&self) -> Option<&Quote> {
        match self.quote.answer.as_ref()? {
            QuoteAnswer::Route(route) => Some(route),
            QuoteAnswer::WalletLimited { .. } | QuoteAnswer::Failed(_) => None,
        }
    }

    /// Returns the route's `quoteId`, which the status endpoint requires.
    pub fn quote_id(&self) -> Option<&str> {
        self.route()?.quote_id.as_deref()
    }

    /// Returns the transaction with this hash and the values of this quote.
    ///
    /// # Errors
    /// A sentence about the error in the hash.
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
        // The service has accepted the chains, so any chain passes here.
        let (new, _) = intake::parse_one(&values, &ReadOptions { allows_any_chain: true, ..ReadOptions::default() })
            .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join(". "))?;
        Ok(new)
    }
}

impl QuoteForm {
    /// Returns the typed text of a value.
    pub fn value(&self, field: QuoteField) -> &str {
        self.inputs.get(field as usize).map_or("", Input::value)
    }

    /// Returns the value that takes the keys; `None` while the answer takes them, or while the values can't be changed.
    pub fn focus(&self) -> Option<QuoteField> {
        let is_open =
            matches!(self.stage, QuoteStage::Writing | QuoteStage::WalletLimited { .. } | QuoteStage::NoAnswer(_));
        QuoteField::ALL.get(self.cursor).copied().filter(|_| is_open)
    }

    /// Moves the focus by this many values, round the ends. From an answer, returns to the values.
    pub fn move_by(&mut self, values: isize) {
        self.expand_chain_names();
        let count = QuoteField::ALL.len() as isize;
        self.cursor = (self.cursor as isize + values).rem_euclid(count).unsigned_abs();
        if let QuoteStage::Answered(_) = self.stage {
            self.stage = QuoteStage::Writing;
        }
    }

    /// Drops the error of the changed value, and the answer to the previous values.
    pub fn on_value_changed(&mut self) {
        let index = self.cursor;
        self.errors.retain(|error| error.field as usize != index);
        self.stage = QuoteStage::Writing;
    }

    /// Returns the chains whose names match the typed text; none if the text is an ID.
    pub fn matching_chains(&self, field: QuoteField) -> Vec<&'static Chain> {
        match field {
            QuoteField::FromChain | QuoteField::ToChain => chains::chains_by_name(self.value(field)),
            _ => Vec::new(),
        }
    }

    /// Replaces the names of chains with their IDs, where a name is unambiguous.
    pub fn expand_chain_names(&mut self) {
        for field in [QuoteField::FromChain, QuoteField::ToChain] {
            if let ([chain], Some(input)) =
                (self.matching_chains(field).as_slice(), self.inputs.get_mut(field as usize))
            {
                *input = Input::new(chain.id.to_string());
            }
        }
    }

    /// Returns the request. If a value is invalid, returns `None` and focuses the first invalid value.
    pub fn request(&mut self, any_chain: bool) -> Option<QuoteRequest> {
        self.expand_chain_names();
        let value = |field| match self.value(field) {
            text if field == QuoteField::ToAddress && text.trim().is_empty() => None,
            text => Some(text),
        };
        match QuoteRequest::parse(value, true, any_chain) {
            Ok(request) => Some(request),
            Err(errors) => {
                self.cursor = errors.first().map_or(self.cursor, |error| error.field as usize);
                self.errors = errors;
                None
            }
        }
    }
}
