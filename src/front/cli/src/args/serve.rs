//! The arguments of `foldsym serve`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

#[derive(Args)]
#[command(after_help = "\
Endpoints: / (a page), /symbolicate/v5 (Firefox Profiler, samply), /symbolicate (stacks as JSON lines, or any report),
/buildid/HEX/fsym, /health and /metrics. schema/serve.md describes them. A line of JSON for each request goes to standard error.

Examples:
  foldsym serve --store /srv/symbols
  foldsym serve --search build/ --listen 127.0.0.1:0          converts what stacks name
  curl --data-binary @stacks.jsonl http://127.0.0.1:3977/symbolicate")]
pub(crate) struct Serve {
    /// Folder or address of a store of .fsym files (`foldsym store --help` lists kinds of addresses, and the environment variables
    /// for their credentials); several are searched in order
    #[arg(long, value_name = "STORE", required_unless_present = "search")]
    pub(crate) store: Vec<String>,
    /// Folder of .fsym files, programs and debug files, or one file: modules are found there by build id and name
    #[arg(long, value_name = "DIR", num_args = 1..)]
    pub(crate) search: Vec<PathBuf>,
    /// Folder in which converted programs and files of remote stores are kept (default: $FOLDSYM_CACHE, else ~/.cache/foldsym), of at
    /// most $FOLDSYM_CACHE_BYTES (default: 10G)
    #[arg(long, value_name = "DIR")]
    pub(crate) cache: Option<PathBuf>,
    /// Address to listen on; port 0 takes a free one
    // The default is a loopback address: the server has no authentication and no TLS.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:3977")]
    pub(crate) listen: SocketAddr,
    /// Converts no programs. Writes only the cache of remote stores, which then needs --cache
    #[arg(long)]
    pub(crate) read_only: bool,
    /// Answers /metrics, in Prometheus' text format
    #[arg(long)]
    pub(crate) metrics: bool,
    /// Origin allowed to call /symbolicate/v5 (CORS); * allows all
    #[arg(long, value_name = "ORIGIN", default_value = "https://profiler.firefox.com")]
    pub(crate) allow_origin: Vec<String>,
    /// Accepted Host header, besides localhost and IP addresses; * accepts all (default: none if --listen is a loopback address,
    /// else all)
    #[arg(long, value_name = "NAME")]
    pub(crate) allow_host: Vec<String>,
    /// File of rules for signatures, which outweigh the built-in ones (schema/signatures.md)
    #[arg(long, value_name = "FILE")]
    pub(crate) signature_rules: Option<PathBuf>,
    /// Threads that answer; 0 takes all cores. One more answers small requests alone
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u16).range(..=1024))]
    pub(crate) threads: u16,
    /// Largest body of a request, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 32 << 20)]
    pub(crate) max_body: usize,
    /// Memory of all requests, answers and open files together, in bytes. What does not fit waits for others to end, and is refused
    /// after five seconds
    #[arg(long, value_name = "BYTES", default_value_t = 1 << 30)]
    pub(crate) memory: usize,
    /// Seconds that a request may take
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) max_seconds: u64,
    /// Most requests in progress or queued; further ones are refused
    #[arg(long, value_name = "N", default_value_t = 256)]
    pub(crate) max_requests: usize,
}
