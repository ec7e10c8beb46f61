//! Fetches programs and debug files from debuginfod servers into the cache of elfutils' client.
//!
//! The protocol is `GET PREFIX/buildid/HEX/executable` and `/debuginfo`. The cache has a folder `HEX` with a file of each name. An empty
//! file means that no server had it at the last request. Protocol and cache are those of elfutils 0.188, so gdb and this crate share the
//! fetched files. This crate removes no file from the cache; elfutils' client removes unused files.

use std::fmt;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use foldsym_store::{BuildId, debuginfod_cache, hide_secrets, without_secrets};
use ureq::http::{Response, Uri};
use ureq::{Agent, Body};

use crate::program::build_id_in;

/// Larger files are refused, unless `DEBUGINFOD_MAXSIZE` sets another limit.
const MAX_BYTES: u64 = 16 << 30;
/// How long an absent file is remembered, in seconds, before the servers are searched again, unless the cache sets another number.
const MISSING_FOR: u64 = 600;
/// A server must send this many bytes within `DEBUGINFOD_TIMEOUT`, as elfutils' client asks of it.
const LEAST: u64 = 100 << 10;
/// How many redirects a request follows.
const REDIRECTS: u32 = 10;

/// Debuginfod servers, and the folder that keeps the fetched files.
///
/// No server is contacted unless [`Builder::debuginfod`](crate::Builder::debuginfod) is called. Calls block.
#[derive(Clone)]
pub struct Debuginfod {
    servers: Vec<String>,
    cache: PathBuf,
    headers: Vec<(String, String)>,
    max_bytes: u64,
    timeout: Duration,
    /// Bounds a whole answer, with all redirects.
    whole: Option<Duration>,
    agent: Agent,
}

impl fmt::Debug for Debuginfod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without the headers, which may have a password.
        f.debug_struct("Debuginfod")
            .field("servers", &self.location())
            .field("cache", &self.cache)
            .finish_non_exhaustive()
    }
}

/// Why a server did not answer.
#[derive(Debug, thiserror::Error)]
#[error("{url}: {problem}")]
pub(crate) struct FetchError {
    url: String,
    problem: String,
}

/// A file that a server sent.
pub(crate) struct Fetched {
    pub(crate) path: PathBuf,
    /// It is the debug file, since fetching the program failed. A later attempt may succeed.
    pub(crate) has_failed: bool,
}

/// The kind of file that is requested.
#[derive(Clone, Copy, Debug)]
enum Artifact {
    Executable,
    DebugInfo,
}

impl Artifact {
    fn name(self) -> &'static str {
        match self {
            Self::Executable => "executable",
            Self::DebugInfo => "debuginfo",
        }
    }
}

/// The servers in the text of `DEBUGINFOD_URLS`. A word that begins with `ima:` is no server: it says how elfutils checks signatures.
fn servers(urls: &str) -> Vec<String> {
    urls.split_whitespace().filter(|word| !word.starts_with("ima:")).map(str::to_owned).collect()
}

