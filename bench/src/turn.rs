//! The protocol of a peer in a separate process.
//!
//! The peer prepares, prints one [`Ready`] line, then runs once for every line it reads and prints one
//! [`Turn`] line each time. So turns interleave, memory is separate, and a slow peer can be stopped.

use std::{
    io::{BufRead, stdin},
    time::Instant,
};

use serde::{Deserialize, Serialize};

use crate::answer::Answer;

/// One measured run.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Turn {
    /// Wall-clock seconds of the work, without loading and checking.
    pub seconds: f64,
    /// The answer; the default if the work has none.
    #[serde(flatten)]
    pub answer: Answer,
}

/// Printed once, when all preparation is done.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Ready {
    /// The version of the peer, if it is not in the lock file.
    #[serde(default)]
    pub version: String,
    /// Resident bytes that preparing added (an index, mostly).
    #[serde(default)]
    pub bytes: u64,
    /// Seconds that preparing took.
    #[serde(default)]
    pub seconds: f64,
}

/// Measures `work`, then computes the answer with `check`.
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
