//! `hoptop watch`: polls without a screen, prints changes, and ends with an exit code.
//!
//! Like the dashboard, the watch only reads the store. The poller is a background task, or runs in another process that
//! holds the budget. The watch must never end with success if a given transaction is bad or wasn't seen to settle.

mod args;
mod background_tasks;
mod bar;
mod conditions;
mod ending;
mod piped;
mod profiles;
mod run;
mod snapshot;
mod summary;
mod team_notices;

use std::{
    io::{self, IsTerminal},
    pin::pin,
    time::Duration,
};

use color_eyre::eyre::Result;
use futures_util::FutureExt;
use tokio::sync::{mpsc, oneshot, watch as latest};

pub(crate) use self::args::{EXAMPLES, WatchArgs};
use self::{
    background_tasks::{BackgroundTasks, TaskContext},
    bar::{WatchBar, WatchBarHandle},
    piped::{PIPE, PipedTransactions},
    run::WatchRun,
};
use super::list;
use crate::{
    cli::opening::{self, StoreUse},
    clock::Clock,
    config::{CommandLineSettings, Settings},
    domain::filter::Filter,
    metrics::{Metrics, MetricsSources},
    runtime::{
        exit::Exit,
        forced_end, log_file, signals,
        stderr::{IgnoreClosedPipe, print_line},
        team_store::{self, TeamAccess},
        tokio_runtime,
    },
};

/// The longest time from the timeout to the end of the process.
const TIMEOUT_GRACE: Duration = Duration::from_millis(1_800);
/// The longest wait for open requests and for notifications after a signal or the timeout.
const TASKS_GRACE: Duration = Duration::from_millis(1_200);

/// Polls and prints until all transactions are settled, the timeout is over, or a signal comes. A signal that requests
/// a reload loads the settings again, with these `flags`.
pub(crate) fn watch(args: &WatchArgs, settings: &Settings, flags: &CommandLineSettings) -> Result<Exit> {
    let Some(filter) = read_filter(args, settings)? else { return Ok(Exit::Usage) };
    let runtime = tokio_runtime::start()?;
    // Listens first, so that a signal is handled even while the ID's command runs.
    let (signal, reload) = {
        let _entered = runtime.enter();
        signals::listen_for_end_and_reload()?
    };
    // Counts from here: another process may hold the store for long before the watch begins. Without a timeout the end
    // is a moment that never comes.
    let timeout = args.timeout.unwrap_or(Duration::MAX);
    let ends_at = Clock::system().now().mono + timeout;
    forced_end::end_within(timeout.saturating_add(TIMEOUT_GRACE), Exit::NotSettled);
    let mut settings = settings.clone();
    background_tasks::keep_named_profiles(&mut settings, flags);
    settings.check_same_store()?;
    let settings = &settings;
    let background_tasks = BackgroundTasks::new(settings.clone())?;
    log_file::start(&settings.state_dir, &settings.db, Clock::system())?;
    let team = TeamAccess::of(settings, team_store::WATCH_RANK)?;
    let store = opening::open_store(settings, team.as_ref())?;
    opening::wait_for_team(&store, StoreUse::Created)?;
    let ended = runtime.block_on(async {
        let clock = Clock::system();
        let _backups = store.schedule_backups(clock.clone())?;
        let signal = signal.shared();
        let is_terminal = io::stderr().is_terminal();
        // With `plain` there is no bar: a screen reader would read every redrawn line aloud.
        let bar = WatchBar::new(is_terminal && !settings.is_plain, settings.is_ascii);
        // The feed is opened before the first request, so that every request is counted.
        let (channel_names, channels) = latest::channel(background_tasks.names());
        let mut watching = WatchRun::new(args, filter, settings, &store, &clock, bar, channels)?;
        let (reports, receiver) = mpsc::channel(piped::QUEUE_LENGTH);
        watching.piped = args.is_piped().then(|| PipedTransactions::new(receiver));
        let reading = piped::track_input(
            &store,
            &settings.profile,
            args.any_chain,
            signal.clone(),
            &clock,
            watching.bar.handle.clone(),
            reports,
        );
        if let Some(exit) = watching.wait_for_team(&store, &clock, ends_at, signal.clone()).await {
            if args.json {
                watching.print_summary(clock.now())?;
            }
            return Ok(exit);
        }
        while watching.process_changes(&clock).await? {}
        if let Some(exit) = watching.check_filter(clock.now())? {
            return Ok(exit);
        }
        watching.is_terminal = is_terminal;
        if is_terminal {
            watching.print_line(&watching.greeting());
        }
        let sources = MetricsSources {
            store: &store,
            profiles: watching.profiles.names(),
            requests: background_tasks.requests(),
            posts: background_tasks.posts(),
        };
        let metrics = Metrics::serve(args.metrics, sources, &clock).await?;
        if let Some(metrics) = &metrics {
            watching.print_line(&format!("metrics at {}", metrics.url()));
        }
        let (stop, stopped) = oneshot::channel();
        let context = TaskContext {
            store: &store,
            team: team.as_ref(),
            clock: &clock,
            flags,
            reload,
            channel_names,
            bar: watching.bar.handle.clone(),
        };
        let mut serving = pin!(background_tasks::serve(background_tasks, context, stopped));
        let ended = tokio::select! {
            biased;
            // Polled first, so that after a signal it can still print which input was not tracked.
            failed = reading, if args.is_piped() => failed.map(|never| match never {}),
            ended = watching.follow(&store, &clock, ends_at, signal) => ended,
            served = &mut serving => return served.map(|()| Exit::Error),
        };
        let grace_begins = if let Ok(Some(_)) = ended { clock.now().mono } else { ends_at };
        // Fails if the background tasks have ended by themselves.
        stop.send(()).ok();
        tokio::select! {
            served = serving => served?,
            // What a webhook doesn't get until then, the webhook gets in the next session.
            () = clock.sleep_until(grace_begins + TASKS_GRACE) => tracing::warn!("the watch ends before all answers and alerts are handled"),
        }
        watching.finish(&store, &clock, ended?).await
    });
    if let Ok(exit) = &ended {
        forced_end::end_within(Duration::MAX, *exit);
    }
    ended.inspect_err(|report| opening::report_damage(&store, report))
}

/// Reads the filter of the arguments. If the filter is wrong, prints the reason and returns `None`.
fn read_filter(args: &WatchArgs, settings: &Settings) -> Result<Option<Filter>> {
    if args.filter.iter().any(|word| word == PIPE) && !args.is_piped() {
        print_line("`-` reads standard input and can't be combined with a filter");
        return Ok(None);
    }
    let terms = if args.is_piped() { &[][..] } else { &args.filter };
    Ok(list::read_filter(terms, settings.author.as_deref(), &mut IgnoreClosedPipe(io::stderr()))?)
}