impl Debuginfod {
    /// The servers of `DEBUGINFOD_URLS` (URL prefixes, separated by spaces), with elfutils' cache and environment variables. `None` if
    /// the variable has no server, or no folder for a cache is known. Words such as `ima:enforcing` are skipped: signatures are not checked,
    /// but each file must have the requested build id.
    ///
    /// The variables are `DEBUGINFOD_CACHE_PATH`, `DEBUGINFOD_TIMEOUT` (seconds until an answer begins, and for each 100 KiB of
    /// it; 90 by default), `DEBUGINFOD_MAXTIME` (seconds for a whole answer), `DEBUGINFOD_MAXSIZE` (bytes) and `DEBUGINFOD_HEADERS_FILE` (one
    /// header per line, which a redirect to another host does not get).
    pub fn from_env() -> Option<Self> {
        let urls = std::env::var("DEBUGINFOD_URLS").ok()?;
        let servers = servers(&urls);
        if servers.is_empty() {
            return None;
        }
        let mut found = Self::new(
            servers,
            debuginfod_cache()?,
            seconds("DEBUGINFOD_TIMEOUT"),
            seconds("DEBUGINFOD_MAXTIME"),
        );
        found.max_bytes = positive("DEBUGINFOD_MAXSIZE").unwrap_or(MAX_BYTES);
        let headers =
            std::env::var_os("DEBUGINFOD_HEADERS_FILE").and_then(|path| fs::read_to_string(path).ok());
        let headers = headers.iter().flat_map(|text| text.lines()).filter_map(|line| line.split_once(':'));
        found.headers =
            headers.map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned())).collect();
        Some(found)
    }

    /// Servers by their URL prefixes, which are tried in order, and the folder for the files that they send. `timeout` bounds the wait until
    /// an answer begins, and for each 100 KiB of it (`None`: 90 seconds), `whole` the time for the whole answer.
    pub fn new(
        servers: Vec<String>,
        cache: impl Into<PathBuf>,
        timeout: Option<Duration>,
        whole: Option<Duration>,
    ) -> Self {
        let timeout = timeout.unwrap_or(Duration::from_secs(90));
        let config = Agent::config_builder()
            .timeout_connect(Some(timeout))
            .timeout_recv_response(Some(timeout))
            // The body too: a server may stop in the middle of it.
            .timeout_per_read(Some(timeout))
            // `request` follows redirects. The crate would send `headers` along, to whatever host.
            .max_redirects(0)
            .user_agent(concat!("foldsym/", env!("CARGO_PKG_VERSION")))
            .build();
        let agent = Agent::new_with_config(config);
        Self {
            servers,
            cache: cache.into(),
            headers: Vec::new(),
            max_bytes: MAX_BYTES,
            timeout,
            whole,
            agent,
        }
    }

    /// The folder of the cache.
    pub(crate) fn cache(&self) -> &Path {
        &self.cache
    }

    /// Fetches the program of a build id, and its debug file into the same folder of the cache. Returns the debug file if no server sends the
    /// program, and `Ok(None)` if no server has either.
    pub(crate) fn program(&self, id: &BuildId) -> Result<Option<Fetched>, FetchError> {
        // A program is worth little without its debug file, so an error there is returned. A debug file without its program suffices for
        // nearly all answers.
        let debug = self.get(id, Artifact::DebugInfo)?;
        let (program, has_failed) = match self.get(id, Artifact::Executable) {
            Err(error) if debug.is_none() => return Err(error),
            Err(_) => (None, true),
            Ok(found) => (found, false),
        };
        Ok(program.or(debug).map(|path| Fetched { path, has_failed }))
    }

    /// Headers of each request to the servers, by name and value. They are not sent to another host to which a server redirects.
    #[must_use]
    pub fn with_headers(mut self, headers: impl IntoIterator<Item = (String, String)>) -> Self {
        self.headers = headers.into_iter().collect();
        self
    }

    /// The servers, for messages: without `USER:PASSWORD@` and queries.
    pub(crate) fn location(&self) -> String {
        self.servers.iter().map(|server| without_secrets(server)).collect::<Vec<_>>().join(" ")
    }

    fn get(&self, id: &BuildId, artifact: Artifact) -> Result<Option<PathBuf>, FetchError> {
        let folder = self.cache.join(id.to_string());
        let path = folder.join(artifact.name());
        if let Ok(found) = path.metadata() {
            if found.len() > 0 {
                return Ok(Some(path));
            }
            let age = found.modified().ok().and_then(|time| time.elapsed().ok());
            // A file whose time is in the future has no age, and counts as recent.
            if age.is_none_or(|age| age.as_secs() < self.missing_for()) {
                return Ok(None);
            }
        }
        let local = |error: std::io::Error| FetchError {
            url: folder.display().to_string(),
            problem: error.to_string(),
        };
        private_folder(&folder).map_err(local)?;
        let mut failed = None;
        for server in &self.servers {
            let url = format!("{}/buildid/{id}/{}", server.trim_end_matches('/'), artifact.name());
            // The temporary file is in the folder of the result, so that `persist` can rename it. Another process sees the whole file or
            // none.
            let mut file =
                tempfile::Builder::new().prefix(artifact.name()).tempfile_in(&folder).map_err(local)?;
            let fetched = self.fetch(&url, file.as_file_mut());
            match fetched.and_then(|found| if found { expect(file.path(), id) } else { Ok(found) }) {
                Ok(true) => {
                    file.persist(&path).map_err(|error| local(error.error))?;
                    return Ok(Some(path));
                }
                Ok(false) => {}
                // The next server may have the file, so the error is not returned yet.
                Err(problem) => {
                    let problem = hide_secrets(&problem, &url);
                    failed.get_or_insert(FetchError { url: without_secrets(&url), problem });
                }
            }
        }
        match failed {
            // Not noted as missing: the server that failed may have the file.
            Some(error) => Err(error),
            None => {
                // An empty file, whose time says when no server had the file. It replaces an old one so that the time is new.
                let missing = tempfile::Builder::new().prefix(artifact.name()).tempfile_in(&folder);
                missing.map_err(local)?.persist(&path).map_err(|error| local(error.error))?;
                Ok(None)
            }
        }
    }

    /// The answer of a server, or of the host to which it redirects. `Ok(None)` if the server does not have the file.
    fn request(&self, url: &str, start: Instant) -> Result<Option<Response<Body>>, String> {
        let first: Uri = url.parse().map_err(|_| "not an address".to_owned())?;
        let mut uri = first.clone();
        for _ in 0..=REDIRECTS {
            let mut request = self.agent.get(&uri);
            for (name, value) in self.headers.iter().filter(|_| is_same_host(&first, &uri)) {
                request = request.header(name, value);
            }
            let left = self.whole.map(|whole| whole.saturating_sub(start.elapsed()));
            // Zero would mean that there is no bound.
            let left = left.map(|left| left.max(Duration::from_millis(1)));
            let answer = match request.config().timeout_global(left).build().call() {
                Ok(answer) => answer,
                Err(ureq::Error::StatusCode(404)) => return Ok(None),
                Err(error) => return Err(hide_secrets(&error.to_string(), &uri.to_string())),
            };
            if !answer.status().is_redirection() {
                return Ok(Some(answer));
            }
            let location = answer.headers().get("location").and_then(|location| location.to_str().ok());
            let next = location.and_then(|location| redirected(&uri, location));
            let problem = || format!("{} without an address to go on to", answer.status());
            uri = next.ok_or_else(problem)?;
        }
        Err(format!("more than {REDIRECTS} redirects"))
    }

    /// Writes the file of a server to `out`. `Ok(false)` if the server does not have it.
    fn fetch(&self, url: &str, out: &mut File) -> Result<bool, String> {
        let start = Instant::now();
        let Some(answer) = self.request(url, start)? else { return Ok(false) };
        let length = answer
            .headers()
            .get("content-length")
            .and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
        // Checked before the body is fetched. A server need not give a length, so the loop below also counts.
        if length.is_some_and(|length| length > self.max_bytes) {
            return Err(format!(
                "{} bytes, of which at most {} are taken",
                length.unwrap_or(0),
                self.max_bytes
            ));
        }
        // One byte more than allowed, so that the loop sees the excess and names the limit.
        let mut body = answer.into_body().into_with_config().limit(self.max_bytes.saturating_add(1)).reader();
        let mut written = 0u64;
        let mut buffer = vec![0; 64 << 10];
        let begun = Instant::now();
        loop {
            // A server that sends a byte now and then never makes a read time out.
            let pieces = u32::try_from(written / LEAST).unwrap_or(u32::MAX).saturating_add(1);
            if begun.elapsed() > self.timeout.saturating_mul(pieces) {
                return Err(format!("too slow: {written} bytes in {:.1?}", begun.elapsed()));
            }
            let count = body.read(&mut buffer).map_err(|error| error.to_string())?;
            if count == 0 {
                break;
            }
            written += count as u64;
            if written > self.max_bytes {
                return Err(format!("more than {} bytes", self.max_bytes));
            }
            out.write_all(&buffer[..count]).map_err(|error| error.to_string())?;
        }
        match written {
            // In the cache an empty file means that no server has it.
            0 => Err("an empty file".to_owned()),
            _ => Ok(true),
        }
    }

    /// The seconds for which a missing file is not requested again. The owner of the cache may set them in the file `cache_miss_s`.
    fn missing_for(&self) -> u64 {
        let text = fs::read_to_string(self.cache.join("cache_miss_s"));
        text.ok().and_then(|text| text.trim().parse().ok()).unwrap_or(MISSING_FOR)
    }
}

