//! The folders that the system sets apart for what programs keep.

use std::{env, ffi::OsString, path::PathBuf};

use lookalike_jobs::Places;

/// What the environment says: the folders of the base directory specification.
pub fn places() -> Places {
    let own = |folder: PathBuf| folder.join("lookalike");
    Places {
        state: folder("XDG_STATE_HOME", ".local/state").map(own),
        cache: folder("XDG_CACHE_HOME", ".cache").map(own),
        data: folder("XDG_DATA_HOME", ".local/share"),
        temp: env::temp_dir(),
        current: env::current_dir().unwrap_or_default(),
    }
}

/// The folder of this variable; without it, this folder in the user's home.
fn folder(variable: &str, in_home: &str) -> Option<PathBuf> {
    // A path that is not absolute is to be ignored, says the specification.
    let absolute = |value: OsString| Some(PathBuf::from(value)).filter(|path| path.is_absolute());
    let given = env::var_os(variable).and_then(absolute);
    given.or_else(|| match cfg!(windows) {
        true => env::var_os("LOCALAPPDATA").and_then(absolute),
        false => Some(env::var_os("HOME").and_then(absolute)?.join(in_home)),
    })
}
