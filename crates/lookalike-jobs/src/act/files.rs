//! Moves and copies files without losing data. Nothing here replaces an existing file.

use std::{
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
};

use sha2::{Digest, Sha256};

use crate::{report::PartialName, source::Stamp};

/// Moves a file to a free name, also across file systems. `partial` names the copy until it is
/// complete. A file that is written to while it is copied stays where it is.
pub fn move_file(from: &Path, to: &Path, partial: &PartialName<'_>) -> io::Result<()> {
    match rename_new(from, to) {
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
            let copied = copy_new(from, to, partial)?;
            // Syncing the copy can take long, so check again as late as possible.
            if FileState::of(from)? != copied {
                fs::remove_file(to)?;
                return Err(io::Error::other(WRITTEN_TO));
            }
            fs::remove_file(from)
        }
        renamed => renamed,
    }
}

const WRITTEN_TO: &str = "was modified while it was being copied";

/// The state of a file. It changes when the file is written to or its links change.
#[derive(PartialEq, Eq)]
struct FileState {
    stamp: Stamp,
    /// The status change time, which programs cannot set.
    changed: Option<(i64, i64)>,
}

impl FileState {
    fn of(path: &Path) -> io::Result<Self> {
        let data = path.symlink_metadata()?;
        #[cfg(unix)]
        let changed = {
            use std::os::unix::fs::MetadataExt;
            Some((data.ctime(), data.ctime_nsec()))
        };
        #[cfg(not(unix))]
        let changed = None;
        Ok(Self { stamp: Stamp::of(&data), changed })
    }
}

/// Renames a file, but never over an existing one.
pub fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::{
            fs::{CWD, RenameFlags, renameat_with},
            io::Errno,
        };
        match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
            // Not supported by this file system.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
            renamed => return Ok(renamed?),
        }
    }
    rename_by_link(from, to)
}

/// A hard link never replaces a file. Without hard links, check that the name is free, then rename.
fn rename_by_link(from: &Path, to: &Path) -> io::Result<()> {
    match fs::hard_link(from, to) {
        Ok(()) => fs::remove_file(from),
        Err(error) if is_refused(&error) => {
            if to.symlink_metadata().is_ok() {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            fs::rename(from, to)
        }
        Err(error) => Err(error),
    }
}

fn is_refused(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::Unsupported)
}

/// Copies a file to a free name and returns the state of the original. A copy under its final name is
/// complete and on disk.
fn copy_new(from: &Path, to: &Path, partial: &PartialName<'_>) -> io::Result<FileState> {
    copy_with_hook(from, to, partial, &|| ())
}

/// Like [`copy_new`]; tests modify the original in `before_last_check`.
fn copy_with_hook(
    from: &Path,
    to: &Path,
    partial: &PartialName<'_>,
    before_last_check: &dyn Fn(),
) -> io::Result<FileState> {
    let folder = folder_of(to);
    let (copy, _partial) = partial.create_in(folder)?;
    let before = FileState::of(from)?;
    let data = from.metadata()?;
    io::copy(&mut File::open(from)?, &mut copy.as_file())?;
    copy_attributes(copy.as_file(), &data);
    copy.as_file().sync_all()?;
    let is_same = same_content(from, copy.path())?;
    before_last_check();
    if !is_same || FileState::of(from)? != before {
        return Err(io::Error::other(WRITTEN_TO));
    }
    copy.persist_noclobber(to).map_err(|failed| failed.error)?;
    sync_folder(folder);
    Ok(before)
}

/// Copies times, permissions and owner, as far as the system permits.
pub fn copy_attributes(file: &File, data: &fs::Metadata) {
    let times = fs::FileTimes::new();
    let times = data.modified().map_or(times, |time| times.set_modified(time));
    let times = data.accessed().map_or(times, |time| times.set_accessed(time));
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, fchown};
        let _ = fchown(file, Some(data.uid()), Some(data.gid()));
    }
    let _ = file.set_permissions(data.permissions());
    let _ = file.set_times(times);
}

/// Whether two files contain the same bytes.
pub fn same_content(a: &Path, b: &Path) -> io::Result<bool> {
    let [mut a, mut b] = [File::open(a)?, File::open(b)?];
    if a.metadata()?.len() != b.metadata()?.len() {
        return Ok(false);
    }
    let mut buffers = [vec![0; 1 << 17], vec![0; 1 << 17]];
    loop {
        let [buffer_a, buffer_b] = &mut buffers;
        let (length_a, length_b) = (fill(&mut a, buffer_a)?, fill(&mut b, buffer_b)?);
        if buffer_a[..length_a] != buffer_b[..length_b] {
            return Ok(false);
        }
        if length_a == 0 {
            return Ok(true);
        }
    }
}

