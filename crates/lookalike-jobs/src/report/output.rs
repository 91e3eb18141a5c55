//! Outputs: standard output, or a file that appears only when it is complete.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail, ensure};
use tempfile::{NamedTempFile, TempDir};

use super::partial::{PREFIX, Partial, Partials, RANDOM, SUFFIX};
use crate::{args::OutputArgs, host::Console, source::Stamp};

/// An open output. A file has a temporary name until [`finish`](Self::finish).
pub struct Output {
    target: OpenTarget,
}

enum OpenTarget {
    Stdout(Box<dyn Write + Send>),
    /// A pipe or device, which needs no renaming.
    Device(File),
    File {
        file: NamedTempFile,
        target: PathBuf,
        replace: bool,
        partial: Partial,
    },
}

/// An open folder for files. It appears under its name only when it is complete.
pub struct FolderOutput {
    folder: TempDir,
    target: PathBuf,
    partial: Partial,
}

impl Output {
    /// Opens the output before work starts, so that a wrong name fails early.
    pub fn create(args: &OutputArgs, console: Console<'_>) -> Result<Self> {
        let target = match args.file() {
            None => OpenTarget::Stdout(console.stdout()),
            Some(path) => OpenTarget::open(path, args.force, &console.host.partials)?,
        };
        Ok(Self { target })
    }

    /// Completes the output and gives a file its name.
    pub fn finish(mut self) -> Result<()> {
        self.flush()?;
        let OpenTarget::File { file, target, replace, partial } = self.target else {
            return Ok(());
        };
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
        match &mut self.target {
            OpenTarget::Stdout(stdout) => stdout.write(bytes),
            OpenTarget::Device(file) => file.write(bytes),
            OpenTarget::File { file, .. } => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.target {
            OpenTarget::Stdout(stdout) => stdout.flush(),
            OpenTarget::Device(file) => file.flush(),
            OpenTarget::File { file, .. } => file.flush(),
        }
    }
}

impl OpenTarget {
    fn open(target: &Path, replace: bool, partials: &Partials) -> Result<Self> {
        let name = target.display();
        let is_folder = target.as_os_str().as_encoded_bytes().ends_with(b"/");
        ensure!(!is_folder, "{name}: is the path of a folder; name a file in it");
        match target.metadata() {
            Ok(found) if found.is_dir() => bail!("{name}: is a folder; name a file in it"),
            Ok(found) if !found.is_file() => {
                let device = OpenOptions::new().write(true).open(target);
                return device.map(Self::Device).with_context(|| format!("{name}: cannot write"));
            }
            Ok(_) if !replace => exists(target)?,
            _ => {}
        }
        let folder = folder_of(target)?;
        let create = || with_default_permissions(&mut temporary()).tempfile_in(folder);
        let (file, partial) = partials
            .claim(folder, create, NamedTempFile::path)
            .with_context(|| format!("{name}: cannot write to {}", folder.display()))?;
        Ok(Self::File { file, target: target.to_owned(), replace, partial })
    }
}

impl FolderOutput {
    /// Opens a folder that does not exist or is empty.
    pub fn create(target: &Path, partials: &Partials) -> Result<Self> {
        let name = target.display();
        if let Ok(mut entries) = target.read_dir() {
            ensure!(
                entries.next().is_none(),
                "{name}: the folder is not empty; choose another or empty it first"
            );
        } else if target.exists() {
            bail!("{name}: is a file; kept files are written to a folder");
        }
        let folder = folder_of(target)?;
        let (folder, partial) = partials
            .claim(folder, || temporary().tempdir_in(folder), TempDir::path)
            .with_context(|| format!("{name}: cannot write to {}", folder.display()))?;
        Ok(Self { folder, target: target.to_owned(), partial })
    }

    /// Adds a file: `put` writes it to the path that it is given.
    pub fn put<T>(&self, relative: &Path, put: impl FnOnce(&Path) -> T) -> T {
        self.partial.fill(|folder| put(&folder.join(relative)))
    }

