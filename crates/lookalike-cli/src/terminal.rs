//! Messages on stderr, data on stdout, and a progress bar on a terminal.

use std::{
    io::{self, IsTerminal, Write},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use lookalike_jobs::{FrontEnd, Step};

/// Steps of the bar; jobs report fractions of 1.
const STEPS: f64 = 1000.0;

/// The terminal of this process, or what its streams are redirected to.
pub struct Terminal {
    /// The current bar, if any. Drawn only if stderr is a terminal.
    bar: Mutex<Option<ProgressBar>>,
}

impl Terminal {
    pub fn new() -> Self {
        Self { bar: Mutex::new(None) }
    }
}

impl FrontEnd for Terminal {
    fn message(&self, line: &str) {
        // A closed stream is not an error.
        let _ = writeln!(io::stderr().lock(), "{line}");
    }

    fn stdout(&self) -> Box<dyn Write + Send> {
        Box::new(io::stdout())
    }

    fn is_interactive(&self) -> bool {
        io::stdout().is_terminal()
    }

    fn progress(&self, step: Step) {
        let mut bar = self.bar.lock().unwrap_or_else(PoisonError::into_inner);
        match step {
            Step::Idle => {
                bar.take().iter().for_each(ProgressBar::finish_and_clear);
            }
            Step::Read(items) => bar.get_or_insert_with(reading).inc(items as u64),
            Step::Searched(fraction) => {
                let bar = bar.get_or_insert_with(reading);
                if bar.length().is_none() {
                    bar.set_style(style(
                        "Searching {bar:40} {percent} %, {elapsed} elapsed, {eta} left",
                    ));
                    bar.set_length(STEPS as u64);
                    bar.reset();
                }
                bar.set_position((fraction * STEPS) as u64);
            }
        }
    }
}

fn reading() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    bar.set_style(style("{spinner} Reading {human_pos} items, {elapsed} elapsed"));
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("templates are written in this file")
}
