//! Turns the number of files that the process may have open into the number of connections that it accepts.
//!
//! Each connection has a descriptor, as each file has that an answer opens. If connections took all of them, no module could be opened
//! while idle clients stay connected.

/// Descriptors of the runtime, the log and what the process was started with.
const OTHERS: u64 = 64;
/// Descriptors of a thread that answers: a conversion opens a program, its debug files and its output.
const OF_THREAD: u64 = 16;

/// The most connections of a process that wants so many and has so many threads that answer.
pub(crate) fn connections(wanted: usize, threads: usize) -> usize {
    #[cfg(unix)]
    if let Some(files) = rustix::process::getrlimit(rustix::process::Resource::Nofile).current {
        return within(wanted, threads, files);
    }
    let _ = threads;
    wanted
}

/// The same for a process that may have `files` open.
fn within(wanted: usize, threads: usize, files: u64) -> usize {
    let reserved = OTHERS.saturating_add(OF_THREAD.saturating_mul(threads as u64));
    // With few descriptors, connections and files have half of them each.
    let most = files.saturating_sub(reserved).max(files / 2).max(1);
    wanted.min(usize::try_from(most).unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::within;

    #[test]
    fn files_have_descriptors_besides_connections() {
        for (wanted, threads, files, most) in [
            (1024, 4, 1 << 20, 1024),
            (1024, 4, 1024, 896),
            (1024, 64, 1024, 512),
            (1024, 4, 100, 50),
            (10, 4, 100, 10),
            (1024, 4, 1, 1),
            (1024, 4, 0, 1),
        ] {
            assert_eq!(within(wanted, threads, files), most, "{threads} {files}");
        }
    }
}
