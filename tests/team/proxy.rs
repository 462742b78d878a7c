//! A TCP proxy that fails on request: it parts a machine from the database or from the service.

use std::{
    io,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream, tcp},
    runtime::Runtime,
    sync::watch,
};

use super::server::{free_port, wait_for};

/// How much later than the last bytes the end of a connection is forwarded.
const CLOSE_DELAY: Duration = Duration::from_millis(100);

/// What the proxy does with connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProxyMode {
    /// Forwards all bytes.
    Pass,
    /// Accepts connections and keeps them open, but forwards nothing. What was sent meanwhile is forwarded later, as
    /// TCP does after lost packets.
    Blackhole,
    /// Closes all connections, and refuses new ones.
    Cut,
    /// Forwards all bytes until the database has appended an entry; closes that connection instead of forwarding the
    /// answer, and passes everything from then on.
    LoseAppendAnswer,
}

/// A part of the statement that appends an entry to the log.
const APPEND: &[u8] = b"hoptop.append(";

/// A proxy on this machine. All connections are closed when the value is dropped.
pub(crate) struct Proxy {
    address: SocketAddr,
    mode: watch::Sender<ProxyMode>,
    target: watch::Sender<SocketAddr>,
    /// The number of sockets that accept or hold connections.
    sockets: Arc<AtomicUsize>,
    runtime: Option<Runtime>,
}

/// Counts a socket until it is closed.
struct SocketCount(Arc<AtomicUsize>);

impl SocketCount {
    fn new(sockets: &Arc<AtomicUsize>) -> Self {
        sockets.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(sockets))
    }
}

impl Drop for SocketCount {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Proxy {
    /// Starts a proxy in front of a server, in mode [`ProxyMode::Pass`].
    pub(crate) fn start(target: SocketAddr) -> Self {
        Self::start_at(SocketAddr::from(([127, 0, 0, 1], free_port())), target)
    }

    /// Like [`Proxy::start`], at an address.
    pub(crate) fn start_at(address: SocketAddr, target: SocketAddr) -> Self {
        let mode = watch::Sender::new(ProxyMode::Pass);
        let (target, targets) = watch::channel(target);
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let sockets = Arc::new(AtomicUsize::new(0));
        runtime.spawn(accept(address, mode.clone(), targets, Arc::clone(&sockets)));
        let proxy = Self { address, mode, target, sockets, runtime: Some(runtime) };
        proxy.wait_for_sockets(|sockets| sockets > 0);
        proxy
    }

    /// Returns the address of the proxy, which never changes.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Changes the mode, for connections that exist and for new ones.
    pub(crate) fn set_mode(&self, mode: ProxyMode) {
        self.mode.send_replace(mode);
        self.wait_for_sockets(|sockets| (sockets == 0) == (mode == ProxyMode::Cut));
    }

    /// Returns the mode, which [`ProxyMode::LoseAppendAnswer`] changes itself.
    pub(crate) fn mode(&self) -> ProxyMode {
        *self.mode.borrow()
    }

    /// Changes the server for new connections.
    pub(crate) fn set_target(&self, target: SocketAddr) {
        self.target.send_replace(target);
    }

    fn wait_for_sockets(&self, is_right: impl Fn(usize) -> bool) {
        wait_for("proxy", || is_right(self.sockets.load(Ordering::SeqCst)).then_some(()));
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // Unlike dropping the runtime, this is allowed in asynchronous code.
        self.runtime.take().unwrap().shutdown_background();
    }
}

async fn accept(
    address: SocketAddr,
    mode: watch::Sender<ProxyMode>,
    target: watch::Receiver<SocketAddr>,
    sockets: Arc<AtomicUsize>,
) {
    let mut cut = mode.subscribe();
    while cut.wait_for(|mode| *mode != ProxyMode::Cut).await.is_ok() {
        let listener = TcpListener::bind(address).await.unwrap();
        let _count = SocketCount::new(&sockets);
        tokio::select! {
            _ = cut.wait_for(|mode| *mode == ProxyMode::Cut) => {}
            () = accept_until_cut(listener, &mode, &target, &sockets) => {}
        }
    }
}

async fn accept_until_cut(
    listener: TcpListener,
    mode: &watch::Sender<ProxyMode>,
    target: &watch::Receiver<SocketAddr>,
    sockets: &Arc<AtomicUsize>,
) {
    while let Ok((client, _)) = listener.accept().await {
        let (mut cut, mode, target, count) =
            (mode.subscribe(), mode.clone(), target.clone(), SocketCount::new(sockets));
        tokio::spawn(async move {
            let outcome = tokio::select! {
                _ = cut.wait_for(|mode| *mode == ProxyMode::Cut) => Ok(()),
                outcome = forward(client, mode, target) => outcome,
            };
            drop((outcome, count));
        });
    }
}

/// Forwards a connection until both sides have closed it.
async fn forward(
    mut client: TcpStream,
    mode: watch::Sender<ProxyMode>,
    target: watch::Receiver<SocketAddr>,
) -> io::Result<()> {
    wait_until_passed(&mode).await?;
    let address = *target.borrow();
    let mut server = TcpStream::connect(address).await?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let ((from_client, to_client), (from_server, to_server)) = (client.split(), server.split());
    let loses_answer = AtomicBool::new(false);
    let watch_appends = |bytes: &[u8]| {
        let is_append = bytes.windows(APPEND.len()).any(|part| part == APPEND);
        if is_append && *mode.borrow() == ProxyMode::LoseAppendAnswer {
            loses_answer.store(true, Ordering::SeqCst);
        }
    };
    let lose_answer = |_: &[u8]| match loses_answer.load(Ordering::SeqCst) {
        true => {
            mode.send_replace(ProxyMode::Pass);
            Err(io::Error::other("the answer is lost"))
        }
        false => Ok(()),
    };
    tokio::try_join!(
        pump(from_client, to_server, &mode, |_| Ok(()), watch_appends),
        pump(from_server, to_client, &mode, lose_answer, |_| {})
    )?;
    Ok(())
}

async fn pump(
    mut from: tcp::ReadHalf<'_>,
    mut to: tcp::WriteHalf<'_>,
    mode: &watch::Sender<ProxyMode>,
    before: impl Fn(&[u8]) -> io::Result<()>,
    after: impl Fn(&[u8]),
) -> io::Result<()> {
    let mut bytes = vec![0; 64 * 1024];
    loop {
        let read = from.read(&mut bytes).await?;
        wait_until_passed(mode).await?;
        if read == 0 {
            // A server must see the earlier bytes, although no client waits for an answer any more.
            tokio::time::sleep(CLOSE_DELAY).await;
            return to.shutdown().await;
        }
        before(&bytes[..read])?;
        to.write_all(&bytes[..read]).await?;
        after(&bytes[..read]);
    }
}

async fn wait_until_passed(mode: &watch::Sender<ProxyMode>) -> io::Result<()> {
    let passes = |mode: &ProxyMode| matches!(mode, ProxyMode::Pass | ProxyMode::LoseAppendAnswer);
    mode.subscribe().wait_for(passes).await.map(drop).map_err(io::Error::other)
}