/// Whether two addresses have the same scheme, host and port.
fn is_same_host(one: &Uri, other: &Uri) -> bool {
    let origin = |uri: &Uri| {
        let host = uri.host().map(str::to_ascii_lowercase);
        let default = if uri.scheme_str() == Some("https") { 443 } else { 80 };
        (uri.scheme_str().map(str::to_owned), host, uri.port_u16().unwrap_or(default))
    };
    origin(one) == origin(other)
}

/// The address to which an answer from `from` redirects (RFC 9110 10.2.2). `USER:PASSWORD@` of `from` goes along to the same host alone.
fn redirected(from: &Uri, location: &str) -> Option<Uri> {
    let (scheme, authority) = (from.scheme_str()?, from.authority()?.as_str());
    // A fragment is not sent.
    let location = location.split('#').next()?;
    let text = if location.starts_with("//") {
        format!("{scheme}:{location}")
    } else if location.contains("://") {
        location.to_owned()
    } else if location.starts_with('/') {
        format!("{scheme}://{authority}{location}")
    } else {
        let folder = from.path().rsplit_once('/').map_or("", |(folder, _)| folder);
        format!("{scheme}://{authority}{folder}/{location}")
    };
    let to: Uri = text.parse().ok()?;
    let has_user = |authority: &str| authority.contains('@');
    if !is_same_host(from, &to) || has_user(to.authority()?.as_str()) || !has_user(authority) {
        return Some(to);
    }
    let path = to.path_and_query().map_or("/", |path| path.as_str());
    format!("{scheme}://{authority}{path}").parse().ok()
}