    /// Completes the output and gives the folder its name.
    pub fn finish(self) -> Result<()> {
        set_default_permissions(self.folder.path());
        // Renaming replaces only an empty folder.
        fs::rename(self.folder.path(), &self.target)
            .with_context(|| format!("{}: cannot write", self.target.display()))?;
        // Do not remove it on drop.
        let _ = self.folder.keep();
        Ok(())
    }
}

/// Two outputs cannot share a path, and no output may replace an input, whatever its name.
pub fn check_places<'a>(
    outputs: impl IntoIterator<Item = &'a Path>,
    inputs: impl IntoIterator<Item = &'a Path>,
) -> Result<()> {
    let outputs: Vec<_> = outputs.into_iter().map(ResolvedPath::of).collect();
    for (number, target) in outputs.iter().enumerate() {
        let is_twice = outputs[..number].iter().any(|other| other.is(target));
        ensure!(
            !is_twice,
            "{}: two outputs share this path; choose different paths",
            target.path.display()
        );
    }
    for input in inputs.into_iter().filter(|input| *input != Path::new("-")) {
        let input = ResolvedPath::of(input);
        for target in &outputs {
            let name = target.path.display();
            ensure!(
                !target.replaces(&input),
                "{name}: is an input, which is never overwritten; choose another output"
            );
            ensure!(
                !target.lies_in(&input),
                "{name}: is inside the input {}, which is never overwritten; choose another output",
                input.path.display()
            );
        }
    }
    Ok(())
}

/// A path and what exists there.
struct ResolvedPath<'a> {
    path: &'a Path,
    /// The path without links.
    real: PathBuf,
    data: Option<fs::Metadata>,
}

impl<'a> ResolvedPath<'a> {
    fn of(path: &'a Path) -> Self {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new(".")).canonicalize().ok();
        let new = || Some(folder?.join(path.file_name()?));
        let real = path.canonicalize().ok().or_else(new).unwrap_or_else(|| path.to_owned());
        Self { path, real, data: path.metadata().ok() }
    }

    /// Whether both are the same file.
    fn is(&self, other: &Self) -> bool {
        let file = |target: &Self| {
            let data = target.data.as_ref().filter(|data| data.is_file());
            data.and_then(|data| Stamp::of(data).file)
        };
        let same_file = file(self).is_some_and(|id| file(other) == Some(id));
        self.path == other.path || self.real == other.real || same_file
    }

    /// Devices and pipes are not replaced.
    fn replaces(&self, input: &Self) -> bool {
        self.is(input) && self.data.as_ref().is_some_and(|data| data.is_file() || data.is_dir())
    }

    /// Whether this is a file in that folder that may be an item. Hidden files are not items.
    fn lies_in(&self, folder: &Self) -> bool {
        let is_folder = folder.data.as_ref().is_some_and(fs::Metadata::is_dir);
        let is_file = self.data.as_ref().is_some_and(fs::Metadata::is_file);
        let within = self.real.strip_prefix(&folder.real);
        let is_shown =
            |path: &Path| path.iter().all(|name| !name.as_encoded_bytes().starts_with(b"."));
        is_folder && is_file && within.is_ok_and(is_shown)
    }
}

/// The existing folder of an output.
fn folder_of(target: &Path) -> Result<&Path> {
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    ensure!(
        folder.is_dir(),
        "{}: the folder {} does not exist; create it first",
        target.display(),
        folder.display()
    );
    Ok(folder)
}

/// A name that is recognised if a crash leaves the file behind.
fn temporary() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX).rand_bytes(RANDOM).suffix(SUFFIX);
    builder
}

/// The permissions of any new file, to which the system applies the user's mask.
fn with_default_permissions<'b>(
    builder: &'b mut tempfile::Builder<'static, 'static>,
) -> &'b mut tempfile::Builder<'static, 'static> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder
}

/// A temporary folder is private; one that stays has the permissions of its parent.
fn set_default_permissions(folder: &Path) {
    let parent = folder.parent().and_then(|parent| parent.metadata().ok());
    #[cfg(unix)]
    if let Some(parent) = parent {
        use std::os::unix::fs::PermissionsExt;
        let mode = parent.permissions().mode() & 0o777;
        let _ = fs::set_permissions(folder, fs::Permissions::from_mode(mode));
    }
    #[cfg(not(unix))]
    let _ = parent;
}

fn exists(target: &Path) -> Result<()> {
    bail!("{}: already exists (use --force to overwrite)", target.display())
}
