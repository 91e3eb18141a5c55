//! Where do files of lookalike's own go? Where the system keeps such things for its users: what was
//! done (journals), and what can be made again (caches).

use std::{env, ffi::OsString, path::PathBuf};

/// What was done, to be undone: `$XDG_STATE_HOME/lookalike`, `~/.local/state/lookalike`.
pub fn state() -> Option<PathBuf> {
    Some(place("XDG_STATE_HOME", ".local/state", "LOCALAPPDATA")?.join("lookalike"))
}

/// What can be made again: `$XDG_CACHE_HOME/lookalike`, `~/.cache/lookalike`.
pub fn cache() -> Option<PathBuf> {
    Some(place("XDG_CACHE_HOME", ".cache", "LOCALAPPDATA")?.join("lookalike"))
}

/// Where users' files are kept: `$XDG_DATA_HOME`, `~/.local/share`.
pub fn data() -> Option<PathBuf> {
    place("XDG_DATA_HOME", ".local/share", "LOCALAPPDATA")
}

/// The folder of this variable; else this folder in the user's home.
fn place(variable: &str, in_home: &str, on_windows: &str) -> Option<PathBuf> {
    // The base directory specification: a path that is not absolute is to be ignored.
    let absolute = |value: OsString| Some(PathBuf::from(value)).filter(|path| path.is_absolute());
    let given = env::var_os(variable).and_then(absolute);
    given.or_else(|| match cfg!(windows) {
        true => env::var_os(on_windows).and_then(absolute),
        false => Some(env::var_os("HOME").and_then(absolute)?.join(in_home)),
    })
}
