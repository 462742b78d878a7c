//! Webhooks: the chosen events, their signature, headers of the user, and `webhook test`.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpListener,
    process::Command,
    sync::mpsc,
    thread,
};

use hmac::{Hmac, KeyInit, Mac};
use serde_json::Value;
use sha2::Sha256;

use super::{
    SUCCESS,
    common::{Home, ProcessOutput, ScenarioBatch, SimulatorProcess},
};

const SECRET: &str = "canary-signature-secret";
const PARTIAL: &str = r#"{ from = 0, status = "partial_success", steps = 2 }"#;

/// A request that a webhook got: its headers with names in lower case, and its body.
struct WebhookPost {
    headers: Vec<(String, String)>,
    body: String,
}

impl WebhookPost {
    fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(own, _)| own == name).map_or("", |(_, value)| value.as_str())
    }

    fn event(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    /// Checks the signature as a receiver does, with the moment and the body as they came.
    #[track_caller]
    fn assert_signed(&self) {
        let signature = self.header("x-hoptop-signature");
        let (moment, digest) = signature.strip_prefix("t=").and_then(|rest| rest.split_once(",v1=")).unwrap();
        assert!(moment.parse::<u64>().unwrap() > 1_700_000_000);
        let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
        mac.update(format!("{moment}.{}", self.body).as_bytes());
        let expected: String = mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(digest, expected);
    }
}

/// Starts a webhook that gives this answer to each request.
fn start_webhook(status: &'static str, body: &'static str) -> (String, mpsc::Receiver<WebhookPost>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/hook?token=canary", listener.local_addr().unwrap());
    let (sender, posts) = mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.unwrap());
            let lines = stream.by_ref().lines().map(Result::unwrap).take_while(|line| !line.is_empty());
            let headers: Vec<_> = lines
                .filter_map(|line| {
                    line.split_once(": ").map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
                })
                .collect();
            let length =
                headers.iter().find(|(name, _)| name == "content-length").map(|(_, value)| value.parse().unwrap());
            let Some(length) = length else { continue };
            let mut posted = vec![0; length];
            stream.read_exact(&mut posted).unwrap();
            let answer =
                format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len());
            stream.get_mut().write_all(answer.as_bytes()).unwrap();
            sender.send(WebhookPost { headers, body: String::from_utf8(posted).unwrap() }).unwrap_or_default();
        }
    });
    (url, posts)
}

/// Configures a signed webhook with a header of the user.
fn configure(home: &Home, url: &str, more: &str) {
    let keys = "webhook_secret_env = \"HOOK_SECRET\"\nwebhook_headers = { Authorization = \"HOOK_AUTHORIZATION\" }\n";
    home.configure(&format!("webhook = \"{url}\"\n{keys}{more}"));
}

fn run(mut command: Command) -> ProcessOutput {
    command.env("HOOK_SECRET", SECRET).env("HOOK_AUTHORIZATION", "Bearer canary-token");
    let ended = ProcessOutput::new(command.output().unwrap());
    assert!(!format!("{ended:?}").contains("canary"), "{ended:?}");
    ended
}

#[test]
fn chosen_events_are_posted_with_signature_and_headers() {
    let batch = ScenarioBatch::new(&[SUCCESS, PARTIAL]);
    let (home, simulation) = (Home::new(), SimulatorProcess::start(&batch.scenario));
    home.import(&batch.csv);
    let (url, posts) = start_webhook("204 No Content", "");
    let received = home.path().join("heard");
    let script = format!("cat >> {}; env >> {}.environment", received.display(), received.display());
    configure(
        &home,
        &url,
        &format!("events = [\"settled\", \"status_changed\"]\non_event = [\"sh\", \"-c\", \"{script}\"]\n"),
    );
    let ended = run(home.polling_command(&simulation.url, &["watch", "--until-settled", "--timeout", "30s"]));
    assert_eq!((ended.code, ended.err.as_str()), (Some(4), ""), "{ended:?}");
    let posts: Vec<WebhookPost> = posts.try_iter().collect();
    let mut events: Vec<_> = posts.iter().map(|post| post.event()["event"].as_str().unwrap().to_owned()).collect();
    events.sort_unstable();
    assert_eq!(events, ["settled", "settled", "status_changed", "status_changed"]);
    for post in &posts {
        post.assert_signed();
        assert_eq!(post.header("authorization"), "Bearer canary-token");
        assert_eq!(
            (&post.event()["schema"], post.header("x-hoptop-event-id").is_empty()),
            (&"hoptop/event/1".into(), false)
        );
    }
    let received_events = fs::read_to_string(&received).unwrap();
    assert_eq!(received_events.lines().count(), 4, "the command gets the same events");
    let environment = fs::read_to_string(home.path().join("heard.environment")).unwrap();
    assert!(!environment.contains("canary"), "secrets are hidden from the command");
    let shown = run(home.command(&["config"]));
    assert!(shown.out.contains("webhook_secret  HOOK_SECRET  ("), "{shown:?}");
}

