//! The team's store with real servers: PostgreSQL, a standby, PgBouncer, a network that fails, and a service that
//! counts.
//!
//! `cluster` and `pgbouncer` start servers of their own, and never use a server that runs already. Without the servers'
//! programs these tests print that they are skipped, and pass, unless `HOPTOP_REQUIRE_POSTGRES` is 1.

#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a test fails by panicking"
)]

mod cluster;
#[path = "../end_to_end/common.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod common;
mod diagnosis;
mod faults;
mod figures;
#[path = "../json_schema/mod.rs"]
mod json_schema;
#[path = "../material/mod.rs"]
mod material;
mod obstacles;
mod pgbouncer;
mod proxy;
mod server;
mod service;
mod sharing;
#[path = "../faults/shim.rs"]
mod shim;
mod takeover;
mod tls;

use std::{
    io::{ErrorKind, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    thread,
    time::Duration,
};

use cluster::Cluster;
use pgbouncer::PgBouncer;
use proxy::{Proxy, ProxyMode};
use service::{CountingService, most_in_a_second};

#[test]
fn cluster_keeps_its_data_when_its_processes_are_killed() {
    let Some(mut cluster) = Cluster::start() else { return };
    assert!(cluster.url().starts_with("postgres://hoptop@127.0.0.1:"), "{}", cluster.url());
    cluster.execute("create table kept (number int); insert into kept values (7)");
    cluster.kill_postmaster();
    assert!(cluster.try_execute("select 1").is_err());
    cluster.restart();
    assert_eq!(cluster.execute("select number from kept"), [["7"]]);
    cluster.stop();
    assert!(cluster.try_execute("select 1").is_err());
    cluster.restart();
    assert_eq!(cluster.execute("select number from kept"), [["7"]]);
}

#[test]
fn processes_and_files_of_a_cluster_are_gone_when_its_test_panics() {
    let Some(cluster) = Cluster::start() else { return };
    let (folder, address) = (cluster.folder().to_owned(), cluster.address());
    thread::spawn(move || {
        let _cluster = cluster;
        panic!("as a test fails");
    })
    .join()
    .unwrap_err();
    assert!(!folder.exists());
    assert_eq!(TcpStream::connect(address).unwrap_err().kind(), ErrorKind::ConnectionRefused);
}

#[test]
fn owner_of_the_database_can_create_tables_and_roles() {
    let Some(cluster) = Cluster::start() else { return };
    let url = cluster.url();
    assert!(cluster.superuser_url().replace("postgres@", "hoptop@") == url);
    cluster::execute_at(&url, "create role ann login; create table own (id int)").unwrap();
    assert_eq!(cluster::execute_at(&cluster.url_of("ann"), "select session_user").unwrap(), [["ann"]]);
    let refused = cluster::execute_at(&cluster.url_of("ann"), "select * from own").unwrap_err();
    assert!(refused.contains("permission denied"), "{refused}");
}

#[test]
fn standby_takes_over_with_or_without_the_newest_rows() {
    let Some(mut primary) = Cluster::start() else { return };
    let network = Proxy::start(primary.address());
    let standby = primary.standby_through(network.address());
    primary.execute("create table rows (number int); insert into rows values (1)");
    primary.wait_for_standby();
    assert_eq!(standby.execute("select pg_is_in_recovery(), count(*) from rows"), [["t", "1"]]);
    // The standby is asynchronous: the primary acknowledges a row that only the primary has.
    network.set_mode(ProxyMode::Cut);
    primary.execute("insert into rows values (2)");
    primary.kill_postmaster();
    standby.promote();
    assert_eq!(standby.execute("select pg_is_in_recovery(), count(*) from rows"), [["f", "1"]]);
    standby.execute("insert into rows values (3)");
}

#[test]
fn standby_connects_to_the_primary_itself() {
    let Some(primary) = Cluster::start() else { return };
    let standby = primary.standby();
    primary.execute("create table rows (number int)");
    primary.wait_for_standby();
    standby.promote();
    assert_eq!(standby.execute("select count(*) from rows"), [["0"]]);
}

#[test]
fn pgbouncer_lends_a_connection_for_each_transaction() {
    let Some(cluster) = Cluster::start() else { return };
    let Some(bouncer) = PgBouncer::start(&cluster, &["hoptop"]) else { return };
    assert_eq!(cluster::execute_at(&bouncer.url_of("hoptop"), "select 1").unwrap(), [["1"]]);
    let mode = cluster::execute_at(&bouncer.admin_url(), "show config").unwrap();
    assert!(mode.iter().any(|row| row[0] == "pool_mode" && row[1] == "transaction"), "{mode:?}");
}

/// A server that returns each byte, on every connection.
fn echo() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut read, mut write) = (stream.as_ref().unwrap().try_clone().unwrap(), stream.unwrap());
            thread::spawn(move || std::io::copy(&mut read, &mut write));
        }
    });
    address
}