/// Fills the buffer; returns less than its length only at the end of the file.
fn fill(file: &mut File, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read(&mut buffer[filled..])? {
            0 => break,
            count => filled += count,
        }
    }
    Ok(filled)
}

/// The stamp of a regular file; an error for links and everything else.
pub fn stamp(path: &Path) -> io::Result<Stamp> {
    let data = path.symlink_metadata()?;
    if data.is_symlink() {
        return Err(io::Error::other("is a symbolic link"));
    }
    if !data.is_file() {
        return Err(io::Error::other("is not a regular file"));
    }
    Ok(Stamp::of(&data))
}

/// The SHA-256 of a file's content in hexadecimal digits.
pub fn sha256(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 17];
    loop {
        match fill(&mut file, &mut buffer)? {
            0 => break,
            count => hash.update(&buffer[..count]),
        }
    }
    Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The absolute path without links. Its last components need not exist.
pub fn resolve(path: &Path) -> io::Result<PathBuf> {
    let path = std::path::absolute(path)?;
    let existing = path.ancestors().find_map(|folder| Some((folder, folder.canonicalize().ok()?)));
    Ok(match existing {
        Some((folder, real)) if folder == path => real,
        Some((folder, real)) => real.join(path.strip_prefix(folder).unwrap_or(Path::new(""))),
        None => path,
    })
}

/// The absolute path of a file: its folder without links, and its name, which may be a link.
pub fn resolve_folder(path: &Path) -> io::Result<PathBuf> {
    match path.file_name() {
        Some(name) => Ok(resolve(folder_of(path))?.join(name)),
        None => resolve(path),
    }
}

pub fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

pub fn folder_of(path: &Path) -> &Path {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// Makes the names in a folder durable. Systems that cannot sync folders need no such call.
pub fn sync_folder(folder: &Path) {
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Partials;

    fn part(partials: &Partials) -> PartialName<'_> {
        PartialName { partials, name: ".part".to_owned() }
    }

    #[test]
    fn never_moves_or_copies_over_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for operation in [rename_new, rename_by_link, |from: &Path, to: &Path| {
            copy_new(from, to, &part(&Partials::default())).map(drop)
        }] {
            fs::write(path("a"), "a").unwrap();
            fs::write(path("b"), "b").unwrap();
            let error = operation(&path("a"), &path("b")).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
            assert_eq!(fs::read_to_string(path("a")).unwrap(), "a");
            assert_eq!(fs::read_to_string(path("b")).unwrap(), "b");
            assert!(!path(".part").exists());
            operation(&path("a"), &path("c")).unwrap();
            assert_eq!(fs::read_to_string(path("c")).unwrap(), "a");
            fs::remove_file(path("c")).unwrap();
        }
    }

    #[test]
    fn keeps_an_edit_that_is_saved_while_the_file_is_copied() {
        use std::{io::Write, time::UNIX_EPOCH};
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("a"), "some text").unwrap();
        // An editor that has the file open.
        let editor = File::options().write(true).open(path("a")).unwrap();
        editor.set_modified(UNIX_EPOCH).unwrap();
        let save = || (&editor).write_all(b"EDIT").unwrap();
        let failed = copy_with_hook(&path("a"), &path("b"), &part(&Partials::default()), &save)
            .map(drop)
            .unwrap_err();
        assert_eq!(failed.to_string(), WRITTEN_TO);
        assert_eq!(fs::read_to_string(path("a")).unwrap(), "EDIT text");
        assert!(!path("b").exists() && !path(".part").exists());
        let copied = copy_new(&path("a"), &path("b"), &part(&Partials::default())).unwrap();
        assert!(copied == FileState::of(&path("a")).unwrap());
        editor.set_modified(UNIX_EPOCH).unwrap();
        assert!(copied != FileState::of(&path("a")).unwrap());
    }

    #[test]
    fn copy_keeps_the_modification_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("a"), "a").unwrap();
        let old =
            std::time::UNIX_EPOCH + std::time::Duration::from_nanos(1_234_567_890_123_456_789);
        File::options().write(true).open(path("a")).unwrap().set_modified(old).unwrap();
        copy_new(&path("a"), &path("b"), &part(&Partials::default())).unwrap();
        assert_eq!(path("b").metadata().unwrap().modified().unwrap(), old);
    }

    #[test]
    fn compares_contents_to_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let long = vec![7; (1 << 17) + 3];
        let mut other = long.clone();
        other[1 << 17] = 8;
        for (content, same) in [(long.clone(), true), (other, false), (long[1..].to_vec(), false)] {
            fs::write(path("a"), &long).unwrap();
            fs::write(path("b"), content).unwrap();
            assert_eq!(same_content(&path("a"), &path("b")).unwrap(), same);
        }
    }
}
