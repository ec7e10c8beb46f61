//! Shows on a terminal how far a conversion is, and nothing elsewhere.

use std::io::IsTerminal;
use std::time::Duration;

use foldsym_convert::Progress;
use indicatif::{ProgressBar, ProgressStyle};

/// A bar on standard error; hidden if that is not a terminal.
pub(crate) struct Bar {
    bar: ProgressBar,
    /// Several inputs: the bar counts them, and their steps are not shown.
    several: bool,
}

impl Bar {
    /// A bar over `inputs` conversions, or over the steps of one.
    pub(crate) fn new(inputs: usize, quiet: bool) -> Self {
        let several = inputs > 1;
        let bar = if quiet || !std::io::stderr().is_terminal() {
            ProgressBar::hidden()
        } else {
            // The steps of one conversion set the length.
            let bar = ProgressBar::new(if several { inputs as u64 } else { 0 });
            // A step may advance rarely: without the tick the elapsed time would seem to stop.
            bar.enable_steady_tick(Duration::from_millis(100));
            bar
        };
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg:12} [{bar:30}] {pos}/{len} {elapsed}")
        {
            bar.set_style(style.progress_chars("=> "));
        }
        if several {
            bar.set_message("files");
        }
        Self { bar, several }
    }

    /// One of several inputs is done.
    pub(crate) fn input_done(&self) {
        if self.several {
            self.bar.inc(1);
        }
    }

    /// Prints lines while the bar is not shown.
    pub(crate) fn suspend<T>(&self, print: impl FnOnce() -> T) -> T {
        self.bar.suspend(print)
    }

    /// Removes the bar from the terminal.
    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

impl Progress for Bar {
    fn step(&self, name: &'static str, total: u64) {
        if !self.several {
            self.bar.set_message(name);
            self.bar.set_length(total);
            self.bar.set_position(0);
        }
    }

    fn advance(&self, n: u64) {
        if !self.several {
            self.bar.inc(n);
        }
    }
}
