//! The bars and aims of the design, in its wording, each with the figure that is measured for it.

use crate::figures::Figures;
use crate::tools::Tool;

/// One line of the design's table.
pub(crate) struct Bar {
    pub(crate) what: &'static str,
    pub(crate) bar_text: &'static str,
    pub(crate) aim_text: &'static str,
    pub(crate) unit: &'static str,
    /// foldsym's figure, and its limit, from one input's measurements.
    pub(crate) value: fn(&Measured) -> Option<f64>,
    pub(crate) bar: fn(&Measured) -> Option<f64>,
    pub(crate) aim: fn(&Measured) -> Option<f64>,
}

/// All tools' figures on one input.
pub(crate) struct Measured<'a>(pub(crate) &'a [Figures]);

impl Measured<'_> {
    fn of(&self, tool: Tool) -> Option<&Figures> {
        self.0.iter().find(|figures| figures.tool == tool)
    }

    fn ours(&self) -> Option<&Figures> {
        self.of(Tool::Foldsym)
    }

    fn floor_cpu(&self) -> Option<f64> {
        self.of(Tool::Floor)?.cpu_s(1)
    }

    fn floor_peak_mb(&self) -> Option<f64> {
        Some(self.of(Tool::Floor)?.peak_kb(1)? / 1024.0)
    }

    /// The least CPU time that a peer's conversion takes with one thread.
    fn best_peer_cpu(&self) -> Option<f64> {
        let peers = [Tool::LlvmGsymutil, Tool::GsymRs, Tool::SymCache, Tool::DumpSyms];
        peers.iter().filter_map(|&peer| self.of(peer)?.cpu_s(1)).min_by(f64::total_cmp)
    }

    fn gsym_mb(&self) -> Option<f64> {
        megabytes(self.of(Tool::LlvmGsymutil)?.bytes)
    }

    fn gsym_zstd_mb(&self) -> Option<f64> {
        megabytes(self.of(Tool::LlvmGsymutil)?.zstd19_bytes)
    }

    fn symcache(&self, key: &str) -> Option<f64> {
        self.of(Tool::SymCache)?.lookup(key)
    }
}

fn megabytes(bytes: Option<u64>) -> Option<f64> {
    Some(bytes? as f64 / 1e6)
}

pub(crate) const BARS: [Bar; 8] = [
    Bar {
        what: "convert, CPU (without the name index)",
        bar_text: "the larger of 0.4 x the best peer and 2.5 x floor",
        aim_text: "2 x floor",
        unit: "s",
        value: |all| all.ours()?.cpu_s(1),
        bar: |all| match (all.best_peer_cpu(), all.floor_cpu()) {
            (Some(peer), Some(floor)) => Some((0.4 * peer).max(2.5 * floor)),
            _ => None,
        },
        aim: |all| Some(2.0 * all.floor_cpu()?),
    },
    Bar {
        what: "convert, 2 threads, wall",
        bar_text: "0.6 x own CPU",
        aim_text: "0.52 x own CPU",
        unit: "s",
        value: |all| all.ours()?.wall_s(2),
        // Own CPU with one thread: threads that waste time do not loosen the bar.
        bar: |all| Some(0.6 * all.ours()?.cpu_s(1)?),
        aim: |all| Some(0.52 * all.ours()?.cpu_s(1)?),
    },
    Bar {
        what: "peak memory",
        bar_text: "1.7 x floor",
        aim_text: "1.3 x floor",
        unit: "MiB",
        value: |all| Some(all.ours()?.peak_kb(1)? / 1024.0),
        bar: |all| Some(1.7 * all.floor_peak_mb()?),
        aim: |all| Some(1.3 * all.floor_peak_mb()?),
    },
    Bar {
        what: "file, with all merged functions and call keys",
        bar_text: "0.30 x GSYM",
        aim_text: "no larger than zstd -19 of the GSYM",
        unit: "MB",
        value: |all| megabytes(all.ours()?.bytes),
        bar: |all| Some(0.30 * all.gsym_mb()?),
        aim: |all| all.gsym_zstd_mb(),
    },
    Bar {
        what: "lookup, random code address",
        bar_text: "0.25 x symcache",
        aim_text: "100 ns",
        unit: "ns",
        value: |all| all.ours()?.lookup("ns_random"),
        bar: |all| Some(0.25 * all.symcache("ns_random")?),
        aim: |_| Some(100.0),
    },
    Bar {
        what: "lookup, sorted addresses",
        bar_text: "0.5 x symcache",
        aim_text: "40 ns",
        unit: "ns",
        value: |all| all.ours()?.lookup("ns_sorted"),
        bar: |all| Some(0.5 * all.symcache("ns_sorted")?),
        aim: |_| Some(40.0),
    },
    Bar {
        what: "lookup, random, every name written out",
        bar_text: "0.5 x symcache",
        aim_text: "",
        unit: "ns",
        value: |all| all.ours()?.lookup("ns_names"),
        bar: |all| Some(0.5 * all.symcache("ns_names")?),
        aim: |_| None,
    },
    Bar {
        // The first open of a process is in the table of cold starts: it takes page faults on the process's own code, for any file.
        what: "open, in a process that opened a file before",
        bar_text: "constant time, under 10 us",
        aim_text: "",
        unit: "us",
        value: |all| all.ours()?.cold("us_open_again"),
        bar: |_| Some(10.0),
        aim: |_| None,
    },
];
