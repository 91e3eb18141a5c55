//! Is data packed on its way out? As the name of the file says: gzip, zstd or not at all.

use std::{
    io::{self, BufWriter, Write},
    path::Path,
};

use anyhow::{Context, Result, bail};
use flate2::{Compression, write::GzEncoder};

use super::Output;

/// Written in pieces of this many bytes.
const BUFFER: usize = 1 << 18;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    None,
    Gzip,
    Zstd,
}

impl Packing {
    /// The packing that goes with a file's ending; none for standard output.
    pub fn of(file: Option<&Path>) -> Result<Self> {
        let Some(file) = file else { return Ok(Self::None) };
        let ending = file.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        match ending.as_str() {
            "gz" => Ok(Self::Gzip),
            "zst" | "zstd" => Ok(Self::Zstd),
            "bz2" | "xz" => {
                bail!("{}: .{ending} is read, but not written; use .gz or .zst", file.display())
            }
            _ => Ok(Self::None),
        }
    }
}

/// An output that packs what is written to it.
pub struct PackedOutput {
    /// None only while one member follows another.
    writer: Option<Writer>,
}

enum Writer {
    Plain(BufWriter<Output>),
    Gzip(Box<GzEncoder<BufWriter<Output>>>),
    Zstd(Box<zstd::Encoder<'static, BufWriter<Output>>>),
}

impl PackedOutput {
    pub fn new(output: Output, packing: Packing) -> Result<Self> {
        let output = BufWriter::with_capacity(BUFFER, output);
        let writer = match packing {
            Packing::None => Writer::Plain(output),
            Packing::Gzip => gzip(output),
            Packing::Zstd => {
                let encoder = zstd::Encoder::new(output, 0).context("cannot start zstd")?;
                Writer::Zstd(Box::new(encoder))
            }
        };
        Ok(Self { writer: Some(writer) })
    }

    /// What follows can be unpacked without what came before: gzip begins a new member.
    pub fn end_member(&mut self) -> io::Result<()> {
        self.writer = match self.writer.take() {
            Some(Writer::Gzip(encoder)) => Some(gzip(encoder.finish()?)),
            other => other,
        };
        Ok(())
    }

    /// Completes the output; only now a file gets its name.
    pub fn finish(mut self) -> Result<()> {
        const FAILED: &str = "cannot write the output";
        let output = match self.writer.take() {
            None => return Ok(()),
            Some(Writer::Plain(output)) => output,
            Some(Writer::Gzip(encoder)) => encoder.finish().context(FAILED)?,
            Some(Writer::Zstd(encoder)) => encoder.finish().context(FAILED)?,
        };
        output.into_inner().map_err(io::IntoInnerError::into_error).context(FAILED)?.finish()
    }

    fn writer(&mut self) -> io::Result<&mut dyn Write> {
        match &mut self.writer {
            Some(Writer::Plain(writer)) => Ok(writer),
            Some(Writer::Gzip(writer)) => Ok(writer),
            Some(Writer::Zstd(writer)) => Ok(writer),
            None => Err(io::Error::other("a write failed before")),
        }
    }
}

impl Write for PackedOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer()?.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer()?.flush()
    }
}

fn gzip(output: BufWriter<Output>) -> Writer {
    Writer::Gzip(Box::new(GzEncoder::new(output, Compression::default())))
}
