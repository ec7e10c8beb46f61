//! Connections: how many there may be, how long a client may take to send a request, and how all of them end.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::{Notify, Semaphore};

use crate::log::event;
use crate::routes::{self, Shared};
use crate::stream::Stream;
use crate::{Bound, ServeError};

/// Answers until a signal says stop.
pub(crate) async fn run(
    shared: Shared,
    listen: SocketAddr,
    origins: &[String],
    ready: impl FnOnce(Bound),
) -> Result<(), ServeError> {
    let limits = shared.limits.clone();
    let router = routes::router(Arc::new(shared), origins)?;
    let listener = TcpListener::bind(listen).await.map_err(|error| ServeError::Listen(listen, error))?;
    let mut stop = Stop::new()?;
    // `notify_one` leaves a permit, so a stop that comes before the loop waits is not lost.
    let asked = Arc::new(Notify::new());
    ready(Bound { address: listener.local_addr()?, stop: asked.clone() });
    let connections = Arc::new(Semaphore::new(limits.connections));
    let graceful = GracefulShutdown::new();
    loop {
        // More connections than there may be wait in the system's queue.
        let accepted = async {
            let place = connections.clone().acquire_owned().await;
            (listener.accept().await, place)
        };
        let (accepted, place) = tokio::select! {
            accepted = accepted => accepted,
            () = stop.wait() => break,
            () = asked.notified() => break,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                event(&format!("cannot accept: {error}"));
                // If the process has no free file descriptors, the next `accept` would fail at once too.
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        // Answers are written whole; waiting for more would only delay them.
        let _ = stream.set_nodelay(true);
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(limits.head)
            // This limits the size of the head of a request.
            .max_buf_size(64 << 10)
            .serve_connection(
                TokioIo::new(Stream::new(stream, limits.unread)),
                TowerToHyperService::new(router.clone()),
            );
        let connection = graceful.watch(connection);
        tokio::spawn(async move {
            // If the client closed the connection, no error can be reported to it.
            let _ = connection.await;
            drop(place);
        });
    }
    // From here on the system refuses new clients, instead of keeping them in its queue.
    drop(listener);
    event("stopping");
    if tokio::time::timeout(limits.stop, graceful.shutdown()).await.is_err() {
        event("stopped before all requests were answered");
    }
    Ok(())
}

/// The signals that end the server.
struct Stop {
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
}

impl Stop {
    #[cfg(unix)]
    fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    #[cfg(unix)]
    async fn wait(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }

    #[cfg(not(unix))]
    fn new() -> std::io::Result<Self> {
        Ok(Self {})
    }

    #[cfg(not(unix))]
    async fn wait(&mut self) {
        let _ = tokio::signal::ctrl_c().await;
    }
}