fn send(stream: &mut TcpStream, byte: u8) {
    stream.write_all(&[byte]).unwrap();
}

/// Reads one byte; `None` if none comes within the limit.
fn receive(stream: &mut TcpStream, limit: Duration) -> Option<u8> {
    stream.set_read_timeout(Some(limit)).unwrap();
    let mut byte = [0];
    match stream.read(&mut byte) {
        Ok(1) => Some(byte[0]),
        Ok(_) => panic!("the connection is closed"),
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::WouldBlock);
            None
        }
    }
}

const SHORT: Duration = Duration::from_millis(100);
const LONG: Duration = Duration::from_secs(10);

#[test]
fn proxy_holds_back_all_bytes_and_delivers_them_later() {
    let proxy = Proxy::start(echo());
    let mut early = TcpStream::connect(proxy.address()).unwrap();
    send(&mut early, 1);
    assert_eq!(receive(&mut early, LONG), Some(1));
    proxy.set_mode(ProxyMode::Blackhole);
    let mut late = TcpStream::connect(proxy.address()).unwrap();
    send(&mut early, 2);
    send(&mut late, 3);
    assert_eq!((receive(&mut early, SHORT), receive(&mut late, SHORT)), (None, None));
    proxy.set_mode(ProxyMode::Pass);
    assert_eq!((receive(&mut early, LONG), receive(&mut late, LONG)), (Some(2), Some(3)));
}

#[test]
fn proxy_closes_and_refuses_connections_and_accepts_them_again() {
    let proxy = Proxy::start(echo());
    let mut stream = TcpStream::connect(proxy.address()).unwrap();
    send(&mut stream, 1);
    assert_eq!(receive(&mut stream, LONG), Some(1));
    proxy.set_mode(ProxyMode::Cut);
    stream.set_read_timeout(Some(LONG)).unwrap();
    assert!(matches!(stream.read(&mut [0]), Ok(0) | Err(_)));
    assert_eq!(TcpStream::connect(proxy.address()).unwrap_err().kind(), ErrorKind::ConnectionRefused);
    // After a failover the same address leads to another server.
    proxy.set_target(echo());
    proxy.set_mode(ProxyMode::Pass);
    let mut stream = TcpStream::connect(proxy.address()).unwrap();
    send(&mut stream, 2);
    assert_eq!(receive(&mut stream, LONG), Some(2));
}

#[test]
fn service_counts_the_requests_of_each_connection() {
    let scenario = "[service]\nrps = 10.0\nlatency_ms = 1\n[[transaction]]\ntransactionId = \"0xab\"\n\
                    fromChainId = \"1\"\ntoChainId = \"10\"\nquoteId = \"q\"\n\
                    answers = [{ from = 0, status = \"ongoing\", steps = 1 }]\n";
    let service = CountingService::start(scenario);
    let request = "GET /v2/status?transactionId=0xab&fromChainId=1&toChainId=10&quoteId=q HTTP/1.1\r\nhost: sim\r\n\
                   x-integrator-id: an-integrator-of-the-tests-7f3a\r\n\r\n";
    let address = service.url().strip_prefix("http://").unwrap();
    let mut connections = [0; 2].map(|_| TcpStream::connect(address).unwrap());
    for index in [0, 0, 1] {
        let stream = &mut connections[index];
        stream.set_read_timeout(Some(LONG)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = [0; 16 * 1024];
        let read = stream.read(&mut answer).unwrap();
        assert!(String::from_utf8_lossy(&answer[..read]).starts_with("HTTP/1.1 200"));
    }
    let of = |index: usize| connections[index].local_addr().unwrap();
    let sources: Vec<_> = service.arrivals().iter().map(|arrival| arrival.source).collect();
    assert_eq!(sources, [of(0), of(0), of(1)]);
    assert_eq!((service.requests_from(of(0)), service.requests_from(of(1))), (2, 1));
    assert_eq!(service.most_in_a_second(), 3);
    assert_eq!(service.per_second().iter().sum::<usize>(), 3);
}

#[test]
fn window_of_a_second_may_begin_at_any_moment() {
    let at = |millis: &[u64]| millis.iter().map(|millis| Duration::from_millis(*millis)).collect::<Vec<_>>();
    assert_eq!(most_in_a_second(&at(&[])), 0);
    // A request after exactly one second is in the next window.
    assert_eq!(most_in_a_second(&at(&[0, 1000, 2000])), 1);
    assert_eq!(most_in_a_second(&at(&[0, 900, 1000, 1100, 1899, 3000])), 4);
}
