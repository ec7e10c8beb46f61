//! Answers crash reports and stacks over HTTP, from the engine ([`foldsym_symbolize`]) and a store of `.fsym` files.
//!
//! # What the crate promises
//!
//! - **The `Host` header is checked.** A request under another name, such as a stranger's domain that resolves to this machine (DNS
//!   rebinding), is refused ([`Config::hosts`]). So is a `POST` from a page of another origin that is not in [`Config::origins`].
//! - **No path comes from the network.** A client names a module by its identity, or by a name of which only the last component counts.
//! - **Everything is bounded.** Bytes of a request, of an answer and of all requests together, time, simultaneous requests and connections
//!   have limits ([`Limits`]). A request over a limit is refused with a status that shows which limit.
//! - **A symbol file that another process cuts short ends nothing.** Symbol files are read into memory, and are checked there.
//!   `/buildid/HEX/fsym` alone sends a mapped file: the system copies it, and ends the connection where the file ends. This does not hold for
//!   programs: where the engine searches folders or converts, it maps them. Who may change those may end the server.
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
mod conversions;
mod descriptors;
mod fetch;
mod files;
mod host;
mod http;
mod layout;
mod log;
mod memory;
mod metrics;
mod page;
mod pool;
mod profiles;
mod query;
mod refusal;
mod routes;
mod sites;
mod stream;

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use foldsym_reports::Kept;
use foldsym_store::Store;
use foldsym_symbolize::{Rules, Symbolizer};

/// Searches of remote stores for `/buildid/HEX/fsym` that run at once. There are as many threads besides, for folders.
const FINDING: usize = 8;

/// The least memory of a server.
const MIN_MEMORY: usize = 64 << 20;

/// Limits of a server.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of the body of a request.
    pub body: usize,
    /// Bytes of memory for all bodies, the work on them, answers, open files and threads together; at least 64 MiB, and four times
    /// a body. A request for which there is none waits, and is refused then.
    pub memory: usize,
    /// How long a request waits for memory.
    pub wait: Duration,
    /// Bytes of an answer.
    pub answer: usize,
    /// From the end of the head of a request to its answer.
    pub time: Duration,
    /// Requests that are being answered or wait for it, or whose answers are being sent.
    pub requests: usize,
    /// Connections that are open; fewer, if the process may not have so many files open.
    pub connections: usize,
    /// How long a client may take for the head of a request.
    pub head: Duration,
    /// How long a client may read nothing of an answer.
    pub unread: Duration,
    /// Threads that answer; 0 for one a core. One more answers small requests alone, so that those do not wait behind large ones.
    pub threads: usize,
    /// Threads that fetch files from remote stores and debuginfod servers. Threads that answer never wait for those.
    pub fetches: usize,
    /// Modules whose files one request may have fetched.
    pub fetched: usize,
    /// How long a request waits for files that are fetched. What comes later serves the next request.
    pub fetch: Duration,
    /// How long a graceful stop waits for requests that run.
    pub stop: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body: 32 << 20,
            memory: 1 << 30,
            wait: Duration::from_secs(5),
            answer: 128 << 20,
            time: Duration::from_secs(60),
            requests: 256,
            connections: 1024,
            head: Duration::from_secs(15),
            unread: Duration::from_secs(30),
            threads: 0,
            fetches: 4,
            fetched: 64,
            fetch: Duration::from_secs(20),
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
    /// Pages of these origins may call `/symbolicate/v5`; `*` allows all. A `POST` that a browser sends for a page of another origin is
    /// refused, whether or not the page could read the answer.
    pub origins: Vec<String>,
    /// Accepted `Host` headers, besides `localhost` and IP addresses; `*` accepts all. If the list is empty, a server that listens on a
    /// loopback address accepts no other name: else a page could have its own domain resolve to this machine, and read all answers.
    pub hosts: Vec<String>,
    /// The command of foldsym. It converts the programs that requests need, each in a process of its own, which has a quarter of the
    /// memory. Without it this process converts them, and that memory is not counted.
    pub converter: Option<PathBuf>,
    /// The rules of signatures.
    pub rules: Arc<Rules>,
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
            converter: None,
            rules: Arc::new(Rules::shipped()),
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
    if config.limits.threads == 0 {
        config.limits.threads = std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get);
    }
    let threads = config.limits.threads + pool::FOR_SHORT;
    config.limits.connections = descriptors::connections(config.limits.connections, threads);
    // Otherwise the server could not receive a single body of the largest size.
    let memory = config.limits.memory.max(config.limits.body.saturating_mul(4)).max(MIN_MEMORY);
    let shares = memory::Shares::of(memory, threads, config.converter.is_some());
    let memory = memory::Memory::new(shares.requests, config.limits.wait);
    // Another process may truncate a file, and the server must go on.
    config.symbolizer.serves(shares.files);
    if let Some(command) = config.converter.take() {
        let conversions = conversions::Conversions::new(command, shares.conversion, config.limits.fetch);
        config.symbolizer.convert_by(Arc::new(conversions));
    }
    let symbolizer = Arc::new(config.symbolizer);
    let pool =
        pool::Pool::start(&symbolizer, config.limits.threads, shares.thread, Kept::within(shares.programs))?;
    let Limits { fetches, fetched, fetch, .. } = config.limits;
    let fetcher = fetch::Fetcher::start(&symbolizer, fetches, fetched, fetch)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        // They only receive and send, which is little work compared with the threads of the pool.
        .worker_threads(std::thread::available_parallelism().map_or(1, |threads| threads.get().div_ceil(4)))
        // Only searches in stores (`routes::find`) use these threads.
        .max_blocking_threads(2 * FINDING)
        .enable_all()
        .build()?;
    let shared = routes::Shared {
        pool,
        fetcher,
        finding: Arc::new(tokio::sync::Semaphore::new(FINDING)),
        hosts: host::Hosts::new(config.hosts, config.listen.ip()),
        sites: sites::Sites::new(&config.origins),
        stores: config.stores,
        limits: config.limits,
        rules: config.rules,
        metrics: config.metrics.then(metrics::Metrics::new),
        memory,
        kept: shares.thread,
        buffers: Arc::default(),
        running: std::sync::atomic::AtomicUsize::new(0),
    };
    let result = runtime.block_on(http::run(shared, config.listen, &config.origins, ready));
    // Does not wait for work of a store for a client that disconnected.
    runtime.shutdown_background();
    result
}
