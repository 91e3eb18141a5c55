//! Where does data go? Standard output, or a file that appears only when it is complete.

use std::{
    fs::{File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail, ensure};
use tempfile::NamedTempFile;

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
    },
}

impl Output {
    /// Opens the output before work starts, so that a wrong name costs no time.
    pub fn create(args: &OutputArgs) -> Result<Self> {
        let place = match &args.output {
            None => Place::Stdout(io::stdout()),
            Some(target) => Place::open(target, args.force)?,
        };
        Ok(Self { place })
    }

    /// Writes one text to standard output.
    pub fn print(text: &str) -> Result<()> {
        let mut output = Self { place: Place::Stdout(io::stdout()) };
        output.write_all(text.as_bytes()).context("cannot write to standard output")?;
        output.finish()
    }

    /// Completes the output: only now a file gets its name.
    pub fn finish(mut self) -> Result<()> {
        self.flush()?;
        let Place::File { file, target, replace } = self.place else { return Ok(()) };
        let renamed = if replace { file.persist(&target) } else { file.persist_noclobber(&target) };
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
        let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        ensure!(folder.is_dir(), "{name}: there is no folder {}; make it first", folder.display());
        let file = temporary()
            .tempfile_in(folder)
            .with_context(|| format!("{name}: cannot write into {}", folder.display()))?;
        Ok(Self::File { file, target: target.to_owned(), replace })
    }
}

/// A name that tells what is left behind if the machine goes down.
fn temporary() -> tempfile::Builder<'static, 'static> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".lookalike-").suffix(".partial");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // What any new file gets; the system takes away what the user's mask says.
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    builder
}

fn exists(target: &Path) -> Result<()> {
    bail!(
        "{}: there is such a file; choose another name, or --force to replace it",
        target.display()
    )
}
