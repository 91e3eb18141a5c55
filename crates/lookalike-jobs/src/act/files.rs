//! How does a file get another place without anything being lost? Nothing here replaces a file that
//! is there.

use std::{
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
};

use sha2::{Digest, Sha256};

use crate::{report::PartialName, source::Stamp};

/// Moves a file to a name that is not taken; over the end of a file system, too. `partial` is a name
/// to copy to before the copy is complete. A file that somebody writes to while it is copied stays.
pub fn move_file(from: &Path, to: &Path, partial: &PartialName<'_>) -> io::Result<()> {
    match rename_new(from, to) {
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
            let copied = copy_new(from, to, partial)?;
            // To bring a copy to the disk may take long: one more look, as late as can be.
            if Moment::of(from)? != copied {
                fs::remove_file(to)?;
                return Err(io::Error::other(WRITTEN_TO));
            }
            fs::remove_file(from)
        }
        renamed => renamed,
    }
}

const WRITTEN_TO: &str = "was written to while it was copied";

/// What tells that nobody wrote to a file or changed its names.
#[derive(PartialEq, Eq)]
struct Moment {
    stamp: Stamp,
    /// When its content or attributes were last changed, which nobody can set.
    changed: Option<(i64, i64)>,
}

impl Moment {
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

/// Renames a file, but never over another one.
pub fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::{
            fs::{CWD, RenameFlags, renameat_with},
            io::Errno,
        };
        match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
            // File systems that cannot do this say so.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
            done => return Ok(done?),
        }
    }
    rename_by_link(from, to)
}

/// A link takes no name that is taken. Where there are no links, it is looked before.
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

/// Copies a file to a name that is not taken, and tells how it was meanwhile. When the copy has its
/// name, it is whole, and on the disk.
fn copy_new(from: &Path, to: &Path, partial: &PartialName<'_>) -> io::Result<Moment> {
    copy_while(from, to, partial, &|| ())
}

/// As [`copy_new`], while somebody else does something.
fn copy_while(
    from: &Path,
    to: &Path,
    partial: &PartialName<'_>,
    meanwhile: &dyn Fn(),
) -> io::Result<Moment> {
    let folder = folder_of(to);
    let (copy, _partial) = partial.create_in(folder)?;
    let before = Moment::of(from)?;
    let data = from.metadata()?;
    io::copy(&mut File::open(from)?, &mut copy.as_file())?;
    keep_attributes(copy.as_file(), &data);
    copy.as_file().sync_all()?;
    let is_same = same_content(from, copy.path())?;
    meanwhile();
    if !is_same || Moment::of(from)? != before {
        return Err(io::Error::other(WRITTEN_TO));
    }
    copy.persist_noclobber(to).map_err(|failed| failed.error)?;
    sync_folder(folder);
    Ok(before)
}

/// Time, permissions and owner, as far as the system lets us.
pub fn keep_attributes(file: &File, data: &fs::Metadata) {
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

/// Whether two files hold the same bytes.
pub fn same_content(one: &Path, other: &Path) -> io::Result<bool> {
    let [mut one, mut other] = [File::open(one)?, File::open(other)?];
    if one.metadata()?.len() != other.metadata()?.len() {
        return Ok(false);
    }
    let mut buffers = [vec![0; 1 << 17], vec![0; 1 << 17]];
    loop {
        let [ones, others] = &mut buffers;
        let (count, same) = (fill(&mut one, ones)?, fill(&mut other, others)?);
        if ones[..count] != others[..same] {
            return Ok(false);
        }
        if count == 0 {
            return Ok(true);
        }
    }
}

/// As much as fits, less only at the end.
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

/// What the file system says of a plain file; a link or anything else is none.
pub fn stamp(path: &Path) -> io::Result<Stamp> {
    let data = path.symlink_metadata()?;
    if data.is_symlink() {
        return Err(io::Error::other("is a symbolic link"));
    }
    if !data.is_file() {
        return Err(io::Error::other("is no file"));
    }
    Ok(Stamp::of(&data))
}

/// The SHA-256 of what a file holds, as hexadecimal digits.
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

/// The path without links, though its end need not be there yet.
pub fn resolve(path: &Path) -> io::Result<PathBuf> {
    let path = std::path::absolute(path)?;
    let there = path.ancestors().find_map(|folder| Some((folder, folder.canonicalize().ok()?)));
    Ok(match there {
        Some((folder, real)) if folder == path => real,
        Some((folder, real)) => real.join(path.strip_prefix(folder).unwrap_or(Path::new(""))),
        None => path,
    })
}

/// The one path of a file: its folder without links, and its name, which may be a link.
pub fn place_of(path: &Path) -> io::Result<PathBuf> {
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

/// Names are on the disk when their folder is. Where folders cannot be synced, they sync themselves.
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
    fn nothing_is_moved_or_copied_over_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for how in [rename_new, rename_by_link, |from: &Path, to: &Path| {
            copy_new(from, to, &part(&Partials::default())).map(drop)
        }] {
            fs::write(path("a"), "a").unwrap();
            fs::write(path("b"), "b").unwrap();
            let error = how(&path("a"), &path("b")).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
            assert_eq!(fs::read_to_string(path("a")).unwrap(), "a");
            assert_eq!(fs::read_to_string(path("b")).unwrap(), "b");
            assert!(!path(".part").exists());
            how(&path("a"), &path("c")).unwrap();
            assert_eq!(fs::read_to_string(path("c")).unwrap(), "a");
            fs::remove_file(path("c")).unwrap();
        }
    }

    #[test]
    fn what_is_saved_while_a_file_is_copied_is_not_lost() {
        use std::{io::Write, time::UNIX_EPOCH};
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("a"), "some text").unwrap();
        // An editor that has the file open.
        let editor = File::options().write(true).open(path("a")).unwrap();
        editor.set_modified(UNIX_EPOCH).unwrap();
        let save = || (&editor).write_all(b"EDIT").unwrap();
        let failed = copy_while(&path("a"), &path("b"), &part(&Partials::default()), &save)
            .map(drop)
            .unwrap_err();
        assert_eq!(failed.to_string(), WRITTEN_TO);
        assert_eq!(fs::read_to_string(path("a")).unwrap(), "EDIT text");
        assert!(!path("b").exists() && !path(".part").exists());
        let copied = copy_new(&path("a"), &path("b"), &part(&Partials::default())).unwrap();
        assert!(copied == Moment::of(&path("a")).unwrap());
        editor.set_modified(UNIX_EPOCH).unwrap();
        assert!(copied != Moment::of(&path("a")).unwrap());
    }

    #[test]
    fn a_copy_is_as_old_as_its_original() {
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
    fn contents_are_compared_to_their_ends() {
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
