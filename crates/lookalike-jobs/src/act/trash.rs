//! Moves files to the trash, where desktops list and restore them.
//!
//! This implements the freedesktop.org trash specification 1.0: a file on the file system of the
//! user's home goes to the home trash, any other to the trash at the top of its own file system. The
//! path in the trash is reserved first, because the journal must contain it before the file is moved.

use std::{
    collections::HashSet,
    ffi::{OsStr, OsString},
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

use crate::host::Folders;

use super::files::{exists, folder_of, rename_new};

/// The trash of one user, on all file systems.
pub struct Trash {
    home: PathBuf,
    /// The device of the home trash.
    device: u64,
    user: u32,
    reserved: HashSet<PathBuf>,
}

/// A reserved path in the trash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reservation {
    pub file: PathBuf,
    /// The `.trashinfo` file.
    info: PathBuf,
    /// The original path for the info file, relative to the top of its file system or absolute.
    original: PathBuf,
}

#[cfg(unix)]
impl Trash {
    /// The trash of this user. Its folders are created with the first file.
    pub fn open(folders: &Folders) -> io::Result<Self> {
        let data = folders.data.as_ref();
        let home =
            data.ok_or_else(|| io::Error::other("no trash folder: HOME is not set; use --move"))?;
        Self::at(home.join("Trash"))
    }

    fn at(home: PathBuf) -> io::Result<Self> {
        let existing = home.ancestors().find(|folder| exists(folder)).unwrap_or(Path::new("/"));
        let device = device_of(existing)?;
        let user = rustix::process::getuid().as_raw();
        Ok(Self { home, device, user, reserved: HashSet::new() })
    }

    /// Reserves a free path in the trash for a file, whose own path must be absolute.
    pub fn reserve(&mut self, path: &Path) -> io::Result<Reservation> {
        let (trash, original) = if device_of(path)? == self.device {
            (self.home.clone(), path.to_owned())
        } else {
            let top = top_of(path)?;
            (self.on_device(&top), path.strip_prefix(&top).unwrap_or(path).to_owned())
        };
        let name = path.file_name().unwrap_or(OsStr::new("file"));
        let candidates = (1..).map(|number| {
            let name = numbered(name, number);
            let file = trash.join("files").join(&name);
            let mut info = name;
            info.push(".trashinfo");
            Reservation { file, info: trash.join("info").join(info), original: original.clone() }
        });
        let is_free = |candidate: &Reservation| {
            !exists(&candidate.file)
                && !exists(&candidate.info)
                && !self.reserved.contains(&candidate.file)
        };
        let reservation = candidates.into_iter().find(is_free);
        let reservation = reservation.ok_or_else(|| io::Error::other("the trash is full"))?;
        self.reserved.insert(reservation.file.clone());
        Ok(reservation)
    }

    /// The trash at the top of another file system: `.Trash/UID` if the administrator has created
    /// `.Trash`, otherwise `.Trash-UID`.
    fn on_device(&self, top: &Path) -> PathBuf {
        use std::os::unix::fs::PermissionsExt;
        const STICKY: u32 = 0o1000;
        let shared = top.join(".Trash");
        let provided = shared
            .symlink_metadata()
            .is_ok_and(|data| data.is_dir() && data.permissions().mode() & STICKY != 0);
        if provided {
            shared.join(self.user.to_string())
        } else {
            top.join(format!(".Trash-{}", self.user))
        }
    }
}

#[cfg(not(unix))]
impl Trash {
    pub fn open(_: &Folders) -> io::Result<Self> {
        Err(io::Error::other("the trash of this system is not supported; use --move"))
    }

