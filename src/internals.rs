//! What hoptop's own program, tests and benchmarks use of the library.
//!
//! No promise is made for these items: they change with any version. Everything else is private to the crate.

pub mod api {
    pub use crate::api::{BODY_LIMIT, BaseUrl, Client, HttpAnswer, StatusAnswer, Timeouts, interpret, interpret_route};
}

pub mod budget {
    pub use crate::budget::{Budget, Pace, PaceHandover, RequestEnd, SlotPermit, SlotRefusal};
}

pub mod chain_rpc {
    pub use crate::chain_rpc::{ChainNodes, NodeSetting, read_body};
}

pub mod cli {
    pub use crate::cli::{install_hooks, main};

    pub mod commands {
        pub mod show {
            pub use crate::cli::commands::show::{ShowArgs, show};
        }
    }

    pub mod context {
        pub use crate::cli::context::Context;
    }
}

pub mod clock {
    pub use crate::clock::{Clock, MonotonicTime, Now};
}

pub mod config {
    pub use crate::config::{CommandLineSettings, Environment, load};
}

pub mod domain {
    pub mod alert {
        pub use crate::domain::alert::{Alert, Rule};
    }

    pub mod change {
        pub use crate::domain::change::Change;
    }

    pub mod filter {
        pub use crate::domain::filter::Filter;
    }

    pub mod duration_stats {
        pub use crate::domain::duration_stats::{DurationSample, DurationStats, RouteKey};
    }

    pub mod evidence {
        pub use crate::domain::evidence::{Evidence, SettledWithin, indexing};
    }

    pub mod forecast {
        pub use crate::domain::forecast::{Forecast, Lognormal};
    }

    pub mod ids {
        pub use crate::domain::ids::{ChainId, RowId, TransactionKey, TxHash};
    }

    pub mod notification {
        pub use crate::domain::notification::{NotificationMode, NotifiedEvent};
    }

    pub mod observation {
        pub use crate::domain::observation::{Observation, RequestFailure, StatusOutcome};
    }

    pub mod operation {
        pub use crate::domain::operation::{Edit, LocalEdit, Operation};
    }

    pub mod quote {
        pub use crate::domain::quote::{Amount, QuoteAnswer, QuoteObservation, QuoteRequest};
    }

    pub mod secret {
        pub use crate::domain::secret::IntegratorId;
    }

    pub mod team {
        pub use crate::domain::team::Nonce;
    }

    pub mod team_address {
        pub use crate::domain::team_address::{TeamAddress, find_service};
    }

    pub mod status {
        pub use crate::domain::status::RouterStatus;
    }

    pub mod text {
        pub use crate::domain::text::{FIELD_LIMIT, clean};
    }

    pub mod transaction {
        pub use crate::domain::transaction::{NewTransaction, Tracking, Transaction, TransactionParams};
    }
}

pub mod intake {
    pub use crate::intake::{
        InputFormat, InputPosition, LineError, ParsedFile, PasteFinding, PastedContent, ReadOptions, parse_paste, read,
    };
}

pub mod notify {
    pub use crate::notify::{Channel, Notifier, NotifierSetup, WebhookPosts, webhook::Webhook};
}

pub mod poller {
    pub use crate::poller::{
        Heartbeat, HttpTransport, LeasePermit, PollScope, PollerError, PollerSetup, ServiceTransport, run,
    };
}

pub mod process {
    pub use crate::process::run_id;
}

pub mod runtime {
    pub mod exit {
        pub use crate::runtime::exit::Exit;
    }
}

pub mod schedule {
    pub use crate::schedule::{Expectation, NextPoll, PollContext, PollResult, Scheduler};
}

pub mod sim {
    pub mod body {
        pub use crate::sim::body::{RecordContent, record};
    }

    pub mod chain_server {
        pub use crate::sim::chain_server::serve;
    }

    pub mod plan {
        pub use crate::sim::plan::{AnswerContent, FaultyAnswer, PlannedAnswer, Transfer, TransferStage};
    }

    pub mod scenario {
        pub use crate::sim::scenario::Scenario;
    }

    pub mod server {
        pub use crate::sim::server::{bind, serve};
    }

    pub mod service {
        pub use crate::sim::service::{RequestMethod, ServiceLimits, SimulatedRequest, SimulatedService};
    }

    pub mod world {
        pub use crate::sim::world::{CountsFrom, SimulatedWorld};
    }
}

pub mod store {
    pub use crate::store::{
        AlertCounts, AlertQuery, FeedReader, HistoryLine, ImportReport, LoadedRows, OnOperationKept, PagePosition,
        Reader, Receipt, Store, WakeKind, WatcherSteps, WriterSteps,
    };
}

pub mod team {
    pub use crate::team::{
        Connector, Fence, HolderId, MemberPresence, PasswordSources, PostgresConnection, SessionOptions, TeamError,
        start,
    };
}

pub mod tui {
    pub mod effect {
        pub use crate::tui::effect::Effect;
    }

    pub mod export {
        pub use crate::tui::export::ExportOrder;
    }

    pub mod input {
        pub use crate::tui::input::events;
        pub use crate::tui::input::framer::{InputFrame, InputFramer};
    }

    pub mod key_text {
        pub use crate::tui::key_text::parse;
    }

    pub mod message {
        pub use crate::tui::message::{Msg, StoreUpdate};
    }

    pub mod model {
        pub use crate::tui::model::{DashboardSettings, Model, Screen};
    }

    pub mod run {
        pub use crate::tui::run::{DashboardInputs, LogSource, RunError, run};
    }

    pub mod step {
        pub use crate::tui::step::step;
    }

    pub mod system {
        pub use crate::tui::system::System;

        pub mod clipboard {
            pub use crate::tui::system::clipboard::CopyMethod;
        }
    }

    pub mod terminal {
        pub use crate::tui::terminal::TerminalGuard;
    }

    pub mod theme {
        pub use crate::tui::theme::Theme;
    }

    pub mod view {
        pub use crate::tui::view::view;
    }
}
