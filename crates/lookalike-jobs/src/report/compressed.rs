//! Compresses output with gzip or zstd, according to the extension.

use std::{
    io::{self, BufWriter, Write},
    path::Path,
};

use anyhow::{Context, Result, bail};
use flate2::write::GzEncoder;

use super::Output;

/// The size of one write.
const BUFFER: usize = 1 << 18;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    None,
    Gzip,
    Zstd,
}

impl Compression {
    /// The compression for a file's extension; none for standard output.
    pub fn of(file: Option<&Path>) -> Result<Self> {
        let Some(file) = file else { return Ok(Self::None) };
        let extension = file.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        match extension.as_str() {
            "gz" => Ok(Self::Gzip),
            "zst" | "zstd" => Ok(Self::Zstd),
            "bz2" | "xz" => {
                bail!("{}: cannot write .{extension} files; use .gz or .zst", file.display())
            }
            _ => Ok(Self::None),
        }
    }
}

/// An output that compresses what is written to it.
pub struct CompressedOutput {
    /// None only while a new member starts.
    writer: Option<Writer>,
}

enum Writer {
    Plain(BufWriter<Output>),
    Gzip(Box<GzEncoder<BufWriter<Output>>>),
    Zstd(Box<zstd::Encoder<'static, BufWriter<Output>>>),
}

impl CompressedOutput {
    pub fn new(output: Output, compression: Compression) -> Result<Self> {
        let output = BufWriter::with_capacity(BUFFER, output);
        let writer = match compression {
            Compression::None => Writer::Plain(output),
            Compression::Gzip => gzip(output),
            Compression::Zstd => {
                let encoder = zstd::Encoder::new(output, 0).context("cannot start zstd")?;
                Writer::Zstd(Box::new(encoder))
            }
        };
        Ok(Self { writer: Some(writer) })
    }

    /// Starts a new gzip member, which can be decompressed by itself.
    pub fn end_member(&mut self) -> io::Result<()> {
        self.writer = match self.writer.take() {
            Some(Writer::Gzip(encoder)) => Some(gzip(encoder.finish()?)),
            other => other,
        };
        Ok(())
    }

    /// Completes the output and gives a file its name.
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
            None => Err(io::Error::other("an earlier write failed")),
        }
    }
}

impl Write for CompressedOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer()?.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer()?.flush()
    }
}

fn gzip(output: BufWriter<Output>) -> Writer {
    Writer::Gzip(Box::new(GzEncoder::new(output, flate2::Compression::default())))
}
