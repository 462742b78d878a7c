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
    pub use crate::chain_rpc::{ChainNodes, NodeSetting, describe_body};
}

pub mod cli {
    pub use crate::cli::{
        commands::show::{ShowArgs, show},
        context::Context,
        install_hooks, main,
    };
}

pub mod clock {
    pub use crate::clock::{Clock, MonotonicTime, Now};
}

pub mod config {
    pub use crate::config::{CommandLineSettings, Environment, load};
}

pub mod domain {
    pub use crate::domain::{
        alert::{Alert, Rule},
        change::Change,
        duration_stats::{DurationSample, DurationStats, RouteKey},
        evidence::{Evidence, SettledWithin, indexing_forecast},
        filter::Filter,
        forecast::{Forecast, Lognormal},
        ids::{ChainId, RowId, TransactionKey, TxHash},
        notification::{NotificationMode, NotifiedEvent},
        observation::{Observation, RequestFailure, StatusOutcome},
        operation::{Edit, LocalEdit, Operation},
        quote::{Amount, QuoteAnswer, QuoteObservation, QuoteRequest},
        secret::IntegratorId,
        status::RouterStatus,
        team::Nonce,
        team_address::{TeamAddress, find_service},
        text::{FIELD_LIMIT, clean},
        transaction::{NewTransaction, Tracking, Transaction, TransactionParams},
    };
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
    pub use crate::runtime::exit::Exit;
}

pub mod schedule {
    pub use crate::schedule::{Expectation, NextPoll, PollContext, PollResult, Scheduler};
}

pub mod sim {
    pub use crate::sim::{
        body::{RecordContent, record},
        plan::{AnswerContent, FaultyAnswer, PlannedAnswer, Transfer, TransferStage},
        scenario::Scenario,
        service::{ServiceLimits, SimulatedRequest, SimulatedService},
        world::{CountsFrom, SimulatedWorld},
    };

    pub mod chain_server {
        pub use crate::sim::chain_server::serve;
    }

    pub mod server {
        pub use crate::sim::server::serve;
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
    pub use crate::tui::{
        effect::Effect,
        export::ExportOrder,
        message::{Msg, StoreUpdate},
        model::{DashboardSettings, Model, Screen},
        run::{DashboardInputs, LogSource, RunError, run},
        step::step,
        system::{System, clipboard::CopyMethod},
        terminal::TerminalGuard,
        theme::Theme,
        view::view,
    };

    pub mod input {
        pub use crate::tui::input::{
            events,
            framer::{InputFrame, InputFramer},
        };
    }

    pub mod key_text {
        pub use crate::tui::key_text::parse;
    }
}
