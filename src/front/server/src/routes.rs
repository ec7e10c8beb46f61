//! The endpoints: the input of each, and its response.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Instant;

use axum::Router;
use axum::body::{Body, HttpBody};
use axum::extract::{MatchedPath, Path, RawQuery, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};
use bytes::Bytes;
use foldsym_reports::symbolicate::{Jobs, JobsError};
use foldsym_store::{BuildId, Store, SymbolMap};
use foldsym_symbolize::{Requests, Rules};
use hyper::body::{Frame, SizeHint};
use tower_http::cors::{AllowHeaders, Any, CorsLayer};

use crate::answers::Writing;
use crate::buffers::Buffers;
use crate::fetch::Fetcher;
use crate::files;
use crate::host::Hosts;
use crate::layout;
use crate::log::{Counts, Line};
use crate::memory::{self, Memory};
use crate::metrics::Metrics;
use crate::page;
use crate::pool::{Answering, Length, Pool};
use crate::profiles::Export;
use crate::query::flag;
use crate::refusal::Refusal;
use crate::sites::Sites;
use crate::{Limits, ServeError};

/// State that all requests share.
pub(crate) struct Shared {
    pub(crate) pool: Pool,
    pub(crate) fetcher: Fetcher,
    /// Places for searches of remote stores.
    pub(crate) finding: Arc<tokio::sync::Semaphore>,
    pub(crate) hosts: Hosts,
    pub(crate) sites: Sites,
    pub(crate) stores: Vec<Store>,
    pub(crate) limits: Limits,
    /// The rules of signatures.
    pub(crate) rules: Arc<Rules>,
    pub(crate) metrics: Option<Metrics>,
    pub(crate) memory: Memory,
    /// Bytes that a thread keeps from request to request.
    pub(crate) kept: u64,
    pub(crate) buffers: Arc<Buffers>,
    pub(crate) running: AtomicUsize,
}

type App = State<Arc<Shared>>;

/// All endpoints. Pages of `origins` may call `/symbolicate/v5`, and the other endpoints that the Firefox Profiler uses.
pub(crate) fn router(shared: Arc<Shared>, origins: &[String]) -> Result<Router, ServeError> {
    // The Firefox Profiler sets `User-Agent`, and Firefox asks whether it may; which headers come next only its authors know.
    let cors = CorsLayer::new().allow_methods([Method::POST]).allow_headers(AllowHeaders::mirror_request());
    // Browsers let a page of the public network send requests to a server of this machine only if a preflight request allows it.
    let cors = cors.allow_private_network(true);
    let cors = if origins.iter().any(|origin| origin == "*") {
        cors.allow_origin(Any)
    } else {
        let parse =
            |origin: &String| HeaderValue::from_str(origin).map_err(|_| ServeError::Origin(origin.clone()));
        cors.allow_origin(origins.iter().map(parse).collect::<Result<Vec<_>, _>>()?)
    };
    let limited = middleware::from_fn_with_state(shared.clone(), limited);
    let limit = shared.limits.body;
    let mut router = Router::new()
        .route("/", get(move || page::page(limit)))
        .route("/health", get(health))
        .route("/symbolicate", post(symbolicate))
        .route("/v1development/profiles", post(export_profiles))
        .route("/store", get(store))
        .route("/buildid/{id}/layout", get(bytes_of))
        .route("/buildid/{id}/fsym", get(fsym));
    if shared.metrics.is_some() {
        router = router.route("/metrics", get(metrics));
    }
    // A layer applies only to the routes added so far. The routes for pages get their layers below.
    let router = router.fallback(nothing).method_not_allowed_fallback(no_method).layer(limited.clone());
    // A page reads why it was refused only if that answer names it too.
    let for_pages = |endpoint: MethodRouter<Arc<Shared>>| {
        let endpoint = endpoint.options(no_method).fallback(no_method);
        // The layer that is added last is outermost, so CORS applies to refusals too.
        endpoint.layer::<_, Infallible>(limited.clone()).layer(cors.clone())
    };
    let router = router
        .route("/symbolicate/v5", for_pages(post(symbolicate_v5)))
        .route("/source/v1", for_pages(post(no_source)))
        .route("/asm/v1", for_pages(post(no_source)));
    Ok(router.layer(middleware::from_fn_with_state(shared.clone(), noted)).with_state(shared))
}

/// Wraps every request: logs and counts it.
async fn noted(State(shared): App, request: Request, next: Next) -> Response {
    let mut note = Note {
        start: Instant::now(),
        method: request.method().clone(),
        route: request.extensions().get::<MatchedPath>().map(|route| route.as_str().to_owned()),
        path: request.uri().path().to_owned(),
        status: UNANSWERED,
        counts: Counts::default(),
        shared,
    };
    let mut response = next.run(request).await;
    response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    note.counts = response.extensions().get::<Counts>().copied().unwrap_or_default();
    note.status = response.status().as_u16();
    response
}

