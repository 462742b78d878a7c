//! `hoptop webhook test`: posts a test event to the webhook of the settings, and prints the response.
//!
//! The command must never show more of the address than its host.

use std::io::{self, Write};

use clap::{Args, Subcommand};
use color_eyre::eyre::Result;

use crate::{
    cli::{notifiers, output::json},
    clock::Clock,
    config::Settings,
    domain::text,
    runtime::{
        exit::Exit,
        stderr::{IgnoreClosedPipe, print_line},
        tokio_runtime,
    },
};

/// The text below the options in the help.
pub(crate) const EXAMPLES: &str = "\
Examples:
  # Post a test event, and print the response
  hoptop webhook test

In the config file, `webhook` is the address, `events` chooses the events, and `webhook_headers` adds headers from \
the environment. With webhook_secret_env, webhook_secret_file or webhook_secret_command each event is signed: \
X-Hoptop-Signature: t=UNIX,v1=HEX, where HEX is the HMAC-SHA256 of UNIX, a dot and the body.";

/// The arguments of `hoptop webhook`.
#[derive(Args, Debug)]
pub(crate) struct WebhookArgs {
    #[command(subcommand)]
    command: WebhookCommand,
}

#[derive(Clone, Copy, Debug, Subcommand)]
enum WebhookCommand {
    #[command(after_help = EXAMPLES)]
    /// Post a test event, and print the response
    Test,
}

/// Posts a test event.
pub(crate) fn webhook(args: &WebhookArgs, settings: &Settings) -> Result<Exit> {
    let WebhookCommand::Test = args.command;
    let Some(webhook) = notifiers::webhook(settings)? else {
        print_line("no webhook is configured; set `webhook` in the config file (see `hoptop config --template`)");
        return Ok(Exit::Usage);
    };
    let now = Clock::system().now();
    let body = json::test_event(&settings.profile, now.wall)?;
    let id = format!("{}/test-{}", settings.profile, now.wall.timestamp_millis());
    let host = text::clean(&webhook.host());
    match tokio_runtime::start()?.block_on(webhook.try_post(&id, body, now.wall)) {
        Ok(response) => {
            let body = if response.body.is_empty() { "no body".to_owned() } else { response.body };
            writeln!(IgnoreClosedPipe(io::stdout()), "{host} answered HTTP {}: {body}", response.status)?;
            Ok(if (200..300).contains(&response.status) { Exit::Success } else { Exit::Error })
        }
        Err(reason) => {
            print_line(&format!("{reason}; check `webhook` in the config file, and whether its service is running"));
            Ok(Exit::Error)
        }
    }
}
