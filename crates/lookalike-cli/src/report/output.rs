//! Where does data go? Standard output, or a file that appears only when it is complete.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail, ensure};
use tempfile::{NamedTempFile, TempDir};

use super::partial::Partial;
use crate::args::OutputArgs;

/// An open place for data. A file is written under another name until [`finish`](Self::finish).
pub struct Output {
    place: Place,
}

enum Place {
    Stdout(io::Stdout),
    /// A pipe or device: nothing to rename.
    Device(File),
    File {
        file: NamedTempFile,
        target: PathBuf,
        replace: bool,
        partial: Partial,
    },
}

/// An open folder for files, which appears under its name only when all of them are in it.
pub struct FolderOutput {
    folder: TempDir,
    target: PathBuf,
    partial: Partial,
}

impl Output {
    /// Opens the output before work starts, so that a wrong name costs no time.
    pub fn create(args: &OutputArgs) -> Result<Self> {
        let place = match args.file() {
            None => Place::Stdout(io::stdout()),
            Some(target) => Place::open(target, args.force)?,
        };
        Ok(Self { place })
    }

    pub fn stdout() -> Self {
        Self { place: Place::Stdout(io::stdout()) }
    }

    /// Writes one text to standard output.
    pub fn print(text: &str) -> Result<()> {
        let mut output = Self::stdout();
        output.write_all(text.as_bytes()).context("cannot write to standard output")?;
        output.finish()
    }

    /// Completes the output: only now a file gets its name.
    pub fn finish(mut self) -> Result<()> {
        self.flush()?;
        let Place::File { file, target, replace, partial } = self.place else { return Ok(()) };
        let renamed = if replace { file.persist(&target) } else { file.persist_noclobber(&target) };
        drop(partial);
        match renamed {
            Ok(_) => Ok(()),
            Err(failed) if failed.error.kind() == io::ErrorKind::AlreadyExists => exists(&target),
            Err(failed) => Err(failed.error)
                .with_context(|| format!("{}: cannot be put in place", target.display())),
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.place {
            Place::Stdout(stdout) => stdout.write(bytes),
            Place::Device(file) => file.write(bytes),
            Place::File { file, .. } => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.place {
            Place::Stdout(stdout) => stdout.flush(),
            Place::Device(file) => file.flush(),
            Place::File { file, .. } => file.flush(),
        }
    }
}

impl Place {
    fn open(target: &Path, replace: bool) -> Result<Self> {
        let name = target.display();
        match target.metadata() {
            Ok(found) if found.is_dir() => bail!("{name}: is a folder; name a file in it"),
            Ok(found) if !found.is_file() => {
                let device = OpenOptions::new().write(true).open(target);
                return device
                    .map(Self::Device)
                    .with_context(|| format!("{name}: cannot be written"));
            }
            Ok(_) if !replace => exists(target)?,
            _ => {}
        }
        let folder = folder_of(target)?;
        let make = || with_usual_permissions(&mut temporary()).tempfile_in(folder);
        let (file, partial) = Partial::create(make, NamedTempFile::path)
            .with_context(|| format!("{name}: cannot write into {}", folder.display()))?;
        Ok(Self::File { file, target: target.to_owned(), replace, partial })
    }
}

impl FolderOutput {
    /// Opens a folder that is not there yet, or has nothing in it.
    pub fn create(target: &Path) -> Result<Self> {
        let name = target.display();
        if let Ok(mut entries) = target.read_dir() {
            ensure!(
                entries.next().is_none(),
                "{name}: there are files in this folder; choose another one, or empty it first"
            );
        } else if target.exists() {
            bail!("{name}: is a file; kept files go to a folder");
        }
        let folder = folder_of(target)?;
        let (folder, partial) =
            Partial::create(|| temporary().tempdir_in(folder), TempDir::path)
                .with_context(|| format!("{name}: cannot write into {}", folder.display()))?;
        Ok(Self { folder, target: target.to_owned(), partial })
    }

    /// Puts one file into the folder, at the path that `put` is given.
    pub fn put<T>(&self, relative: &Path, put: impl FnOnce(&Path) -> T) -> T {
        self.partial.fill(|folder| put(&folder.join(relative)))
    }

    /// Completes the output: only now the folder gets its name.
    pub fn finish(self) -> Result<()> {
        give_usual_permissions(self.folder.path());
        // A folder takes the place of an empty one only.
        fs::rename(self.folder.path(), &self.target)
            .with_context(|| format!("{}: cannot be put in place", self.target.display()))?;
        // It is not temporary any more.
        let _ = self.folder.keep();
        Ok(())
    }
}

/// Two outputs cannot go to one place.
pub fn refuse_twice<'a>(outputs: impl IntoIterator<Item = &'a Path>) -> Result<()> {
    let mut outputs: Vec<_> = outputs.into_iter().collect();
    outputs.sort();
    if let Some(twice) = outputs.windows(2).find(|two| two[0] == two[1]) {
        bail!("{}: two outputs of one name; give each its own", twice[0].display());
    }
    Ok(())
}

/// The folder in which `target` will appear.
fn folder_of(target: &Path) -> Result<&Path> {
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    ensure!(
        folder.is_dir(),
        "{}: there is no folder {}; make it first",
        target.display(),
        folder.display()
    );
    Ok(folder)
}

/// A name that tells what is left behind if the machine goes down.
fn temporary() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".lookalike-").suffix(".partial");
    builder
}

/// What any new file gets; the system takes away what the user's mask says.
fn with_usual_permissions<'b>(
    builder: &'b mut tempfile::Builder<'static, 'static>,
) -> &'b mut tempfile::Builder<'static, 'static> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder
}

/// A temporary folder is its owner's alone; one that stays is like those made beside it.
fn give_usual_permissions(folder: &Path) {
    let beside = folder.parent().and_then(|parent| parent.metadata().ok());
    #[cfg(unix)]
    if let Some(beside) = beside {
        use std::os::unix::fs::PermissionsExt;
        let mode = beside.permissions().mode() & 0o777;
        let _ = fs::set_permissions(folder, fs::Permissions::from_mode(mode));
    }
    #[cfg(not(unix))]
    let _ = beside;
}

fn exists(target: &Path) -> Result<()> {
    bail!(
        "{}: there is such a file; choose another name, or --force to replace it",
        target.display()
    )
}