#[test]
fn webhook_test_prints_the_response() {
    let home = Home::new();
    home.run(&["webhook", "test"]).assert_exit(2, &["no webhook is configured"]);
    let (url, posts) = start_webhook("200 OK", "thank\u{1b}[31m you");
    configure(&home, &url, "");
    let fine = run(home.command(&["webhook", "test"]));
    assert_eq!((fine.code, fine.out.as_str()), (Some(0), "127.0.0.1 answered HTTP 200: thank[31m you\n"), "{fine:?}");
    let post = posts.recv().unwrap();
    post.assert_signed();
    assert_eq!(post.event()["event"], "test");
    let (url, _posts) = start_webhook("403 Forbidden", "wrong token");
    configure(&home, &url, "");
    let refused = run(home.command(&["webhook", "test"]));
    assert_eq!((refused.code, refused.out.as_str()), (Some(1), "127.0.0.1 answered HTTP 403: wrong token\n"));
    configure(&home, "http://127.0.0.1:1/hook?token=canary", "");
    run(home.command(&["webhook", "test"])).assert_exit(1, &["refuses the connection", "check `webhook`"]);
    // Without its secret or a header's value nothing is sent.
    home.run(&["webhook", "test"]).assert_exit(2, &["no webhook secret from HOOK_SECRET: it is not set"]);
    home.configure("events = [\"weather\"]\n");
    home.run(&["list"]).assert_exit(2, &["events: found other text, expected one of settled"]);
    home.configure("webhook_secret_env = \"A\"\nwebhook_secret_command = \"b\"\n");
    home.run(&["list"]).assert_exit(2, &["both webhook_secret_env and webhook_secret_command"]);
}

#[test]
fn raised_and_cleared_alerts_are_signed_with_a_secret_from_a_file_or_a_command() {
    let gas = r#"{ from = 0, status = "needs_gas", steps = 1 }, { from = 3, status = "success", steps = 3 }"#;
    let batch = ScenarioBatch::new(&[gas]);
    let home_of = |source: fn(&Home) -> String| {
        let (home, simulation) = (Home::new(), SimulatorProcess::start(&batch.scenario));
        home.import(&batch.csv);
        let (url, posts) = start_webhook("204 No Content", "");
        let secret = source(&home);
        home.configure(&format!("webhook = \"{url}\"\nevents = [\"alert_raised\", \"alert_cleared\"]\n{secret}\n"));
        let ended = run(home.polling_command(&simulation.url, &["watch", "--until-settled", "--timeout", "40s"]));
        assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""), "{ended:?}");
        let posts: Vec<WebhookPost> = posts.try_iter().collect();
        posts.iter().for_each(WebhookPost::assert_signed);
        let name = |post: &WebhookPost| post.event()["event"].as_str().unwrap().to_owned();
        assert_eq!(posts.iter().map(name).collect::<Vec<_>>(), ["alert_raised", "alert_cleared"]);
    };
    home_of(|home| format!("webhook_secret_file = \"{}\"", home.write("hook-secret", SECRET)));
    home_of(|_| format!("webhook_secret_command = [\"echo\", \"{SECRET}\"]"));
}