/// The logged status of a request without an answer, as nginx logs it: its client went away, or the server stopped before it.
const UNANSWERED: u16 = 499;

/// A request, which is logged and counted when this is dropped. If the client goes away, `noted` does not go on after its `await`.
struct Note {
    shared: Arc<Shared>,
    start: Instant,
    method: Method,
    route: Option<String>,
    path: String,
    status: u16,
    counts: Counts,
}

impl Drop for Note {
    fn drop(&mut self) {
        let Self { status, counts, .. } = *self;
        let time = self.start.elapsed();
        if let Some(metrics) = &self.shared.metrics {
            metrics.note(self.route.as_deref().unwrap_or("none"), status, time, counts);
        }
        Line { method: self.method.as_str(), path: &self.path, status, time, counts }.write();
    }
}

/// Wraps every request: checks its `Host` header and the page that sends it, the number of requests in progress, and the time that it takes.
async fn limited(State(shared): App, request: Request, next: Next) -> Response {
    let is_health =
        request.extensions().get::<MatchedPath>().is_some_and(|route| route.as_str() == "/health");
    // The request is counted before the comparison: two requests cannot both take the last place.
    let running = Running::new(&shared);
    let host = request.headers().get(header::HOST).map(HeaderValue::as_bytes);
    let response = if !shared.hosts.allow(host) {
        let what = "the Host header is not a name of this server (--allow-host)";
        Refusal::new(StatusCode::MISDIRECTED_REQUEST, what).into_response()
    } else if !shared.sites.allow(request.method(), request.headers()) {
        let what = "a page of another origin sent this (--allow-origin)";
        Refusal::new(StatusCode::FORBIDDEN, what).into_response()
    // A busy server is healthy.
    } else if running.before >= shared.limits.requests && !is_health {
        Refusal::busy().into_response()
    } else {
        // The timeout drops the future, which closes its channel. The answering thread sees that and stops.
        match tokio::time::timeout(shared.limits.time, next.run(request)).await {
            Ok(response) => response,
            Err(_) => {
                let what = format!("not done within {} seconds", shared.limits.time.as_secs());
                Refusal::new(StatusCode::REQUEST_TIMEOUT, what).into_response()
            }
        }
    };
    response.map(|body| Body::new(Sending { body, running: Arc::new(running) }))
}

/// A request that runs, counted until its answer was sent.
struct Running {
    shared: Arc<Shared>,
    before: usize,
}

impl Running {
    fn new(shared: &Arc<Shared>) -> Self {
        if let Some(metrics) = &shared.metrics {
            metrics.running.inc();
        }
        Self { before: shared.running.fetch_add(1, Ordering::Relaxed), shared: shared.clone() }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.shared.running.fetch_sub(1, Ordering::Relaxed);
        if let Some(metrics) = &self.shared.metrics {
            metrics.running.dec();
        }
    }
}

/// A body whose request runs until the last of its bytes was sent: the connection holds bytes that the client does not read.
struct Sending {
    body: Body,
    running: Arc<Running>,
}

/// Bytes of such a body.
struct SentBytes {
    bytes: Bytes,
    _running: Arc<Running>,
}

impl AsRef<[u8]> for SentBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl HttpBody for Sending {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let frame = Pin::new(&mut self.body).poll_frame(context);
        let running = &self.running;
        // The connection may hold bytes after it has dropped the body, so the bytes keep the count too.
        let held = |bytes| Bytes::from_owner(SentBytes { bytes, _running: running.clone() });
        frame.map(|frame| frame.map(|frame| frame.map(|frame| frame.map_data(held))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

async fn nothing() -> Refusal {
    Refusal::new(StatusCode::NOT_FOUND, "no such endpoint")
}

/// samply answers these with source text and with machine code.
async fn no_source() -> Refusal {
    Refusal::new(StatusCode::NOT_FOUND, "symbol files have neither source text nor machine code")
}

async fn no_method() -> Refusal {
    Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "this endpoint has another method")
}

async fn health() -> Response {
    let text = concat!("{\"status\":\"ok\",\"version\":\"", env!("CARGO_PKG_VERSION"), "\"}\n");
    ([(header::CONTENT_TYPE, "application/json")], text).into_response()
}

async fn metrics(State(shared): App) -> Response {
    let text = shared.metrics.as_ref().map(Metrics::text).unwrap_or_default();
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, kind)], text).into_response()
}