/// Checks that the file that a server sent has the requested build id. Only then it is kept, since a kept file is never fetched again.
fn expect(path: &Path, id: &BuildId) -> Result<bool, String> {
    let sent = build_id_in(path);
    let sent = sent.map_err(|error| format!("sent no program: {}", without_path(path, &error)))?;
    match BuildId::new(&sent) {
        Ok(sent) if sent == *id => Ok(true),
        Ok(sent) => Err(format!("sent another build: build id {sent}, expected {id}")),
        Err(_) => Err(format!("sent another build: no build id, expected {id}")),
    }
}

/// A message without the path that it begins with, which is of a file that is gone.
fn without_path<'t>(path: &Path, text: &'t str) -> &'t str {
    text.strip_prefix(&format!("{}: ", path.display())).unwrap_or(text)
}

/// Makes a folder that others cannot write to.
fn private_folder(folder: &Path) -> std::io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// A number in an environment variable. Zero, or a text that is not a number, counts as not set.
fn positive(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.trim().parse().ok().filter(|&number| number > 0)
}

fn seconds(name: &str) -> Option<Duration> {
    positive(name).map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use super::servers;

    #[test]
    fn words_about_signatures_are_no_servers() {
        let urls = "ima:enforcing https://one.example ima:ignore\nhttps://two.example ima:permissive";
        assert_eq!(servers(urls), ["https://one.example", "https://two.example"]);
        assert!(servers("ima:enforcing").is_empty());
    }
}
