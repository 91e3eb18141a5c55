//! Where is the trash, and how does a file get there so that desktops show it and bring it back?
//!
//! After the freedesktop.org trash specification 1.0: a file of the file system of the user's home
//! goes to the home trash, any other to the trash at the top of its own file system. The place is
//! known before anything is done: it must be in the journal by then.

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
    /// Places given away, and not used yet.
    promised: HashSet<PathBuf>,
}

/// One place in the trash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Where the file goes.
    pub file: PathBuf,
    /// The note about it.
    info: PathBuf,
    /// What the note says of where the file was: from the top of its file system, or from the root.
    was: PathBuf,
}

#[cfg(unix)]
impl Trash {
    /// The trash of this user. It is made when something is put there.
    pub fn open(folders: &Folders) -> io::Result<Self> {
        let data = folders.data.as_ref();
        let home =
            data.ok_or_else(|| io::Error::other("there is no HOME for the trash to be in"))?;
        Self::at(home.join("Trash"))
    }

    fn at(home: PathBuf) -> io::Result<Self> {
        let there = home.ancestors().find(|folder| exists(folder)).unwrap_or(Path::new("/"));
        let device = device_of(there)?;
        let user = rustix::process::getuid().as_raw();
        Ok(Self { home, device, user, promised: HashSet::new() })
    }

    /// A free place for a file. Its path must be absolute.
    pub fn place(&mut self, path: &Path) -> io::Result<Place> {
        let (trash, was) = if device_of(path)? == self.device {
            (self.home.clone(), path.to_owned())
        } else {
            let top = top_of(path)?;
            (self.on_device(&top), path.strip_prefix(&top).unwrap_or(path).to_owned())
        };
        let name = path.file_name().unwrap_or(OsStr::new("file"));
        let places = (1..).map(|number| {
            let name = numbered(name, number);
            let file = trash.join("files").join(&name);
            let mut info = name;
            info.push(".trashinfo");
            Place { file, info: trash.join("info").join(info), was: was.clone() }
        });
        let free = |place: &Place| {
            !exists(&place.file) && !exists(&place.info) && !self.promised.contains(&place.file)
        };
        let place = places.into_iter().find(free);
        let place = place.ok_or_else(|| io::Error::other("the trash is full"))?;
        self.promised.insert(place.file.clone());
        Ok(place)
    }

    /// The trash at the top of another file system: `.Trash/UID` if its owner provides for it, else
    /// `.Trash-UID`.
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
    pub fn open() -> io::Result<Self> {
        Err(io::Error::other("this system has a trash of another kind; use --move"))
    }

    pub fn place(&mut self, _: &Path) -> io::Result<Place> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

impl Place {
    /// Puts a file there: first the note, then the file.
    pub fn take(&self, path: &Path) -> io::Result<()> {
        let date = jiff::Zoned::now().strftime("%Y-%m-%dT%H:%M:%S").to_string();
        let note = format!("[Trash Info]\nPath={}\nDeletionDate={date}\n", percent(&self.was));
        for folder in [&self.file, &self.info].map(|path| folder_of(path)) {
            make_private(folder).map_err(|error| {
                let what = format!("there can be no trash at {}: {error}", folder.display());
                io::Error::new(error.kind(), what)
            })?;
        }
        let mut info = fs::File::create_new(&self.info)?;
        info.write_all(note.as_bytes())?;
        rename_new(path, &self.file).inspect_err(|_| {
            let _ = fs::remove_file(&self.info);
        })
    }
}

/// The note about a file in the trash.
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
    if let Some(ending) = name.extension() {
        numbered.push(".");
        numbered.push(ending);
    }
    numbered
}

/// As in the path of an address: bytes that are no letters, digits or `-_.~/` by number.
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

/// The trash is its user's alone.
fn make_private(folder: &Path) -> io::Result<()> {
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

/// The highest folder of the file system that a file is on.
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
    fn the_note_says_where_the_file_was_and_names_do_not_meet() {
        let folder = tempfile::tempdir().unwrap();
        let mut trash = Trash::at(folder.path().join("Trash")).unwrap();
        let path = folder.path().join("été 100%\n.jpg");
        fs::write(&path, "one").unwrap();
        let first = trash.place(&path).unwrap();
        // Promised, though nothing is there yet.
        let second = trash.place(&path).unwrap();
        assert_eq!(second.file, folder.path().join("Trash/files/été 100%\n.2.jpg"));
        first.take(&path).unwrap();
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
    fn a_file_that_cannot_go_leaves_no_note() {
        let folder = tempfile::tempdir().unwrap();
        let mut trash = Trash::at(folder.path().join("Trash")).unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "one").unwrap();
        let place = trash.place(&path).unwrap();
        fs::remove_file(&path).unwrap();
        place.take(&path).unwrap_err();
        assert!(!exists(&place.info));
    }

    #[test]
    fn numbers_go_before_the_ending() {
        let name = |name: &str| numbered(OsStr::new(name), 2).into_string().unwrap();
        assert_eq!(
            ["a.jpg", "a", ".b", "a.tar.gz"].map(name),
            ["a.2.jpg", "a.2", ".b.2", "a.tar.2.gz"]
        );
    }
}
