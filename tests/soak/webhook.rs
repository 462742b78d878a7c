//! A webhook on loopback, in a thread of its own, that fails now and then and records each event that it accepts.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// A running webhook. Its thread ends with the test.
pub(crate) struct WebhookServer {
    pub(crate) url: String,
    accepted: Arc<Mutex<Vec<i64>>>,
}

impl WebhookServer {
    pub(crate) fn start(seed: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/events", listener.local_addr().unwrap());
        let accepted = Arc::new(Mutex::new(Vec::new()));
        let record = Arc::clone(&accepted);
        let random = Arc::new(Mutex::new(Pcg64Mcg::seed_from_u64(seed)));
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (record, random) = (Arc::clone(&record), Arc::clone(&random));
                thread::spawn(move || serve(stream, &record, &random));
            }
        });
        Self { url, accepted }
    }

    /// Returns the numbers of the events that were accepted since the last call, in the order of their arrival.
    pub(crate) fn take_accepted(&self) -> Vec<i64> {
        std::mem::take(&mut self.accepted.lock().unwrap())
    }
}

/// Answers the requests of a connection until it ends. The body of a request is the number of the event.
fn serve(stream: TcpStream, accepted: &Mutex<Vec<i64>>, random: &Mutex<Pcg64Mcg>) {
    let mut reader = BufReader::new(stream);
    loop {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().unwrap();
            }
            if line.trim_end().is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        if reader.read_exact(&mut body).is_err() {
            return;
        }
        let number = String::from_utf8(body).unwrap().parse().unwrap();
        let status = match random.lock().unwrap().random_range(0..12) {
            0 => "503 Service Unavailable",
            // The event is accepted, and the connection ends before the answer: it must come again.
            1 => {
                accepted.lock().unwrap().push(number);
                return;
            }
            _ => {
                accepted.lock().unwrap().push(number);
                "200 OK"
            }
        };
        let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n");
        if reader.get_mut().write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}
