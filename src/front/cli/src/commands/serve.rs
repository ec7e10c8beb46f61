//! `foldsym serve`: serves the engine and its stores over HTTP.

use std::io::Write;
use std::time::Duration;

use foldsym_server::{Bound, Config, serve};
use foldsym_store::{default_cache, without_secrets};
use foldsym_symbolize::Symbolizer;

use crate::answer::open::store;
use crate::answer::signature::rules_from;
use crate::args::serve::Serve;
use crate::io::failure::{Failure, complain, exit};

/// Answers until a signal says stop.
#[inline(never)] // see `perform`
pub(crate) fn run(args: &Serve) -> Result<u8, Failure> {
    let failed = |message: String| Failure { message, code: exit::BAD_INPUT };
    let is_remote = |location: &&String| location.contains("://");
    if let (true, None, Some(remote)) = (args.read_only, &args.cache, args.store.iter().find(is_remote)) {
        let what =
            "--read-only with a remote store needs --cache DIR, a folder for the files that are fetched";
        return Err(Failure::usage(format!("{}: {what}", without_secrets(remote))));
    }
    let open = |location: &String| store(location, args.cache.as_deref());
    let stores = args.store.iter().map(open).collect::<Result<Vec<_>, _>>()?;
    let mut builder =
        Symbolizer::builder().search(&args.search).convert_programs(!args.read_only).check(true);
    for store in &stores {
        builder = builder.store(store.clone());
    }
    builder = match &args.cache {
        // With `--read-only`, only stores use the folder, and `open` passes it to them.
        _ if args.read_only => builder,
        Some(folder) => builder.cache(folder),
        None => builder.cache_if_usable(default_cache()),
    };
    let symbolizer = builder.build().map_err(|error| failed(error.to_string()))?;
    let mut config = Config::new(symbolizer);
    (config.stores, config.listen, config.metrics) = (stores, args.listen, args.metrics);
    config.origins.clone_from(&args.allow_origin);
    config.hosts.clone_from(&args.allow_host);
    // Only this command is known to have the options that it is called with.
    let converts = !args.read_only && !args.search.is_empty();
    config.converter = std::env::current_exe().ok().filter(|_| converts);
    config.rules = rules_from(args.signature_rules.as_deref())?;
    config.limits.threads = args.threads.into();
    config.limits.body = args.max_body;
    config.limits.memory = args.memory;
    config.limits.requests = args.max_requests;
    config.limits.time = Duration::from_secs(args.max_seconds);
    if !args.listen.ip().is_loopback() {
        complain(&format!("warning: {}: anyone who can reach this address can send requests", args.listen));
    }
    let ready = |bound: Bound| {
        // People and scripts wait for this line. If it cannot be written, the server answers requests anyway.
        let mut out = std::io::stdout().lock();
        let _ = writeln!(out, "http://{}/", bound.address).and_then(|()| out.flush());
    };
    serve(config, ready).map_err(|error| failed(error.to_string()))?;
    Ok(0)
}
