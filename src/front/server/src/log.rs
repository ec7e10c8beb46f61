//! One line of JSON on standard error for each request.

use std::io::Write;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use foldsym_symbolize::json;

/// The log line of a request.
pub(crate) struct Line<'l> {
    pub(crate) method: &'l str,
    /// The path as received, without its query.
    pub(crate) path: &'l str,
    pub(crate) status: u16,
    pub(crate) time: Duration,
    pub(crate) counts: Counts,
}

/// Counts of a request; the answer carries them to the log.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    /// Bytes received and bytes of the answer.
    pub(crate) received: u64,
    pub(crate) sent: u64,
    pub(crate) stacks: u64,
    pub(crate) frames: u64,
    pub(crate) named: u64,
}

impl Line<'_> {
    /// The line with its end.
    fn text(&self, now: SystemTime) -> Vec<u8> {
        let mut out = Vec::with_capacity(256);
        let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        out.extend_from_slice(
            format!("{{\"time\":{}.{:03}", since.as_secs(), since.subsec_millis()).as_bytes(),
        );
        out.extend_from_slice(b",\"method\":");
        json::string(&mut out, self.method.as_bytes());
        out.extend_from_slice(b",\"path\":");
        // A client may send 64 KiB of path.
        json::string(&mut out, &self.path.as_bytes()[..self.path.len().min(200)]);
        for (key, value) in [
            ("status", self.status.into()),
            ("microseconds", u64::try_from(self.time.as_micros()).unwrap_or(u64::MAX)),
            ("received", self.counts.received),
            ("sent", self.counts.sent),
            ("stacks", self.counts.stacks),
            ("frames", self.counts.frames),
            ("named", self.counts.named),
        ] {
            out.extend_from_slice(format!(",\"{key}\":").as_bytes());
            json::number(&mut out, value);
        }
        out.extend_from_slice(b"}\n");
        out
    }

    pub(crate) fn write(&self) {
        // If standard error is closed, the error cannot be reported.
        let _ = std::io::stderr().lock().write_all(&self.text(SystemTime::now()));
    }
}

/// An event of the server itself.
pub(crate) fn event(message: &str) {
    let mut out = b"{\"event\":".to_vec();
    json::string(&mut out, message.as_bytes());
    out.extend_from_slice(b"}\n");
    // If standard error is closed, the event cannot be reported.
    let _ = std::io::stderr().lock().write_all(&out);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_json_whatever_the_path_is() {
        let path = format!("/\"\n\u{1b}{}", "\u{20ac}".repeat(200));
        let counts = Counts { frames: 7, ..Counts::default() };
        let line = Line { method: "GET", path: &path, status: 404, time: Duration::from_millis(2), counts };
        let text = String::from_utf8(line.text(UNIX_EPOCH + Duration::from_millis(1234))).unwrap();
        assert_eq!(text.matches('\n').count(), 1);
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(json["time"], 1.234);
        assert_eq!((&json["microseconds"], &json["frames"]), (&2000.into(), &7.into()));
        assert!(json["path"].as_str().unwrap().starts_with("/\"\n\u{1b}\u{20ac}"));
    }
}