async fn symbolicate_v5(State(shared): App, body: Body) -> Result<Response, Refusal> {
    answer(&shared, body, |body, Answering { worker, .. }, writing| {
        let jobs = Jobs::parse(body).map_err(|error| Refusal::bad(error.to_string()))?;
        // `out` is taken out, since `goes_on` borrows `writing` while the answer grows.
        let mut out = std::mem::take(&mut writing.out);
        match jobs.answer(worker, &mut out, |bytes| writing.goes_on(bytes)) {
            Ok(answered) => {
                writing.counts.stacks = jobs.jobs.iter().map(|job| job.stacks.len() as u64).sum();
                (writing.counts.frames, writing.counts.named) = (answered.frames, answered.named);
                writing.out = out;
                Ok(())
            }
            Err(JobsError::Stopped) => Err(writing.refusal()),
            Err(error) => Err(Refusal::bad(error.to_string())),
        }
    })
    .await
}

/// With `?signature` each stack has its signature.
async fn symbolicate(State(shared): App, RawQuery(query): RawQuery, body: Body) -> Result<Response, Refusal> {
    let is_signed = flag(query.as_deref(), "signature")?;
    answer(&shared, body, move |body, Answering { reader, worker, .. }, writing| {
        writing.is_signed = is_signed;
        writing.body(body, reader, worker)
    })
    .await
}

/// Takes an `ExportProfilesServiceRequest`. With `?symbolized` the answer is the request with functions and lines in its locations, in its
/// form; without it `ExportProfilesServiceResponse`.
async fn export_profiles(
    State(shared): App,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refusal> {
    let export = Export::of(&headers, query.as_deref())?;
    let write = move |body: &[u8], answering: &mut Answering<'_>, writing: &mut Writing<'_>| {
        export.write(body, answering, writing)
    };
    let mut response = answer(&shared, body, write).await?;
    // The answer has the form of the request.
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(export.content_type));
    Ok(response)
}

/// How often an answer is made again after files were fetched.
const ROUNDS: u32 = 3;

/// Receives a body, lets a thread answer it, and makes the answer a response.
async fn answer(
    shared: &Shared,
    body: Body,
    write: impl Fn(&[u8], &mut Answering<'_>, &mut Writing<'_>) -> Result<(), Refusal> + Copy + Send + 'static,
) -> Result<Response, Refusal> {
    let Limits { body: one, answer: limit, .. } = shared.limits;
    let received = Arc::new(files::receive(body, one, &shared.memory).await?);
    let kept = shared.kept;
    let (whole, patience) = (shared.memory.bytes(), shared.memory.wait());
    let (mut rounds, mut asking) = (0, None);
    let mut length = memory::length_of_work(&received.bytes);
    let (out, counts, held) = loop {
        let (buffers, received, rules) = (shared.buffers.clone(), received.clone(), shared.rules.clone());
        let work = shared.memory.work(&received.held, &received.bytes).await.ok_or_else(Refusal::busy)?;
        let held = shared.memory.nothing();
        let answered = shared.pool.run(length, move |answering, waiting| {
            let is_wanted = || waiting.is_there();
            let bytes = received.bytes.len();
            let counts = Counts { received: bytes as u64, ..Counts::default() };
            let requests = Requests::default();
            // Answers are longer than their requests.
            let out = buffers.take(bytes.min(1 << 20));
            let memory = work.bytes() as u64;
            let (is_out, room, is_wanted) = (false, 0, &is_wanted);
            let most = whole.saturating_sub(received.held.bytes()).saturating_sub(work.bytes());
            let mut writing = Writing {
                out,
                counts,
                limit,
                memory,
                held,
                most,
                patience,
                is_for_short: answering.is_for_short,
                is_long: false,
                is_out,
                room,
                rules: rules.clone(),
                signing: None,
                is_signed: false,
                requests,
                is_wanted,
            };
            let written = write(&received.bytes, answering, &mut writing);
            writing.counts.sent = writing.out.len() as u64;
            answering.worker.rest(kept);
            drop(work);
            let Writing { out, counts, held, is_long, .. } = writing;
            let unfetched = answering.symbolizer.take_unfetched();
            if answering.symbolizer.take_left() || is_long {
                // Its memory is free while it waits for another thread.
                drop((buffers.answer(out, None), held));
                return None;
            }
            Some((written.map(|()| (out, counts, held)), unfetched))
        });
        let panicked =
            || Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "the server failed at this request");
        let Some((written, unfetched)) = answered.await.ok_or_else(panicked)? else {
            length = Length::Long;
            continue;
        };
        // The time begins when there is something to fetch.
        let asking = asking.get_or_insert_with(|| shared.fetcher.asking());
        // With files that are fetched, a walk of a stack goes on and needs others.
        if unfetched.is_empty() || rounds == ROUNDS || !shared.fetcher.fetch(unfetched, asking).await {
            break written?;
        }
        rounds += 1;
    };
    drop(received);
    let out = shared.buffers.answer(out, Some(held));
    let mut response = ([(header::CONTENT_TYPE, "application/json")], out).into_response();
    response.extensions_mut().insert(counts);
    Ok(response)
}

