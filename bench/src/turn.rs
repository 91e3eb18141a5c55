//! How does a peer in its own process take part?
//!
//! It loads and prepares, prints one [`Ready`] line, then runs once for every line it reads and
//! prints one [`Turn`] line each time. So turns interleave, memory is its own, and a peer that
//! takes too long can be stopped.

use std::{
    io::{BufRead, stdin},
    time::Instant,
};

use serde::{Deserialize, Serialize};

use crate::answer::Answer;

/// One measured run.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Turn {
    /// Wall seconds of the work alone; neither loading nor checking.
    pub seconds: f64,
    /// What was found; the default where nothing is looked for.
    #[serde(flatten)]
    pub answer: Answer,
}

/// Said once, when everything that is not measured is done.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Ready {
    /// The peer's version, where the lock file does not tell it.
    #[serde(default)]
    pub version: String,
    /// Resident bytes that preparing added (an index, mostly).
    #[serde(default)]
    pub bytes: u64,
    /// Seconds that preparing took.
    #[serde(default)]
    pub seconds: f64,
}

/// Measures `work`, then lets `check` sum up what it found.
pub fn measure<T>(work: impl FnOnce() -> T, check: impl FnOnce(T) -> Answer) -> Turn {
    let start = Instant::now();
    let found = work();
    let seconds = start.elapsed().as_secs_f64();
    Turn { seconds, answer: check(found) }
}

/// The peer's side: one `turn` for every line on stdin.
pub fn serve(ready: &Ready, mut turn: impl FnMut() -> Turn) {
    say(ready);
    for line in stdin().lock().lines() {
        if line.is_err() {
            return;
        }
        say(&turn());
    }
}

fn say(message: &impl Serialize) {
    println!("{}", serde_json::to_string(message).expect("numbers and text are always JSON"));
}
