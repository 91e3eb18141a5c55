//! Signals such as Ctrl-C: before the process ends, incomplete outputs are removed and files that
//! were set aside are put back.

use lookalike_jobs::Partials;

/// From now on, a signal that ends the process cleans up first.
#[cfg(unix)]
pub fn clean_up_when_stopped(partials: &Partials) {
    use signal_hook::{
        consts::{SIGHUP, SIGINT, SIGTERM},
        iterator::Signals,
        low_level::emulate_default_handler,
    };
    let caught = [SIGINT, SIGTERM, SIGHUP].into_iter().filter(|&signal| !is_ignored(signal));
    let Ok(mut signals) = Signals::new(caught) else { return };
    let partials = partials.clone();
    std::thread::spawn(move || {
        if let Some(signal) = signals.forever().next() {
            partials.clean_up();
            let _ = emulate_default_handler(signal);
        }
    });
}

/// Whether this process was started to ignore the signal, as `nohup` does; known on Linux only.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

#[cfg(not(unix))]
pub fn clean_up_when_stopped(_partials: &Partials) {}
