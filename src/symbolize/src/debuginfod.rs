//! Fetches programs and debug files from debuginfod servers into the cache of elfutils' client.
//!
//! The protocol is `GET PREFIX/buildid/HEX/executable` and `/debuginfo`. The cache has a folder `HEX` with a file of each name. An empty
//! file means that no server had it at the last request. Protocol and cache are those of elfutils 0.188, so gdb and this crate share the
//! fetched files. This crate removes no file from the cache; elfutils' client removes unused files.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use foldsym_store::{BuildId, debuginfod_cache};
use ureq::Agent;

use crate::program::build_id_in;

/// Larger files are refused, unless `DEBUGINFOD_MAXSIZE` sets another limit.
const MAX_BYTES: u64 = 16 << 30;
/// How long an absent file is remembered, in seconds, before the servers are searched again, unless the cache sets another number.
const MISSING_FOR: u64 = 600;

/// Debuginfod servers, and the folder that keeps the fetched files.
///
/// No server is contacted unless [`Builder::debuginfod`](crate::Builder::debuginfod) is called. Calls block.
#[derive(Clone, Debug)]
pub struct Debuginfod {
    servers: Vec<String>,
    cache: PathBuf,
    headers: Vec<(String, String)>,
    max_bytes: u64,
    agent: Agent,
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
    /// The variables are `DEBUGINFOD_CACHE_PATH`, `DEBUGINFOD_TIMEOUT` (seconds until an answer begins; 90 by default),
    /// `DEBUGINFOD_MAXTIME` (seconds for a whole answer), `DEBUGINFOD_MAXSIZE` (bytes) and `DEBUGINFOD_HEADERS_FILE` (one header per line).
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
    /// an answer begins (`None`: 90 seconds), `whole` the time for the whole answer.
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
            .timeout_global(whole)
            .user_agent(concat!("foldsym/", env!("CARGO_PKG_VERSION")))
            .build();
        let agent = Agent::new_with_config(config);
        Self { servers, cache: cache.into(), headers: Vec::new(), max_bytes: MAX_BYTES, agent }
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

    /// The servers, for messages.
    pub(crate) fn location(&self) -> String {
        self.servers.join(" ")
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
                Err(problem) => _ = failed.get_or_insert(FetchError { url, problem }),
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

    /// Writes the file of a server to `out`. `Ok(false)` if the server does not have it.
    fn fetch(&self, url: &str, out: &mut File) -> Result<bool, String> {
        let mut request = self.agent.get(url);
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let answer = match request.call() {
            Ok(answer) => answer,
            Err(ureq::Error::StatusCode(404)) => return Ok(false),
            Err(error) => return Err(error.to_string()),
        };
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
        loop {
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