    pub fn reserve(&mut self, _: &Path) -> io::Result<Reservation> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

impl Reservation {
    /// Moves a file to the reserved path, after writing its info file.
    pub fn fill(&self, path: &Path) -> io::Result<()> {
        let date = jiff::Zoned::now().strftime("%Y-%m-%dT%H:%M:%S").to_string();
        let note = format!("[Trash Info]\nPath={}\nDeletionDate={date}\n", percent(&self.original));
        for folder in [&self.file, &self.info].map(|path| folder_of(path)) {
            create_private(folder).map_err(|error| {
                let message = format!("cannot create the trash {}: {error}", folder.display());
                io::Error::new(error.kind(), message)
            })?;
        }
        let mut info = fs::File::create_new(&self.info)?;
        info.write_all(note.as_bytes())?;
        rename_new(path, &self.file).inspect_err(|_| {
            let _ = fs::remove_file(&self.info);
        })
    }
}

/// The info file of a file in the trash.
pub fn info_of(file: &Path) -> PathBuf {
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(".trashinfo");
    folder_of(folder_of(file)).join("info").join(name)
}

/// `photo.jpg`, `photo.2.jpg`, `photo.3.jpg`.
pub fn numbered(name: &OsStr, number: u32) -> OsString {
    if number == 1 {
        return name.to_owned();
    }
    let name = Path::new(name);
    let mut numbered = name.file_stem().unwrap_or_default().to_owned();
    numbered.push(format!(".{number}"));
    if let Some(extension) = name.extension() {
        numbered.push(".");
        numbered.push(extension);
    }
    numbered
}

/// Percent-encodes all bytes except letters, digits and `-_.~/`, as in a URL.
fn percent(path: &Path) -> String {
    let mut text = String::new();
    for &byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b'/' => {
                text.push(char::from(byte));
            }
            _ => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text
}

/// Creates a folder that only the user can open, as the specification demands.
fn create_private(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(folder)
}

#[cfg(unix)]
fn device_of(path: &Path) -> io::Result<u64> {
    use std::os::unix::fs::MetadataExt;
    Ok(path.symlink_metadata()?.dev())
}

/// The top folder of the file system of a file.
#[cfg(unix)]
fn top_of(path: &Path) -> io::Result<PathBuf> {
    let device = device_of(path)?;
    let mut top = folder_of(path);
    while let Some(above) = top.parent()
        && device_of(above)? == device
    {
        top = above;
    }
    Ok(top.to_owned())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn info_file_has_the_original_path_and_names_do_not_collide() {
        let folder = tempfile::tempdir().unwrap();
        let mut trash = Trash::at(folder.path().join("Trash")).unwrap();
        let path = folder.path().join("été 100%\n.jpg");
        fs::write(&path, "one").unwrap();
        let first = trash.reserve(&path).unwrap();
        // The first path is reserved, although no file exists there yet.
        let second = trash.reserve(&path).unwrap();
        assert_eq!(second.file, folder.path().join("Trash/files/été 100%\n.2.jpg"));
        first.fill(&path).unwrap();
        assert_eq!(fs::read_to_string(&first.file).unwrap(), "one");
        assert_eq!(info_of(&first.file), first.info);
        let note = fs::read_to_string(&first.info).unwrap();
        let lines: Vec<_> = note.lines().collect();
        assert_eq!(lines[0], "[Trash Info]");
        assert!(
            lines[1].starts_with("Path=/") && lines[1].ends_with("/%C3%A9t%C3%A9%20100%25%0A.jpg")
        );
        assert_eq!(lines[2].len(), "DeletionDate=2026-01-01T00:00:00".len());
        assert_eq!(lines.len(), 3);
    }

    #[test]
    fn failed_move_leaves_no_info_file() {
        let folder = tempfile::tempdir().unwrap();
        let mut trash = Trash::at(folder.path().join("Trash")).unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "one").unwrap();
        let reservation = trash.reserve(&path).unwrap();
        fs::remove_file(&path).unwrap();
        reservation.fill(&path).unwrap_err();
        assert!(!exists(&reservation.info));
    }

    #[test]
    fn number_goes_before_the_extension() {
        let name = |name: &str| numbered(OsStr::new(name), 2).into_string().unwrap();
        assert_eq!(
            ["a.jpg", "a", ".b", "a.tar.gz"].map(name),
            ["a.2.jpg", "a.2", ".b.2", "a.tar.2.gz"]
        );
    }
}