/// The file of a build id. It changes only if it is replaced, for example by one that was converted with more options.
async fn fsym(State(shared): App, Path(id): Path<String>, headers: HeaderMap) -> Result<Response, Refusal> {
    let id = BuildId::parse(&id).map_err(|error| Refusal::bad(error.to_string()))?;
    let map = find(&shared, &id).await?;
    let etag = files::tag(&map, &id);
    let fixed = [
        (header::CONTENT_TYPE, "application/octet-stream".to_owned()),
        (header::CACHE_CONTROL, "public, max-age=86400".to_owned()),
        (header::ETAG, etag.clone()),
    ];
    // The tag depends on the file's content, so it is compared only after the file is found.
    if headers.get(header::IF_NONE_MATCH).is_some_and(|known| known == etag.as_str()) {
        return Ok((StatusCode::NOT_MODIFIED, fixed).into_response());
    }
    let bytes = files::bytes(map);
    let counts = Counts { sent: bytes.len() as u64, ..Counts::default() };
    let mut response = (fixed, bytes).into_response();
    response.extensions_mut().insert(counts);
    Ok(response)
}

/// Finds the file of a build id, which may take a while.
async fn find(shared: &Arc<Shared>, id: &BuildId) -> Result<SymbolMap, Refusal> {
    let failed = |what: String| Refusal::new(StatusCode::BAD_GATEWAY, what);
    let find = |is_remote: bool, place: Option<tokio::sync::OwnedSemaphorePermit>| {
        let (shared, wanted) = (shared.clone(), id.clone());
        // A search may wait for a disk or the network, and must not block a thread that answers.
        tokio::task::spawn_blocking(move || {
            // The thread has its place until the search ends, whether or not the client waits for it.
            let _place = place;
            files::find(&shared.stores, &wanted, is_remote)
        })
    };
    let here = find(false, None).await.map_err(|error| failed(error.to_string()))?;
    if let Ok(Some(map)) = here {
        return Ok(map);
    }
    let absent = || Refusal::new(StatusCode::NOT_FOUND, format!("no file of build id {id}"));
    // That no place is free says nothing if there is nothing to search.
    if shared.stores.iter().all(|store| matches!(store, Store::Local(_))) {
        return Err(here.map_or_else(|error| failed(error.to_string()), |_| absent()));
    }
    // Silent remote stores must not take the threads that search folders.
    let place = shared.finding.clone().try_acquire_owned().map_err(|_| Refusal::busy())?;
    let remote = find(true, Some(place)).await.map_err(|error| failed(error.to_string()))?;
    match (remote, here) {
        (Ok(Some(map)), _) => Ok(map),
        (Err(error), _) | (_, Err(error)) => Err(failed(error.to_string())),
        (Ok(None), Ok(_)) => Err(absent()),
    }
}

/// Lists the folders among the stores; other stores cannot be listed.
async fn store(State(shared): App) -> Result<Response, Refusal> {
    let stores = shared.stores.clone();
    work(&shared, move |is_wanted| layout::stores(&stores, is_wanted)).await
}

/// Where the bytes of a file go.
async fn bytes_of(State(shared): App, Path(id): Path<String>) -> Result<Response, Refusal> {
    let id = BuildId::parse(&id).map_err(|error| Refusal::bad(error.to_string()))?;
    let map = find(&shared, &id).await?;
    work(&shared, move |is_wanted| layout::layout(map, is_wanted)).await
}

/// Lets a thread that answers do work that has no body.
async fn work(
    shared: &Shared,
    work: impl FnOnce(&dyn Fn() -> bool) -> Result<serde_json::Value, Refusal> + Send + 'static,
) -> Result<Response, Refusal> {
    let done = shared.pool.run(Length::Long, move |_, waiting| work(&|| waiting.is_there())).await;
    let panicked = || Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "the server failed at this request");
    let out = done.ok_or_else(panicked)??.to_string();
    let counts = Counts { sent: out.len() as u64, ..Counts::default() };
    let mut response = ([(header::CONTENT_TYPE, "application/json")], out).into_response();
    response.extensions_mut().insert(counts);
    Ok(response)
}
