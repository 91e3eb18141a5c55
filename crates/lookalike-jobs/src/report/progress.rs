//! How far are we? A bar on a terminal, nothing anywhere else.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Steps of the bar; the library reports parts of 1.
const STEPS: f64 = 1000.0;

/// Shows reading, then searching. Drawn only if stderr is a terminal.
pub struct Progress {
    bar: ProgressBar,
}

impl Progress {
    pub fn new(quiet: bool) -> Self {
        let target =
            if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(None, target);
        bar.set_style(style("{spinner} {elapsed} {human_pos} items read"));
        bar.enable_steady_tick(Duration::from_millis(200));
        Self { bar }
    }

    /// So many more items are read.
    pub fn read(&self, items: usize) {
        self.bar.inc(items as u64);
    }

    /// This part of the search is done.
    pub fn searched(&self, part: f64) {
        if self.bar.length().is_none() {
            self.bar.set_style(style("{bar:40} {percent} % searched in {elapsed}, {eta} left"));
            self.bar.set_length(STEPS as u64);
            self.bar.reset();
        }
        self.bar.set_position((part * STEPS) as u64);
    }

    /// Takes the bar away before other text is written.
    pub fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

/// A bar left on the screen would stand between the user and an error.
impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("templates are written in this file")
}
