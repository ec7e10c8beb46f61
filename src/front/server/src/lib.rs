//! Answers crash reports and stacks over HTTP, from the engine ([`foldsym_symbolize`]) and a store of `.fsym` files.
//!
//! # What the crate promises
//!
//! - **The `Host` header is checked.** A request under another name, such as a stranger's domain that resolves to this machine (DNS
//!   rebinding), is refused ([`Config::hosts`]).
//! - **No path comes from the network.** A client names a module by its identity, or by a name of which only the last component counts.
//! - **Everything is bounded.** Bytes of a request, of an answer and of all requests together, time, simultaneous requests and connections
//!   have limits ([`Limits`]). A request over a limit is refused with a status that shows which limit.
//! - **A client that disconnects costs nothing more.** Work stops at the next frame. A client that reads nothing of its answer for a while
//!   is disconnected.
//! - **A stop is graceful.** On SIGTERM and SIGINT the server answers the requests that run and takes no new ones.
//!
//! # What the crate does not do
//!
//! It has no users, no TLS and no rate per client: a proxy does that. It publishes nothing.
//!
//! `schema/serve.md` describes the endpoints.

#![warn(missing_docs)]
#![forbid(unsafe_code)]

mod answers;
mod buffers;
mod files;
mod host;
mod http;
mod layout;
mod log;
mod metrics;
mod page;
mod pool;
mod refusal;
mod routes;
mod stream;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use foldsym_store::Store;
use foldsym_symbolize::Symbolizer;

/// Limits of a server.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of the body of a request.
    pub body: usize,
    /// Bytes of all bodies that are being received or answered; at least those of one.
    pub bodies: usize,
    /// Bytes of an answer.
    pub answer: usize,
    /// From the end of the head of a request to its answer.
    pub time: Duration,
    /// Requests that are being answered or wait for it, or whose answers are being sent.
    pub requests: usize,
    /// Connections that are open.
    pub connections: usize,
    /// How long a client may take for the head of a request.
    pub head: Duration,
    /// How long a client may read nothing of an answer.
    pub unread: Duration,
    /// Threads that answer; 0 for one a core.
    pub threads: usize,
    /// How long a graceful stop waits for requests that run.
    pub stop: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body: 32 << 20,
            bodies: 256 << 20,
            answer: 128 << 20,
            time: Duration::from_secs(60),
            requests: 256,
            connections: 1024,
            head: Duration::from_secs(15),
            unread: Duration::from_secs(30),
            threads: 0,
            stop: Duration::from_secs(20),
        }
    }
}

/// How a server is made.
#[derive(Debug)]
#[non_exhaustive]
pub struct Config {
    /// Answers stacks.
    pub symbolizer: Symbolizer,
    /// Whose files `/buildid/HEX/fsym` gives out.
    pub stores: Vec<Store>,
    /// Where to listen.
    pub listen: SocketAddr,
    /// Whether `/metrics` is there.
    pub metrics: bool,
    /// Pages of these origins may call `/symbolicate/v5`; `*` allows all.
    pub origins: Vec<String>,
    /// Accepted `Host` headers, besides `localhost` and IP addresses; `*` accepts all. If the list is empty, a server that listens on a
    /// loopback address accepts no other name: else a page could have its own domain resolve to this machine, and read all answers.
    pub hosts: Vec<String>,
    /// Its limits.
    pub limits: Limits,
}

impl Config {
    /// A server on a free port of this machine.
    pub fn new(symbolizer: Symbolizer) -> Self {
        Self {
            symbolizer,
            stores: Vec::new(),
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            metrics: false,
            origins: vec!["https://profiler.firefox.com".to_owned()],
            hosts: Vec::new(),
            limits: Limits::default(),
        }
    }
}

/// Why a server does not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The address cannot be listened on.
    #[error("cannot listen on {0}: {1}")]
    Listen(SocketAddr, io::Error),
    /// The system refuses threads or signals.
    #[error("cannot start: {0}")]
    Start(io::Error),
    /// An origin is not a text that a header may have.
    #[error("{0:?} is not an origin: expected scheme://host[:port], or *")]
    Origin(String),
}

impl From<io::Error> for ServeError {
    fn from(error: io::Error) -> Self {
        ServeError::Start(error)
    }
}

/// A server that runs.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Bound {
    /// The address that it listens on.
    pub address: SocketAddr,
    stop: Arc<tokio::sync::Notify>,
}

impl Bound {
    /// Ends the server as a signal does.
    pub fn stop(&self) {
        self.stop.notify_one();
    }
}

/// Answers until SIGTERM, SIGINT or [`Bound::stop`]. `ready` is called once, when the server listens.
///
/// # Errors
/// The address cannot be bound, or the system refuses threads.
pub fn serve(mut config: Config, ready: impl FnOnce(Bound)) -> Result<(), ServeError> {
    // Otherwise the server could not receive a single body of the largest size.
    config.limits.bodies = config.limits.bodies.max(config.limits.body);
    let pool = pool::Pool::start(Arc::new(config.symbolizer), config.limits.threads)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        // They only receive and send, which is little work compared with the threads of the pool.
        .worker_threads(std::thread::available_parallelism().map_or(1, |threads| threads.get().div_ceil(4)))
        // Only searches in stores (`routes::find`) use these threads.
        .max_blocking_threads(16)
        .enable_all()
        .build()?;
    let shared = routes::Shared {
        pool,
        hosts: host::Hosts::new(config.hosts, config.listen.ip()),
        stores: config.stores,
        limits: config.limits,
        metrics: config.metrics.then(metrics::Metrics::new),
        bodies: Arc::default(),
        buffers: Arc::default(),
        running: std::sync::atomic::AtomicUsize::new(0),
    };
    let result = runtime.block_on(http::run(shared, config.listen, &config.origins, ready));
    // Does not wait for work of a store for a client that disconnected.
    runtime.shutdown_background();
    result
}
