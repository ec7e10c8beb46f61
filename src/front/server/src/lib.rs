//! Answers crash reports and stacks over HTTP, from the engine ([`foldsym_symbolize`]) and a store of `.fsym` files.
//!
//! # What the crate promises
//!
//! - **Only who calls the server by its name is answered.** A name that a stranger let resolve to this machine is refused
//!   ([`Config::hosts`]).
//! - **No path comes from the network.** A client names a module by its identity, or by a name of which the last part counts.
//! - **Bounded.** Bytes of a request, of an answer and of all requests together, time, requests at once, and connections have a limit
//!   ([`Limits`]). What is over it is refused with a status that says which.
//! - **A client that goes away costs nothing more.** Work stops at the next frame. One that reads nothing of its answer for a while is
//!   sent away.
//! - **A stop is graceful.** On SIGTERM and SIGINT requests that run are answered; no new ones are taken.
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

/// What a server may take.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of the body of a request.
    pub body: usize,
    /// Bytes of all bodies that are being received or answered; at least those of one.
    pub bodies: usize,
    /// Bytes of an answer.
    pub answer: usize,
    /// From the first byte of a request to its answer.
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
    /// Pages of these origins may ask `/symbolicate/v5`; `*` stands for all.
    pub origins: Vec<String>,
    /// Names by which clients may call the server, besides `localhost` and addresses; `*` stands for all. Without any, a server that listens on
    /// this machine alone takes no other name: else a page could have its own name resolve to this machine, and read all answers.
    pub hosts: Vec<String>,
    /// What it may take.
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
    Start(#[from] io::Error),
    /// An origin is no text that a header may have.
    #[error("{0:?} is no origin: expected scheme://host[:port], or *")]
    Origin(String),
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
    config.limits.bodies = config.limits.bodies.max(config.limits.body);
    let pool = pool::Pool::start(Arc::new(config.symbolizer), config.limits.threads)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        // They receive and send, which is little beside what the threads of the pool do.
        .worker_threads(std::thread::available_parallelism().map_or(1, |threads| threads.get().div_ceil(4)))
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
    // What a store still does for a client that went away is not waited for.
    runtime.shutdown_background();
    result
}
