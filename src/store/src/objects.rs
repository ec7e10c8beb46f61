//! A remote store through the `object_store` crate: S3, Google and Azure storage, and HTTP servers, which are only read.
//!
//! S3 answers a request for a missing object with 403, not 404, unless the reader may list the bucket. Without `s3:ListBucket` a missing
//! object is therefore an error here.
//!
//! Calls block until the answer has come, on a runtime of the store's own. Do not make them from a thread that runs asynchronous tasks.

use std::io::Write;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use object_store::http::HttpBuilder;
use object_store::path::Path;
use object_store::{
    ClientConfigKey, ClientOptions, ObjectStore, ObjectStoreExt, ObjectStoreScheme, PutMode, PutOptions,
    PutPayload, RetryConfig,
};
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;
use url::{Position, Url};

use crate::remote::{Object, Remote, RemoteError};
use crate::remote_setup::{check, hint};
use crate::shown::{hide_secrets, without_secrets};

/// How often a failed request to an HTTP server is repeated.
const RETRIES: usize = 2;

/// A remote store must accept this many bytes of an object within the time for which it may be silent.
const PIECE: usize = 8 << 20;

/// A remote store must send this many bytes in that time on average. At the start it has twice the time.
const LEAST: u64 = 1 << 20;

/// Objects below an address.
pub(crate) struct Objects {
    store: Box<dyn ObjectStore>,
    prefix: Path,
    /// The address, without secrets.
    location: String,
    /// The address and the endpoints as the crates have them, whose errors may contain their secrets.
    addresses: Vec<String>,
    identity: String,
    /// What to look at if a request fails; often empty.
    hint: String,
    runtime: Runtime,
    read_only: bool,
    patience: Duration,
}

impl Objects {
    /// Opens an address. Credentials and endpoints come from the environment: `AWS_*`, `GOOGLE_*`, `AZURE_*`. It fetches nothing yet.
    ///
    /// Later calls fail if the store is silent for longer than `patience`.
    pub(crate) fn open(location: &str, patience: Duration) -> Result<Self, RemoteError> {
        let ours = ["aws_", "google_", "azure_", "gce_"];
        let options = std::env::vars_os().filter_map(|(key, value)| {
            let key = key.into_string().ok()?.to_ascii_lowercase();
            ours.iter().any(|prefix| key.starts_with(prefix)).then_some((key, value.into_string().ok()?))
        });
        Self::open_with(location, patience, options.collect())
    }

    /// As [`Self::open`], with credentials and endpoints as options: names in lower case, and values.
    fn open_with(
        location: &str,
        patience: Duration,
        options: Vec<(String, String)>,
    ) -> Result<Self, RemoteError> {
        // The cache names its folder by a hash of the address, so an address must have one spelling.
        let location = location.trim_end_matches('/');
        let shown = without_secrets(location);
        let url = Url::parse(location).map_err(|error| RemoteError::new(&*shown, error))?;
        // The messages of the crate repeat the endpoint too.
        let endpoints =
            options.iter().filter(|(key, _)| key.contains("endpoint")).map(|(_, value)| value.clone());
        let addresses: Vec<String> = endpoints.chain([url.to_string()]).collect();
        let failed =
            |problem: &dyn ToString| RemoteError::new(&*shown, hidden(&problem.to_string(), &addresses));
        if url.query().is_some() || url.fragment().is_some() {
            return Err(failed(&"expected an address without a query (`?`) and a fragment (`#`)"));
        }
        let scheme = ObjectStoreScheme::parse(&url);
        let hint = match &scheme {
            Ok((scheme, _)) => {
                check(scheme, &options).map_err(|problem| failed(&problem))?;
                hint(scheme, &options)
            }
            Err(_) => String::new(),
        };
        // The crate takes `https://` addresses of Amazon, Cloudflare and Azure for their storage, not for HTTP servers.
        let read_only = matches!(scheme, Ok((ObjectStoreScheme::Http, _)));
        let identity = if read_only { location.to_owned() } else { identity(location, &options) };
        let (store, prefix) = match scheme {
            Ok((ObjectStoreScheme::Http, path)) => {
                // `object_store` takes `http://` only if it is allowed explicitly.
                let is_plain = (url.scheme() == "http").to_string();
                // A large download may take long: `get` bounds the time by the bytes that arrive.
                let client = ClientOptions::new().with_timeout_disabled();
                let client = client.with_config(ClientConfigKey::AllowHttp, is_plain);
                let retries =
                    RetryConfig { max_retries: RETRIES, retry_timeout: patience, ..RetryConfig::default() };
                // The options of `parse_url_opts` can neither turn off the time limit nor limit the retries.
                let builder = HttpBuilder::new().with_url(&url[..Position::BeforePath]);
                let builder = builder.with_client_options(client).with_retry(retries);
                let store = builder.build().map_err(|error| failed(&error))?;
                (Box::new(store) as Box<dyn ObjectStore>, Path::parse(path).map_err(|error| failed(&error))?)
            }
            _ => object_store::parse_url_opts(
                &url,
                options.into_iter().filter(|(key, _)| !key.starts_with("gce_")),
            )
            .map_err(|error| failed(&error))?,
        };
        // A thread of the runtime serves the connections while callers wait.
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.map_err(|error| failed(&error))?;
        Ok(Self { store, prefix, location: shown, addresses, identity, hint, runtime, read_only, patience })
    }

