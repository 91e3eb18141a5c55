//! Folders with all that can be in one: nothing stops a run, everything left out is reported.
#![cfg(unix)]

use std::{
    fs,
    os::unix::{
        ffi::OsStrExt,
        fs::{PermissionsExt, symlink},
        net::UnixListener,
        process::CommandExt,
    },
};

use crate::run::{Folder, run, snapshot};

/// A folder with everything but usual files in it, and one of those.
fn odd() -> Folder {
    let folder = Folder::new();
    fs::create_dir_all(folder.path("in/closed")).unwrap();
    fs::write(folder.path("in/a.txt"), "One text, and nothing like it anywhere.").unwrap();
    fs::write(folder.path("in/.hidden"), "not to be seen").unwrap();
    fs::write(folder.path("in/closed/b.txt"), "behind a door").unwrap();
    fs::write(folder.path("in/secret.txt"), "behind another").unwrap();
    fs::hard_link(folder.path("in/a.txt"), folder.path("in/again.txt")).unwrap();
    symlink(".", folder.path("in/circle")).unwrap();
    symlink("nowhere", folder.path("in/void")).unwrap();
    symlink("a.txt", folder.path("in/twin")).unwrap();
    UnixListener::bind(folder.path("in/socket")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(folder.path("in/pipe")).status();
    assert!(made.unwrap().success());
    let name = std::ffi::OsStr::from_bytes(b"in/\xff\x1b[2J\n.bin");
    fs::write(folder.path("").join(name), b"\0\0\0\0").unwrap();
    folder
}

/// Runs as somebody whom doors stop, if we are somebody they do not.
fn run_as_nobody(folder: &Folder, arguments: &str) -> crate::run::Ran {
    let mut command = folder.command(arguments);
    let is_root = fs::metadata("/proc/self").is_ok_and(|data| {
        use std::os::unix::fs::MetadataExt;
        data.uid() == 0
    });
    if is_root {
        command.uid(65_534).gid(65_534);
    }
    run(command, b"")
}

#[test]
fn everything_odd_in_a_folder_is_reported_and_the_run_goes_on() {
    let folder = odd();
    fs::set_permissions(folder.path(""), fs::Permissions::from_mode(0o755)).unwrap();
    for name in ["in/closed", "in/secret.txt"] {
        fs::set_permissions(folder.path(name), fs::Permissions::from_mode(0o000)).unwrap();
    }
    let ran = run_as_nobody(&folder, "dedup in");
    fs::set_permissions(folder.path("in/closed"), fs::Permissions::from_mode(0o755)).unwrap();
    snapshot!(ran, @r"
    exit 0
    --- stderr
    reading texts, one a file of 3 files
    note: left out of in: 1 hidden, 3 symbolic links, 2 special files, 1 hard link of files listed already
    skipped in/closed: cannot be opened: Permission denied (os error 13)
    skipped in/secret.txt: cannot be opened: Permission denied (os error 13)
    skipped in/\xff\u{1b}[2J\n.bin: is not text: it has zero bytes; lookalike reads text and HTML files, .jsonl .ndjson .csv .tsv .parquet .warc, plain lines (--lines), each also packed with gzip, zstd, bzip2 or xz
    items    1 (3 skipped: 1 not text, 2 unreadable input)
    groups   none
    removed  would remove 0 (0.0 %)
    kept     1
    found    exact
    time     [TIME]
    nothing was written: -o KEPT writes what is kept, --report FILE.html shows the groups
    ");
}

#[test]
fn links_are_followed_on_demand_and_lead_to_no_file_twice() {
    snapshot!(odd().run("dedup in --follow-links"), @r"
    exit 0
    --- stderr
    reading texts, one a file of 4 files
    note: left out of in: 1 hidden, 2 special files, 2 hard links of files listed already
    skipped in/circle: is a link that leads back to in
    skipped in/void: cannot be opened: No such file or directory (os error 2)
    skipped in/\xff\u{1b}[2J\n.bin: is not text: it has zero bytes; lookalike reads text and HTML files, .jsonl .ndjson .csv .tsv .parquet .warc, plain lines (--lines), each also packed with gzip, zstd, bzip2 or xz
    items    3 (3 skipped: 1 not text, 2 unreadable input)
    groups   none
    removed  would remove 0 (0.0 %)
    kept     3
    found    exact; 1 text with too little to compare, compared by content
    time     [TIME]
    nothing was written: -o KEPT writes what is kept, --report FILE.html shows the groups
    ");
}

#[test]
fn a_folder_that_cannot_be_read_stops_a_strict_run() {
    snapshot!(odd().run("dedup in --strict --follow-links"), @"
    exit 2
    --- stderr
    error: in/circle: is a link that leads back to in (--strict stops at the first; without it, it is skipped)
    ");
}
