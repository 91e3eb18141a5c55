//! Where does data go? Standard output, or a file that appears only when it is complete.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail, ensure};
use tempfile::{NamedTempFile, TempDir};

use super::partial::{PREFIX, Partial, Partials, RANDOM, SUFFIX};
use crate::{args::OutputArgs, host::Console, source::Stamp};

/// An open place for data. A file is written under another name until [`finish`](Self::finish).
pub struct Output {
    place: Place,
}

enum Place {
    Stdout(Box<dyn Write + Send>),
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
    pub fn create(args: &OutputArgs, console: Console<'_>) -> Result<Self> {
        let place = match args.file() {
            None => Place::Stdout(console.stdout()),
            Some(target) => Place::open(target, args.force, &console.host.partials)?,
        };
        Ok(Self { place })
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
            Err(failed) => {
                Err(failed.error).with_context(|| format!("{}: cannot write", target.display()))
            }
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
    fn open(target: &Path, replace: bool, partials: &Partials) -> Result<Self> {
        let name = target.display();
        let is_folder = target.as_os_str().as_encoded_bytes().ends_with(b"/");
        ensure!(!is_folder, "{name}: is the name of a folder; name a file in it");
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
        let (file, partial) = partials
            .claim(folder, make, NamedTempFile::path)
            .with_context(|| format!("{name}: cannot write into {}", folder.display()))?;
        Ok(Self::File { file, target: target.to_owned(), replace, partial })
    }
}

impl FolderOutput {
    /// Opens a folder that is not there yet, or has nothing in it.
    pub fn create(target: &Path, partials: &Partials) -> Result<Self> {
        let name = target.display();
        if let Ok(mut entries) = target.read_dir() {
            ensure!(
                entries.next().is_none(),
                "{name}: the folder is not empty; choose another one, or empty it first"
            );
        } else if target.exists() {
            bail!("{name}: is a file; kept files go to a folder");
        }
        let folder = folder_of(target)?;
        let (folder, partial) = partials
            .claim(folder, || temporary().tempdir_in(folder), TempDir::path)
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
            .with_context(|| format!("{}: cannot write", self.target.display()))?;
        // It is not temporary any more.
        let _ = self.folder.keep();
        Ok(())
    }
}

/// Two outputs cannot go to one place, and none may replace what is read, whatever it is called.
pub fn check_places<'a>(
    outputs: impl IntoIterator<Item = &'a Path>,
    inputs: impl IntoIterator<Item = &'a Path>,
) -> Result<()> {
    let outputs: Vec<_> = outputs.into_iter().map(Target::of).collect();
    for (number, target) in outputs.iter().enumerate() {
        let is_twice = outputs[..number].iter().any(|other| other.is(target));
        ensure!(
            !is_twice,
            "{}: two outputs share this path; give each its own",
            target.path.display()
        );
    }
    for input in inputs.into_iter().filter(|input| *input != Path::new("-")) {
        let input = Target::of(input);
        for target in &outputs {
            let name = target.path.display();
            ensure!(
                !target.replaces(&input),
                "{name}: is an input, and never replaced; name another"
            );
            ensure!(
                !target.lies_in(&input),
                "{name}: is in {}, which is read, so it is never replaced; name another",
                input.path.display()
            );
        }
    }
    Ok(())
}

/// A path and what is there.
struct Target<'a> {
    path: &'a Path,
    /// Without links.
    real: PathBuf,
    data: Option<fs::Metadata>,
}

impl<'a> Target<'a> {
    fn of(path: &'a Path) -> Self {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new(".")).canonicalize().ok();
        let new = || Some(folder?.join(path.file_name()?));
        let real = path.canonicalize().ok().or_else(new).unwrap_or_else(|| path.to_owned());
        Self { path, real, data: path.metadata().ok() }
    }

    /// Whether both are one file.
    fn is(&self, other: &Self) -> bool {
        let file = |target: &Self| {
            let data = target.data.as_ref().filter(|data| data.is_file());
            data.and_then(|data| Stamp::of(data).file)
        };
        let same_file = file(self).is_some_and(|one| file(other) == Some(one));
        self.path == other.path || self.real == other.real || same_file
    }

    /// Devices and pipes are not replaced.
    fn replaces(&self, input: &Self) -> bool {
        self.is(input) && self.data.as_ref().is_some_and(|data| data.is_file() || data.is_dir())
    }

    /// Whether this is a file in that folder that may be an item; hidden ones are none.
    fn lies_in(&self, folder: &Self) -> bool {
        let is_folder = folder.data.as_ref().is_some_and(fs::Metadata::is_dir);
        let is_file = self.data.as_ref().is_some_and(fs::Metadata::is_file);
        let within = self.real.strip_prefix(&folder.real);
        let is_shown =
            |path: &Path| path.iter().all(|name| !name.as_encoded_bytes().starts_with(b"."));
        is_folder && is_file && within.is_ok_and(is_shown)
    }
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
    builder.prefix(PREFIX).rand_bytes(RANDOM).suffix(SUFFIX);
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
    bail!("{}: already exists (use --force to overwrite)", target.display())
}