    /// The whole path of a key.
    fn path(&self, key: &str) -> Path {
        Path::from_iter(self.prefix.parts().chain(Path::from(key).parts()))
    }

    fn silent(&self, key: &str) -> RemoteError {
        self.failed(key, format!("no answer within {:?}", self.patience))
    }

    fn failed(&self, key: &str, problem: impl ToString) -> RemoteError {
        let problem = format!("{}{}", hidden(&problem.to_string(), &self.addresses), self.hint);
        RemoteError::new(format!("{}/{key}", self.location), problem)
    }
}

/// A message without the secrets of these addresses.
fn hidden(message: &str, addresses: &[String]) -> String {
    addresses.iter().fold(message.to_owned(), |message, address| hide_secrets(&message, address))
}

impl Remote for Objects {
    fn get(&self, key: &str, out: &mut dyn Write) -> Result<bool, RemoteError> {
        let path = self.path(key);
        self.runtime.block_on(async {
            let answer = timeout(self.patience, self.store.get(&path)).await;
            let answer = answer.map_err(|_| self.silent(key))?;
            let (size, mut stream) = match answer {
                Ok(found) => (found.meta.size, found.into_stream()),
                Err(object_store::Error::NotFound { .. }) => return Ok(false),
                Err(error) => return Err(self.failed(key, error)),
            };
            let (start, mut received) = (Instant::now(), 0_u64);
            loop {
                // A store that sends a byte now and then is never silent, and never done.
                let pieces = u32::try_from(received / LEAST).unwrap_or(u32::MAX).saturating_add(2);
                let left = self.patience.saturating_mul(pieces).saturating_sub(start.elapsed());
                let slow = |_| {
                    let problem = format!("too slow: {received} bytes in {:.1?}", start.elapsed());
                    if left < self.patience { self.failed(key, problem) } else { self.silent(key) }
                };
                let piece = timeout(left.min(self.patience), stream.next()).await.map_err(slow)?;
                let ended = |why| self.failed(key, format!("ended after {received} of {size} bytes{why}"));
                let Some(piece) = piece else {
                    // A connection that ends early may look like the end of the object.
                    return if received == size { Ok(true) } else { Err(ended(String::new())) };
                };
                let piece = piece.map_err(|error| ended(format!(": {error}")))?;
                out.write_all(&piece).map_err(|error| self.failed(key, error))?;
                received += piece.len() as u64;
            }
        })
    }

    fn size(&self, key: &str) -> Result<Option<u64>, RemoteError> {
        let path = self.path(key);
        match self.runtime.block_on(async { timeout(self.patience, self.store.head(&path)).await }) {
            Ok(Ok(found)) => Ok(Some(found.size)),
            Ok(Err(object_store::Error::NotFound { .. })) => Ok(None),
            Ok(Err(error)) => Err(self.failed(key, error)),
            Err(_) => Err(self.silent(key)),
        }
    }

    fn create(&self, key: &str, bytes: &[u8]) -> Result<bool, RemoteError> {
        self.put(key, bytes, PutMode::Create)
    }

    fn replace(&self, key: &str, bytes: &[u8]) -> Result<(), RemoteError> {
        self.put(key, bytes, PutMode::Overwrite).map(|_| ())
    }

