//! How are pairs written? As JSON lines or as a table, the same columns in each.

use std::{io::Write, path::Path};

use anyhow::{Context, Result, bail};
use lookalike::Pair;

use super::{
    Output,
    ids::{decimal, field_id, json_id},
};
use crate::source::Ids;

/// Written in pieces of about this many bytes.
const PIECE: usize = 1 << 18;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairFormat {
    /// `{"a":1,"b":2,"distance":3,"similarity":null}`
    JsonLines,
    /// `a,b,distance,similarity` with another separator for `.tsv`.
    Table { separator: u8 },
}

impl PairFormat {
    /// The format that goes with a file's ending; JSON lines for standard output.
    pub fn of(file: Option<&Path>) -> Result<Self> {
        let Some(file) = file else { return Ok(Self::JsonLines) };
        let ending = file.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        let name = file.display();
        match ending.as_str() {
            "jsonl" | "ndjson" | "json" => Ok(Self::JsonLines),
            "csv" => Ok(Self::Table { separator: b',' }),
            "tsv" => Ok(Self::Table { separator: b'\t' }),
            "parquet" => bail!("{name}: Parquet is not written yet; use .jsonl, .csv or .tsv"),
            "gz" | "zst" => bail!(
                "{name}: packed output is not written yet; leave -o out and pipe it through {}",
                if ending == "gz" { "gzip" } else { "zstd" }
            ),
            _ if file.exists() && !file.is_file() && !file.is_dir() => Ok(Self::JsonLines),
            _ => bail!("{name}: the ending decides the format; use .jsonl, .csv or .tsv"),
        }
    }
}

/// Writes pairs, one a line, and counts them.
pub struct PairWriter<'a> {
    output: Output,
    format: PairFormat,
    ids: &'a Ids,
    buffer: Vec<u8>,
    pub written: u64,
}

impl<'a> PairWriter<'a> {
    pub fn new(output: Output, format: PairFormat, ids: &'a Ids) -> Self {
        let mut buffer = Vec::with_capacity(PIECE + 1024);
        if let PairFormat::Table { separator } = format {
            let columns: [&[u8]; 4] = [b"a", b"b", b"distance", b"similarity"];
            buffer.extend(columns.join(&separator));
            buffer.push(b'\n');
        }
        Self { output, format, ids, buffer, written: 0 }
    }

    pub fn write(&mut self, pair: Pair) -> Result<()> {
        self.written += 1;
        match self.format {
            PairFormat::JsonLines => self.json_line(pair),
            PairFormat::Table { separator } => self.table_line(pair, separator),
        }
        if self.buffer.len() >= PIECE { self.flush() } else { Ok(()) }
    }

    /// Writes what is left and gives a file its name.
    pub fn finish(mut self) -> Result<()> {
        self.flush()?;
        self.output.finish()
    }

    fn json_line(&mut self, pair: Pair) {
        let line = &mut self.buffer;
        line.extend_from_slice(b"{\"a\":");
        json_id(line, self.ids.at(pair.a));
        line.extend_from_slice(b",\"b\":");
        json_id(line, self.ids.at(pair.b));
        line.extend_from_slice(b",\"distance\":");
        decimal(line, u64::from(pair.distance));
        line.extend_from_slice(b",\"similarity\":null}\n");
    }

    fn table_line(&mut self, pair: Pair, separator: u8) {
        let line = &mut self.buffer;
        for position in [pair.a, pair.b] {
            field_id(line, self.ids.at(position), separator);
            line.push(separator);
        }
        decimal(line, u64::from(pair.distance));
        line.extend_from_slice(&[separator, b'\n']);
    }

    fn flush(&mut self) -> Result<()> {
        self.output.write_all(&self.buffer).context("cannot write the pairs")?;
        self.buffer.clear();
        Ok(())
    }
}
