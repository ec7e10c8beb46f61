//! The counters of `/metrics`, in Prometheus' text format.

use std::time::Duration;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};

use crate::log::Counts;

/// Route and status of requests.
type Labels = Vec<(&'static str, String)>;

/// The counters, and the registry that prints them.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<Labels, Counter>,
    seconds: Histogram,
    /// Requests that run.
    pub(crate) running: Gauge,
    frames: Counter,
    named: Counter,
    received: Counter,
    sent: Counter,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let mut metrics = Self {
            registry: Registry::with_prefix("foldsym"),
            requests: Family::default(),
            // 0.1 ms to 26 s.
            seconds: Histogram::new(exponential_buckets(0.0001, 4.0, 10)),
            running: Gauge::default(),
            frames: Counter::default(),
            named: Counter::default(),
            received: Counter::default(),
            sent: Counter::default(),
        };
        let registry = &mut metrics.registry;
        registry.register("requests", "Requests by route and status", metrics.requests.clone());
        let (name, help) = ("request_duration", "Time from a request's head to its answer");
        registry.register_with_unit(name, help, Unit::Seconds, metrics.seconds.clone());
        registry.register("requests_running", "Requests that run", metrics.running.clone());
        registry.register("frames", "Frames that were answered", metrics.frames.clone());
        registry.register("frames_named", "Frames that have a function", metrics.named.clone());
        let (received, sent) = (metrics.received.clone(), metrics.sent.clone());
        registry.register_with_unit("received", "Bytes of requests", Unit::Bytes, received);
        registry.register_with_unit("sent", "Bytes of answers", Unit::Bytes, sent);
        metrics
    }

    pub(crate) fn note(&self, route: &str, status: u16, time: Duration, counts: Counts) {
        // The label is the route, not the path: a client could send any number of paths, and each label is kept forever.
        let labels = vec![("route", route.to_owned()), ("status", status.to_string())];
        self.requests.get_or_create(&labels).inc();
        self.seconds.observe(time.as_secs_f64());
        self.frames.inc_by(counts.frames);
        self.named.inc_by(counts.named);
        self.received.inc_by(counts.received);
        self.sent.inc_by(counts.sent);
    }

    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        // Writing into a string does not fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}
