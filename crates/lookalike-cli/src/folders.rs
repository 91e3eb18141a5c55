//! The folders that the system reserves for the data of programs.

use std::{env, ffi::OsString, path::PathBuf};

use lookalike_jobs::Folders;

/// The folders of the XDG base directory specification, from the environment.
pub fn folders() -> Folders {
    let own = |folder: PathBuf| folder.join("lookalike");
    Folders {
        state: folder("XDG_STATE_HOME", ".local/state").map(own),
        cache: folder("XDG_CACHE_HOME", ".cache").map(own),
        data: folder("XDG_DATA_HOME", ".local/share"),
        temp: env::temp_dir(),
        current: env::current_dir().unwrap_or_default(),
    }
}

/// The folder that this variable names; without it, this folder in the user's home.
fn folder(variable: &str, in_home: &str) -> Option<PathBuf> {
    // The specification says to ignore relative paths.
    let absolute = |value: OsString| Some(PathBuf::from(value)).filter(|path| path.is_absolute());
    let given = env::var_os(variable).and_then(absolute);
    given.or_else(|| match cfg!(windows) {
        true => env::var_os("LOCALAPPDATA").and_then(absolute),
        false => Some(env::var_os("HOME").and_then(absolute)?.join(in_home)),
    })
}