    fn list(&self, prefix: &str, each: &mut dyn FnMut(Object)) -> Result<(), RemoteError> {
        if self.read_only {
            let problem =
                "plain HTTP cannot list files: run this where the folder or storage behind the server is";
            return Err(RemoteError::new(&*self.location, problem));
        }
        let path = self.path(prefix);
        let below = self.prefix.parts().count();
        self.runtime.block_on(async {
            let mut objects = self.store.list(Some(&path));
            // Some thousand objects arrive in one answer.
            while let Some(object) =
                timeout(self.patience, objects.next()).await.map_err(|_| self.silent(prefix))?
            {
                let object = object.map_err(|error| self.failed(prefix, error))?;
                let parts: Vec<_> = object.location.parts().skip(below).collect();
                let key = parts.iter().map(|part| part.as_ref()).collect::<Vec<_>>().join("/");
                each(Object { key, size: object.size, modified: object.last_modified.into() });
            }
            Ok(())
        })
    }

    fn remove(&self, key: &str) -> Result<(), RemoteError> {
        if self.read_only {
            let problem =
                "plain HTTP cannot remove files: run this where the folder or storage behind the server is";
            return Err(RemoteError::new(&*self.location, problem));
        }
        let path = self.path(key);
        match self.runtime.block_on(async { timeout(self.patience, self.store.delete(&path)).await }) {
            Ok(Ok(()) | Err(object_store::Error::NotFound { .. })) => Ok(()),
            Ok(Err(error)) => Err(self.failed(key, error)),
            Err(_) => Err(self.silent(key)),
        }
    }

    fn location(&self) -> &str {
        &self.location
    }

    fn identity(&self) -> String {
        self.identity.clone()
    }
}

impl Objects {
    /// `Ok(false)` where an object is there that stays.
    fn put(&self, key: &str, bytes: &[u8], mode: PutMode) -> Result<bool, RemoteError> {
        if self.read_only {
            return Err(self.failed(key, "an HTTP server is only read: publish to its folder or storage"));
        }
        let (path, payload) = (self.path(key), PutPayload::from(bytes.to_vec()));
        // The progress of a request is unknown, so a large file gets more time.
        let pieces = u32::try_from(bytes.len() / PIECE).unwrap_or(u32::MAX);
        let most = self.patience.saturating_mul(pieces.saturating_add(1));
        let put = self.store.put_opts(&path, payload, PutOptions::from(mode));
        match self.runtime.block_on(async { timeout(most, put).await }) {
            Ok(Ok(_)) => Ok(true),
            Ok(Err(object_store::Error::AlreadyExists { .. })) => Ok(false),
            Ok(Err(error)) => Err(self.failed(key, error)),
            Err(_) => Err(self.failed(key, format!("no answer within {most:?}"))),
        }
    }
}

/// The address, with the variables that lead it elsewhere: `s3://symbols` of two endpoints is two stores.
fn identity(location: &str, options: &[(String, String)]) -> String {
    let leads = |key: &str| key.contains("endpoint") || key.ends_with("account_name");
    let mut leading: Vec<String> =
        options.iter().filter(|(key, _)| leads(key)).map(|(key, value)| format!(" {key}={value}")).collect();
    // The environment has no fixed order.
    leading.sort();
    format!("{location}{}", leading.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An `https://` address of S3 can be written to, and the endpoint is a part of its identity.
    #[test]
    fn an_address_of_storage_is_no_http_server() {
        let endpoint = ("aws_endpoint".to_owned(), "https://localhost:9".to_owned());
        let open = |location: &str| {
            let anybody = ("aws_skip_signature".to_owned(), "true".to_owned());
            Objects::open_with(location, Duration::from_secs(1), vec![endpoint.clone(), anybody]).unwrap()
        };
        for location in ["https://symbols.s3.us-east-1.amazonaws.com/all", "s3://symbols/all"] {
            let objects = open(location);
            let identity = format!("{location} aws_endpoint=https://localhost:9");
            assert_eq!((objects.read_only, objects.identity()), (false, identity));
        }
        let objects = open("https://symbols.example.org/all");
        assert_eq!((objects.read_only, objects.identity()), (true, "https://symbols.example.org/all".into()));
    }

    #[test]
    fn an_address_with_a_query_is_refused_without_showing_it() {
        for location in
            ["https://localhost:9/all?token=word", "s3://symbols/all?word", "https://localhost:9/#word"]
        {
            let error = Objects::open(location, Duration::from_secs(1)).map(|_| ()).unwrap_err().to_string();
            assert!(error.contains("without a query") && !error.contains("word"), "{error}");
        }
    }
}
