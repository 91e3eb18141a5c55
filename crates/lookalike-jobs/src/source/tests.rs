//! The same rows are the same items in every format and compression, and are written back unchanged.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    sync::Arc,
};

use ::parquet::{
    arrow::{ArrowWriter, arrow_reader::ParquetRecordBatchReaderBuilder},
    basic::{Compression, Encoding, ZstdLevel},
    file::{
        metadata::KeyValue,
        properties::{WriterProperties, WriterVersion},
    },
};
use arrow_array::{Float64Array, Int64Array, ListArray, RecordBatch, StringArray, StructArray};
use arrow_schema::{DataType, Field, Schema};
use tempfile::TempDir;

use super::*;
use crate::{
    args::{Format, OutputArgs},
    host::{Console, Host},
    report::json_id,
};

const COMPRESSIONS: [&str; 5] = ["", ".gz", ".zst", ".bz2", ".xz"];

/// Texts with characters that formats quote, escape or count.
const TEXTS: [&str; 6] = [
    "The quick brown fox, it said, \"jumps\" over the lazy dog.",
    "zwei\tSpalten; eine Zeile",
    "日本語のテキスト 🦊 e\u{301}",
    "",
    "back\\slash and 'quotes'",
    "the last one",
];

struct Corpus {
    folder: TempDir,
}

impl Corpus {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, compressed(name, content.as_ref())).unwrap();
        path
    }
}

/// Compresses content according to the extension, in two members.
fn compressed(name: &str, content: &[u8]) -> Vec<u8> {
    let (front, back) = content.split_at(content.len() / 2);
    [compress_member(name, front), compress_member(name, back)].concat()
}

fn compress_member(name: &str, content: &[u8]) -> Vec<u8> {
    match name.rsplit('.').next().unwrap() {
        "gz" => {
            let mut encoder =
                flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(content).unwrap();
            encoder.finish().unwrap()
        }
        "bz2" => {
            let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
            encoder.write_all(content).unwrap();
            encoder.finish().unwrap()
        }
        "xz" => {
            let options = lzma_rust2::XzOptions::with_preset(0);
            let mut encoder = lzma_rust2::XzWriter::new(Vec::new(), options).unwrap();
            encoder.write_all(content).unwrap();
            encoder.finish().unwrap()
        }
        "zst" => zstd::encode_all(content, 0).unwrap(),
        _ => content.to_vec(),
    }
}

fn decompressed(path: &Path) -> Vec<u8> {
    let mut content = Vec::new();
    let reader = Bytes::open(path).unwrap().into_reader();
    std::io::copy(&mut { reader }, &mut content).unwrap();
    content
}

fn jsonl() -> String {
    let row = |(number, text): (usize, &&str)| {
        format!(
            "{{\"other\": [1, 2], \"text\":{},\"id\":\"n{number}\"}}\n",
            serde_json::json!(text)
        )
    };
    TEXTS.iter().enumerate().map(row).collect()
}

fn separated(separator: char) -> String {
    let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let row = |(number, text): (usize, &&str)| {
        format!("7{separator}n{number}{separator}{}\r\n", quoted(text))
    };
    let rows: String = TEXTS.iter().enumerate().map(row).collect();
    format!("other{separator}id{separator}text\r\n{rows}")
}

fn table() -> RecordBatch {
    let ids: Vec<_> = (0..TEXTS.len()).map(|number| format!("n{number}")).collect();
    let fields = vec![
        Field::new("other", DataType::Int64, true),
        Field::new("id", DataType::Utf8, false),
        Field::new("text", DataType::Utf8, true),
    ];
    RecordBatch::try_new(
        Arc::new(Schema::new(fields)),
        vec![
            Arc::new(Int64Array::from_iter((0..TEXTS.len() as i64).map(Some))),
            Arc::new(StringArray::from(ids)),
            Arc::new(StringArray::from(TEXTS.to_vec())),
        ],
    )
    .unwrap()
}

fn as_parquet(batch: &RecordBatch) -> Vec<u8> {
    let note = KeyValue::new("maker".to_owned(), "us".to_owned());
    let properties = WriterProperties::builder()
        .set_key_value_metadata(Some(vec![note]))
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .build();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.into_inner().unwrap()
}

fn warc_record(head: &str, content: &[u8]) -> Vec<u8> {
    let length = content.len();
    let head = format!("WARC/1.0\r\n{head}\r\nContent-Length: {length}\r\n\r\n");
    [head.as_bytes(), content, b"\r\n\r\n"].concat()
}

fn warc() -> Vec<u8> {
    let page = |(number, text): (usize, &&str)| {
        let http = format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n{text}");
        let head = format!(
            "WARC-Type: response\r\nWARC-Target-URI: n{number}\r\n\
             Content-Type: application/http; msgtype=response"
        );
        let request = warc_record("WARC-Type: request", b"GET / HTTP/1.1\r\n\r\n");
        [request, warc_record(&head, http.as_bytes())].concat()
    };
    let info = warc_record("WARC-Type: warcinfo", b"software: ours\r\n");
    [info].into_iter().chain(TEXTS.iter().enumerate().map(page)).collect::<Vec<_>>().concat()
}

/// What was read: for each item, its id and its text or features.
#[derive(Debug, PartialEq)]
struct Seen {
    items: Vec<String>,
    skipped: Vec<String>,
    notes: Vec<String>,
}

fn options() -> RowOptions {
    RowOptions { again: true, ..RowOptions::default() }
}

fn read(rows: &mut Rows, skipped: &mut Skipped) -> Seen {
    let mut items = Vec::new();
    let mut first = 0;
    let ids = rows
        .read(skipped, &mut |batch| {
            assert_eq!(batch.first as usize, first);
            first += batch.rows.len();
            items.extend(batch.rows.iter().map(|row| match &row.content {
                Content::Text(text) => text.to_string(),
                Content::Features(features) => format!("{features:?}"),
                Content::Vector(numbers) => format!("{numbers:?}"),
            }));
            Ok(())
        })
        .unwrap();
    let id = |item: usize| {
        let mut id = Vec::new();
        json_id(&mut id, ids.at(item as u32));
        String::from_utf8(id).unwrap()
    };
    let items = items.iter().enumerate().map(|(number, text)| format!("{} {text}", id(number)));
    Seen {
        items: items.collect(),
        skipped: skipped.lines().collect(),
        notes: rows.notes().to_vec(),
    }
}

fn read_all(paths: &[PathBuf], options: RowOptions) -> Seen {
    let mut skipped = Skipped::unless(false);
    let mut rows = Rows::open(paths, options, &mut skipped).unwrap();
    read(&mut rows, &mut skipped)
}

fn expected() -> Vec<String> {
    TEXTS.iter().enumerate().map(|(number, text)| format!("\"n{number}\" {text}")).collect()
}

fn in_every_format() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("a.jsonl", jsonl().into_bytes()),
        ("a.csv", separated(',').into_bytes()),
        ("a.tsv", separated('\t').into_bytes()),
        ("a.parquet", as_parquet(&table())),
        ("a.warc", warc()),
    ]
}

#[test]
fn reads_the_same_items_from_every_format_and_compression() {
    let corpus = Corpus::new();
    for (name, content) in in_every_format() {
        for compression in COMPRESSIONS {
            let path = corpus.write(&format!("{name}{compression}"), &content);
            let seen = read_all(&[path], options());
            let expected = Seen { items: expected(), skipped: vec![], notes: vec![] };
            assert_eq!(seen, expected, "{name}{compression}");
        }
    }
}

#[test]
fn detects_compression_by_content() {
    let corpus = Corpus::new();
    let path = corpus.path("a.jsonl");
    fs::write(&path, compressed("a.xz", jsonl().as_bytes())).unwrap();
    assert_eq!(read_all(&[path], options()).items, expected());
}

#[test]
fn ids_are_paths_of_files_and_numbers_of_lines() {
    let corpus = Corpus::new();
    for (name, text) in [("in/b/2.txt", "two"), ("in/a.txt.gz", "one"), ("in/.x/no", "no")] {
        corpus.write(name, text);
    }
    let seen = read_all(&[corpus.path("in")], options());
    let name = |name: &str| format!("{:?}", corpus.path(name).display().to_string());
    let expected = [format!("{} one", name("in/a.txt.gz")), format!("{} two", name("in/b/2.txt"))];
    assert_eq!(seen.items, expected);
    let note = format!("note: ignored in {}: 1 hidden", corpus.path("in").display());
    assert_eq!(seen.notes, [note]);
    let lines = corpus.write("l.txt", "\u{feff}one\r\n\ntwo");
    let by_line = RowOptions { format: Some(Format::Lines), ..options() };
    assert_eq!(read_all(&[lines], by_line).items, ["1 one", "2 ", "3 two"]);
}

#[test]
fn rows_without_an_id_are_identified_by_file_and_row() {
    let corpus = Corpus::new();
    let jsonl = corpus.write("a.jsonl", "{\"text\":\"x\"}\n\n{\"text\":\"y\"}\n");
    let csv = corpus.write("a.csv", "text\nx\n\ny\n");
    let name = |path: &Path, row| format!("\"{}:{row}\"", path.display());
    let seen = read_all(&[jsonl.clone(), csv.clone()], options()).items;
    let expected = [
        format!("{} x", name(&jsonl, 1)),
        format!("{} y", name(&jsonl, 3)),
        format!("{} x", name(&csv, 1)),
        format!("{} y", name(&csv, 2)),
    ];
    assert_eq!(seen, expected);
}

#[test]
fn ids_stay_as_written() {
    let corpus = Corpus::new();
    let rows = ["7", "\"x\"", "-3", "1.5", "null", "18446744073709551615"]
        .map(|id| format!("{{\"id\":{id},\"text\":\"t\"}}\n"));
    let jsonl = corpus.write("a.jsonl", rows.concat());
    let csv = corpus.write("b.csv", "id,text\n7,t\nx,t\n007,t\n,t\n");
    let unnamed = |path: &Path, row| format!("\"{}:{row}\" t", path.display());
    let seen = read_all(&[jsonl.clone(), csv.clone()], options()).items;
    let expected = [
        "7 t".to_owned(),
        "\"x\" t".to_owned(),
        "-3 t".to_owned(),
        "1.5 t".to_owned(),
        unnamed(&jsonl, 5),
        "18446744073709551615 t".to_owned(),
        "7 t".to_owned(),
        "\"x\" t".to_owned(),
        "\"007\" t".to_owned(),
        unnamed(&csv, 4),
    ];
    assert_eq!(seen, expected);
}

#[test]
fn reads_the_same_features_from_json_csv_and_parquet() {
    let corpus = Corpus::new();
    let jsonl = corpus.write("a.jsonl", "{\"id\":\"r\",\"features\":[[\"a\",2],[\"b\",0.5]]}\n");
    let csv = corpus.write("a.csv", "id,features\nr,\"{\"\"a\"\":2,\"\"b\"\":0.5}\"\n");
    let pairs = StructArray::from(vec![
        (
            Arc::new(Field::new("feature", DataType::Utf8, false)),
            Arc::new(StringArray::from(vec!["a", "b"])) as _,
        ),
        (
            Arc::new(Field::new("weight", DataType::Float64, false)),
            Arc::new(Float64Array::from(vec![2.0, 0.5])) as _,
        ),
    ]);
    let item = Arc::new(Field::new("item", pairs_type(&pairs), false));
    let offsets = arrow_offsets(&[0, 2]);
    let list = ListArray::new(item, offsets, Arc::new(pairs), None);
    let schema = Schema::new(vec![
        Field::new("id", DataType::Utf8, false),
        Field::new("features", arrow_array::Array::data_type(&list).clone(), false),
    ]);
    let columns = vec![Arc::new(StringArray::from(vec!["r"])) as _, Arc::new(list) as _];
    let batch = RecordBatch::try_new(Arc::new(schema), columns).unwrap();
    let table = corpus.write("a.parquet", as_parquet(&batch));
    for path in [jsonl, csv, table] {
        let named = RowOptions { field: Some("features".into()), ..options() };
        assert_eq!(read_all(&[path], named).items, ["\"r\" [(\"a\", 2.0), (\"b\", 0.5)]"]);
    }
}

fn pairs_type(pairs: &StructArray) -> DataType {
    arrow_array::Array::data_type(pairs).clone()
}

fn arrow_offsets(ends: &[i32]) -> arrow_buffer::OffsetBuffer<i32> {
    arrow_buffer::OffsetBuffer::new(ends.to_vec().into())
}

#[test]
fn rows_have_keys_sizes_and_times() {
    let corpus = Corpus::new();
    let path = corpus.write("a.jsonl", "{\"text\":\"x\",\"m\":{\"score\":2}}\n{\"text\":\"y\"}\n");
    let mut skipped = Skipped::unless(true);
    let keyed = RowOptions { keys: vec!["m.score".into()], ..options() };
    let mut rows = Rows::open(&[path], keyed, &mut skipped).unwrap();
    let mut seen = Vec::new();
    let each = &mut |batch: rows::Batch<'_>| {
        seen.extend(batch.rows.iter().map(|row| (row.keys.clone(), row.bytes)));
        Ok(())
    };
    rows.read(&mut skipped, each).unwrap();
    assert_eq!(seen, [(vec![Some(Key::Number(2.0))], 29), (vec![None], 13)]);
    let file = corpus.write("f.txt", "text");
    let mut rows = Rows::open(&[file], options(), &mut skipped).unwrap();
    let each = &mut |batch: rows::Batch<'_>| {
        assert!(batch.rows[0].modified.is_some());
        assert_eq!(batch.rows[0].bytes, 4);
        Ok(())
    };
    rows.read(&mut skipped, each).unwrap();
}

#[test]
fn lists_skipped_rows_with_file_and_line() {
    let corpus = Corpus::new();
    let path = corpus.write(
        "a.jsonl",
        b"{\"text\":\"good\"}\n{\"text\":5}\n\n{\"body\":\"x\"}\n{\"text\nnot json\n{\"text\":\"caf\xe9\"}\n",
    );
    let seen = read_all(std::slice::from_ref(&path), options());
    let name = path.display();
    assert_eq!(seen.items.len(), 2);
    let remedy = "write a string or a list of [feature, weight]";
    let expected = [
        format!("skipped {name}:2: the field text is a number; {remedy}"),
        format!("skipped {name}:4: no field text; choose one with --field: body"),
        format!("skipped {name}:5: invalid JSON: EOF while parsing a string at column 6"),
        format!(
            "skipped {name}:6: is not a JSON object; write one object per line, such as \
             {{\"text\":\"...\"}}"
        ),
    ];
    assert_eq!(seen.skipped, expected);
    assert_eq!(seen.notes, ["note: 1 text not in UTF-8; detected encodings: windows-1252 (1)"]);
}

#[test]
fn strict_stops_at_the_first_bad_row() {
    let corpus = Corpus::new();
    let path = corpus.write("a.jsonl", "{\"text\":\"good\"}\n{}\n");
    let mut skipped = Skipped::unless(true);
    let mut rows = Rows::open(std::slice::from_ref(&path), options(), &mut skipped).unwrap();
    let error = rows.read(&mut skipped, &mut |_| Ok(())).err().unwrap().to_string();
    let hint = "--strict stops here; without it, this is skipped";
    let what = format!("{}:2: no field text: the row has no fields ({hint})", path.display());
    assert_eq!(error, what);
}

#[test]
fn truncated_compressed_file_yields_its_first_lines() {
    let corpus = Corpus::new();
    // Lines that do not compress well.
    let noise = |line: u64| line.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (line << 7);
    let text: String = (1..20_000).map(|line| format!("{:x} {:x}\n", noise(line), line)).collect();
    for compression in [".gz", ".zst", ".bz2", ".xz"] {
        let whole = compress_member(compression, text.as_bytes());
        let path = corpus.path(&format!("a.txt{compression}"));
        fs::write(&path, &whole[..whole.len() / 2]).unwrap();
        let by_line = RowOptions { format: Some(Format::Lines), ..options() };
        let seen = read_all(std::slice::from_ref(&path), by_line);
        let lines: Vec<_> = text.lines().collect();
        for (number, item) in seen.items.iter().enumerate() {
            assert_eq!(*item, format!("{} {}", number + 1, lines[number]), "{compression}");
        }
        let count = seen.items.len();
        assert!(compression == ".bz2" || count > 1_000, "{compression}: {count}");
        assert_eq!(seen.skipped.len(), 1, "{compression}");
        let start = format!("skipped {}:{count}: the rest cannot be read: ", path.display());
        assert!(seen.skipped[0].starts_with(&start), "{compression}: {}", seen.skipped[0]);
    }
}

#[test]
fn missing_column_fails_before_anything_is_read() {
    let corpus = Corpus::new();
    let csv = corpus.write("a.csv", "title;abstract\nx;y\n");
    let table = corpus.write("a.parquet", as_parquet(&table()));
    let failed = |path: &PathBuf, field: Option<&str>| {
        let options = RowOptions { field: field.map(str::to_owned), ..options() };
        let opened = Rows::open(std::slice::from_ref(path), options, &mut Skipped::unless(false));
        let error = opened.err().unwrap().to_string();
        error.strip_prefix(&format!("{}: ", path.display())).unwrap().to_owned()
    };
    assert_eq!(failed(&csv, None), "no field text; choose one with --field: title, abstract");
    assert_eq!(
        failed(&table, Some("body")),
        "no field body; choose one with --field: other, id, text"
    );
    let list = corpus.write("a.json", "[{\"text\":1}]");
    assert_eq!(
        failed(&list, None),
        "is one JSON list; write one object per line: jq -c '.[]' FILE"
    );
    let torn = corpus.write("b.parquet", b"PAR1 and then nothing");
    assert!(failed(&torn, None).starts_with("is not a complete Parquet file: "));
}

#[test]
fn skips_binary_files_and_names_the_supported_formats() {
    let corpus = Corpus::new();
    corpus.write("in/a.txt", "text");
    corpus.write("in/b.bin", b"\0\x01\x02");
    let seen = read_all(&[corpus.path("in")], options());
    assert_eq!(seen.items.len(), 1);
    let expected = format!(
        "skipped {}: is not text: it contains zero bytes; lookalike reads text and HTML files, ",
        corpus.path("in/b.bin").display()
    );
    assert!(seen.skipped[0].starts_with(&expected), "{}", seen.skipped[0]);
}

#[test]
fn reads_the_tables_of_a_folder_and_refuses_a_mixed_folder() {
    let corpus = Corpus::new();
    corpus.write("in/1.jsonl", "{\"text\":\"x\",\"id\":1}\n");
    corpus.write("in/2.jsonl.gz", "{\"text\":\"y\",\"id\":2}\n");
    assert_eq!(read_all(&[corpus.path("in")], options()).items, ["1 x", "2 y"]);
    corpus.write("in/README", "about");
    let open = |options| Rows::open(&[corpus.path("in")], options, &mut Skipped::unless(false));
    let error = open(options()).err().unwrap().to_string();
    let expected = "contains 2 files with rows and 1 without; name the ones to read, \
                    or use --format text to read every file as one text";
    assert!(error.ends_with(expected), "{error}");
    let as_texts = RowOptions { format: Some(Format::Text), ..options() };
    assert_eq!(open(as_texts).map(|rows| rows.inputs_count()).unwrap(), 3);
}

impl Rows {
    fn inputs_count(&self) -> usize {
        self.inputs.len()
    }
}

fn to(path: &Path) -> OutputArgs {
    OutputArgs { output: Some(path.to_owned()), force: false }
}

/// Reads the inputs and keeps the items with even numbers.
fn keep_even(paths: &[PathBuf], options: RowOptions, output: &Path) -> anyhow::Result<Kept> {
    let mut skipped = Skipped::unless(false);
    let mut rows = Rows::open(paths, options, &mut skipped)?;
    let kept = rows.open_kept(&to(output), Console::plain(&Host::silent(), true))?;
    rows.read(&mut skipped, &mut |_| Ok(()))?;
    rows.write_kept(&|item| item % 2 == 0, kept)
}

#[test]
fn reads_back_kept_rows_of_every_format_and_compression() {
    let corpus = Corpus::new();
    let even: Vec<_> = expected().into_iter().step_by(2).collect();
    for (name, content) in in_every_format() {
        for from in COMPRESSIONS {
            let path = corpus.write(&format!("{name}{from}"), &content);
            for to in ["", ".gz", ".zst"] {
                let output = corpus.path(&format!("kept-{from}-{to}-{name}{to}"));
                if name.ends_with("parquet") && !to.is_empty() {
                    assert!(keep_even(std::slice::from_ref(&path), options(), &output).is_err());
                    continue;
                }
                let kept = keep_even(std::slice::from_ref(&path), options(), &output).unwrap();
                let others = if name == "a.warc" { 7 } else { 0 };
                assert_eq!(kept, Kept { kept: 3, removed: 3, others }, "{name}{from}{to}");
                assert_eq!(read_all(&[output], options()).items, even, "{name}{from}{to}");
            }
        }
    }
}

#[test]
fn kept_lines_and_rows_are_unchanged() {
    let corpus = Corpus::new();
    let text = "{\"text\" : \"a\"}\r\n\n {\"text\":\"b\"}\nbroken\n{\"text\":\"c\",\"x\":1.50}";
    let path = corpus.write("a.jsonl.gz", text);
    let output = corpus.path("kept.jsonl.zst");
    keep_even(&[path], options(), &output).unwrap();
    let expected = "{\"text\" : \"a\"}\r\n\nbroken\n{\"text\":\"c\",\"x\":1.50}";
    assert_eq!(String::from_utf8(decompressed(&output)).unwrap(), expected);
    let rows = "x,text\r\n1,\"a\nb\"\r\n\r\n2, b \n3,\"c\"\"\"\n";
    let path = corpus.write("a.csv", rows);
    let output = corpus.path("kept.csv");
    keep_even(&[path], options(), &output).unwrap();
    assert_eq!(fs::read_to_string(output).unwrap(), "x,text\r\n1,\"a\nb\"\r\n\r\n3,\"c\"\"\"\n");
}

#[test]
fn joins_several_inputs_with_one_header_and_complete_lines() {
    let corpus = Corpus::new();
    let a = corpus.write("a.csv", "text\none\ntwo\nthree");
    let b = corpus.write("b.csv", "\u{feff}text\nfour\nfive\n");
    let output = corpus.path("kept.csv");
    keep_even(&[a.clone(), b], options(), &output).unwrap();
    assert_eq!(fs::read_to_string(&output).unwrap(), "text\none\nthree\nfive\n");
    let c = corpus.write("c.csv", "body,text\nx,y\n");
    let error = keep_even(&[a.clone(), c], options(), &corpus.path("k.csv")).unwrap_err();
    assert!(error.to_string().contains("have different columns"), "{error}");
    let d = corpus.write("d.jsonl", "{\"text\":\"x\"}\n");
    let error = keep_even(&[a, d], options(), &corpus.path("k.csv")).unwrap_err().to_string();
    assert!(error.contains("contains CSV rows, but "), "{error}");
    assert!(error.ends_with("use inputs of one format, or omit -o"), "{error}");
    assert!(!corpus.path("k.csv").exists());
}

#[test]
fn kept_parquet_table_has_schema_compression_and_metadata_of_its_input() {
    let corpus = Corpus::new();
    let path = corpus.write("a.parquet", as_parquet(&table()));
    let output = corpus.path("kept.parquet");
    keep_even(&[path.clone(), path], options(), &output).unwrap();
    let builder =
        ParquetRecordBatchReaderBuilder::try_new(fs::File::open(output).unwrap()).unwrap();
    let metadata = builder.metadata().clone();
    assert_eq!(builder.schema().fields(), table().schema().fields());
    let notes = metadata.file_metadata().key_value_metadata().unwrap();
    let count = |key: &str| notes.iter().filter(|note| note.key == key).count();
    assert_eq!((count("maker"), count("ARROW:schema")), (1, 1));
    let compression = metadata.row_group(0).column(0).compression();
    assert!(matches!(compression, Compression::ZSTD(_)), "{compression:?}");
    let batches: Vec<_> = builder.build().unwrap().map(Result::unwrap).collect();
    let numbers = batches[0].column_by_name("other").unwrap();
    let expected = Int64Array::from(vec![0, 2, 4, 0, 2, 4]);
    assert_eq!(numbers.as_ref(), &expected as &dyn arrow_array::Array);
}

#[test]
fn kept_records_of_a_packed_archive_are_members_of_their_own() {
    let corpus = Corpus::new();
    let path = corpus.write("a.warc.gz", warc());
    let output = corpus.path("kept.warc.gz");
    keep_even(&[path], options(), &output).unwrap();
    let bytes = fs::read(&output).unwrap();
    let mut first = Vec::new();
    std::io::copy(&mut flate2::read::GzDecoder::new(&*bytes), &mut first).unwrap();
    assert_eq!(first, warc_record("WARC-Type: warcinfo", b"software: ours\r\n"));
}

#[test]
fn kept_files_are_copied_under_their_paths() {
    let corpus = Corpus::new();
    for (name, text) in [("in/a.txt", "1"), ("in/b/c.txt.gz", "2"), ("in/b/d.txt", "3")] {
        corpus.write(name, text);
    }
    corpus.write("in/e.bin", b"\0");
    let output = corpus.path("kept");
    let kept = keep_even(&[corpus.path("in")], options(), &output).unwrap();
    assert_eq!(kept, Kept { kept: 2, removed: 1, others: 1 });
    let files =
        folder::Walk::new(false).folder(&output, 0, &mut Skipped::unless(true)).unwrap().files;
    let names: Vec<_> = files.iter().map(|file| file.strip_prefix(&output).unwrap()).collect();
    assert_eq!(names, ["a.txt", "b/d.txt", "e.bin"].map(Path::new));
    let modified = |path: PathBuf| path.metadata().unwrap().modified().unwrap();
    assert_eq!(modified(output.join("a.txt")), modified(corpus.path("in/a.txt")));
    let error = keep_even(&[corpus.path("in")], options(), &output).unwrap_err().to_string();
    assert!(error.ends_with("the folder is not empty; choose another or empty it first"));
    corpus.write("other/a.txt", "4");
    let both = [corpus.path("in"), corpus.path("other")];
    let error = keep_even(&both, options(), &corpus.path("k2")).unwrap_err().to_string();
    let expected = "would both be written as a.txt; name their common folder instead";
    assert!(error.ends_with(expected), "{error}");
}

#[test]
fn refuses_the_extension_of_another_format() {
    let corpus = Corpus::new();
    let path = corpus.write("a.jsonl", jsonl());
    let refused = |name: &str| {
        let failed = keep_even(std::slice::from_ref(&path), options(), &corpus.path(name));
        let error = failed.unwrap_err().to_string();
        error.split_once(": ").unwrap().1.to_owned()
    };
    assert_eq!(
        refused("k.parquet"),
        "kept items are written in the format of the input, JSON lines; use the extension .jsonl"
    );
    assert_eq!(refused("k.jsonl.xz"), "cannot write .xz files; use .gz or .zst");
    assert!(keep_even(std::slice::from_ref(&path), options(), &corpus.path("k.dat")).is_ok());
}

#[test]
fn notices_an_input_that_changes_between_readings() {
    let corpus = Corpus::new();
    let path = corpus.write("a.jsonl", jsonl());
    let mut skipped = Skipped::unless(true);
    let mut rows = Rows::open(std::slice::from_ref(&path), options(), &mut skipped).unwrap();
    rows.read(&mut skipped, &mut |_| Ok(())).unwrap();
    for text in [jsonl() + "{}\n", "{}\n".to_owned()] {
        fs::write(&path, text).unwrap();
        let output = rows
            .open_kept(&to(&corpus.path("k.jsonl")), Console::plain(&Host::silent(), true))
            .unwrap();
        let error = rows.write_kept(&|_| true, output).unwrap_err().to_string();
        assert!(error.contains("changed while it was read"), "{error}");
        assert!(!corpus.path("k.jsonl").exists());
    }
}

#[test]
fn web_pages_of_an_archive_yield_their_main_text() {
    let corpus = Corpus::new();
    let head =
        "WARC-Type: response\r\nWARC-Target-URI: http://x/\r\nContent-Type: application/http";
    let http = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=windows-1252\r\n\r\n\
                 <nav>Home</nav><p>caf\xe9</p>";
    let image = b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\n\x89PNG";
    let records = [warc_record(head, http), warc_record(head, image)].concat();
    let path = corpus.write("a.warc", records);
    let html = RowOptions { html: true, ..options() };
    let seen = read_all(std::slice::from_ref(&path), html);
    assert_eq!(seen.items, ["\"http://x/\" café"]);
    let plain = read_all(std::slice::from_ref(&path), options());
    assert_eq!(plain.items, ["\"http://x/\" café"]);
    let note =
        "note: 1 text is a web page, compared by main text; use --markup to compare the markup";
    assert_eq!(plain.notes, [note]);
    let raw = read_all(&[path], RowOptions { markup: true, ..options() });
    assert_eq!(raw.items, ["\"http://x/\" <nav>Home</nav><p>café</p>"]);
    assert!(raw.notes.is_empty());
}

#[test]
fn damaged_row_group_costs_only_its_own_rows() {
    let corpus = Corpus::new();
    let schema = Arc::new(Schema::new(vec![Field::new("text", DataType::Utf8, false)]));
    let mut writer = ArrowWriter::try_new(Vec::new(), schema.clone(), None).unwrap();
    for texts in [["one", "two"], ["three", "four"], ["five", "six"]] {
        let column = Arc::new(StringArray::from(texts.to_vec()));
        writer.write(&RecordBatch::try_new(schema.clone(), vec![column]).unwrap()).unwrap();
        writer.flush().unwrap();
    }
    let mut file = writer.into_inner().unwrap();
    // The first group starts after the four bytes of the magic.
    file[4..30].fill(0xff);
    let path = corpus.write("a.parquet", file);
    let seen = read_all(&[path], options());
    // The others keep their row numbers.
    let ends: Vec<_> = seen.items.iter().filter_map(|item| item.rsplit(':').next()).collect();
    assert_eq!(ends, ["3\" three", "4\" four", "5\" five", "6\" six"]);
    assert!(seen.skipped[0].contains("2 rows skipped"), "{:?}", seen.skipped);
}

/// A table with the same text of nearly a megabyte in every row.
fn bomb(rows: usize) -> RecordBatch {
    let text = "some words ".repeat(80_000);
    let schema = Schema::new(vec![Field::new("text", DataType::Utf8, false)]);
    let column = StringArray::from(vec![text.as_str(); rows]);
    RecordBatch::try_new(Arc::new(schema), vec![Arc::new(column)]).unwrap()
}

#[test]
fn long_dictionary_text_is_in_memory_once() {
    let corpus = Corpus::new();
    let path = corpus.write("a.parquet", as_parquet(&bomb(500)));
    let limited = RowOptions { memory: Some(64 << 20), ..options() };
    let mut skipped = Skipped::unless(true);
    let mut rows = Rows::open(std::slice::from_ref(&path), limited, &mut skipped).unwrap();
    let (mut addresses, mut max_rows) = (std::collections::BTreeSet::new(), 0);
    rows.read(&mut skipped, &mut |batch| {
        addresses.extend(batch.rows.iter().map(|row| row.text().as_ptr() as usize));
        max_rows = max_rows.max(batch.rows.len());
        Ok(())
    })
    .unwrap();
    assert!(addresses.len() <= 2, "{addresses:?}");
    assert!(max_rows <= 2, "{max_rows} rows in a batch");
    let output = corpus.path("kept.parquet");
    let kept = keep_even(&[path], options(), &output).unwrap();
    assert_eq!((kept.kept, kept.removed), (250, 250));
    let file = fs::File::open(output).unwrap();
    let written = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
    assert_eq!(written.schema().field(0).data_type(), &DataType::Utf8);
}

/// A delta-encoded table of texts and numbers, some of them null.
fn delta_encoded(version: WriterVersion, encoding: Encoding) -> Vec<u8> {
    let fields =
        vec![Field::new("text", DataType::Utf8, true), Field::new("id", DataType::Int64, false)];
    let texts: StringArray =
        (0..300).map(|row| (row % 7 > 0).then(|| format!("text number {row}"))).collect();
    let ids: Int64Array = (0..300).map(|row| Some(row * row)).collect();
    let schema = Arc::new(Schema::new(fields));
    let rows = RecordBatch::try_new(schema.clone(), vec![Arc::new(texts), Arc::new(ids)]).unwrap();
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_writer_version(version)
        .set_column_encoding("text".into(), encoding)
        .set_column_encoding("id".into(), Encoding::DELTA_BINARY_PACKED)
        .build();
    let mut writer = ArrowWriter::try_new(Vec::new(), schema, Some(properties)).unwrap();
    writer.write(&rows).unwrap();
    writer.into_inner().unwrap()
}

#[test]
fn refuses_a_delta_page_that_claims_more_values_than_its_header() {
    let corpus = Corpus::new();
    for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
        for encoding in [Encoding::DELTA_BYTE_ARRAY, Encoding::DELTA_LENGTH_BYTE_ARRAY] {
            let whole = delta_encoded(version, encoding);
            let path = corpus.write("whole.parquet", whole.clone());
            assert_eq!(read_all(&[path], options()).items.len(), 257, "{version:?} {encoding}");
            // Blocks of 128 in 4 miniblocks, then the count: 257 texts, which become 16,383.
            let start = [0x80, 0x01, 0x04, 0x81, 0x02];
            let at: Vec<_> =
                whole.windows(5).enumerate().filter(|(_, five)| *five == start).collect();
            assert!(!at.is_empty(), "{version:?} {encoding}");
            for (at, _) in at {
                let mut damaged = whole.clone();
                damaged[at + 3..at + 5].copy_from_slice(&[0xff, 0x7f]);
                let path = corpus.write("damaged.parquet", damaged);
                let mut skipped = Skipped::unless(false);
                let mut rows = Rows::open(&[path], options(), &mut skipped).unwrap();
                let failed = rows.read(&mut skipped, &mut |_| Ok(())).err().unwrap().to_string();
                assert!(failed.contains("claims more values than it has"), "{failed}");
            }
        }
    }
}

#[test]
fn damage_in_a_table_costs_rows_but_not_the_run() {
    let corpus = Corpus::new();
    let whole = as_parquet(&table());
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x81;
        let path = corpus.write("a.parquet", damaged);
        let mut skipped = Skipped::unless(false);
        let Ok(mut rows) = Rows::open(&[path], options(), &mut skipped) else { continue };
        let mut items = 0;
        let read = rows.read(&mut skipped, &mut |batch| {
            items += batch.rows.len() as u64;
            Ok(())
        });
        if read.is_ok() && skipped.total() < 100 {
            assert_eq!(items + skipped.total(), TEXTS.len() as u64, "byte {at}");
        }
    }
}

#[test]
fn skips_many_empty_members_quickly() {
    let corpus = Corpus::new();
    let path = corpus.path("a.bz2");
    let empty = compress_member("bz2", b"");
    let bytes = [empty.repeat(20_000), compress_member("bz2", b"one\n"), empty.repeat(3)];
    fs::write(&path, bytes.concat()).unwrap();
    assert_eq!(decompressed(&path), b"one\n");
    fs::write(&path, empty).unwrap();
    assert_eq!(decompressed(&path), b"");
}

#[test]
fn archives_survive_damage_between_records() {
    let corpus = Corpus::new();
    let record = |text: &str| {
        warc_record(&format!("WARC-Type: conversion\r\nWARC-Target-URI: {text}"), text.as_bytes())
    };
    let damaged =
        [record("one"), b"rubbish\r\nmore\r\n\r\n".to_vec(), record("two"), record("three")]
            .concat();
    let cut = damaged[..damaged.len() - 6].to_vec();
    let path = corpus.write("a.warc", cut);
    let seen = read_all(&[path], options());
    assert_eq!(seen.items, ["\"one\" one", "\"two\" two"]);
    assert_eq!(seen.skipped.len(), 2, "{:?}", seen.skipped);
    assert!(seen.skipped[0].contains("is not a WARC record; continuing with the next one"));
    assert!(seen.skipped[1].contains("the file ends within this record"));
}

#[test]
fn result_does_not_depend_on_threads() {
    let corpus = Corpus::new();
    let row = |row: u64| match row % 7 {
        3 => "{\"text\":1}\n".to_owned(),
        5 => "\n".to_owned(),
        _ => format!("{{\"text\":\"row {row} {}\"}}\n", "x".repeat((row % 300) as usize)),
    };
    let path = corpus.write("a.jsonl", (0..40_000).map(row).collect::<String>());
    let with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| read_all(std::slice::from_ref(&path), options()))
    };
    assert_eq!(with(1), with(3));
}

#[test]
fn removes_an_output_that_is_not_completed() {
    let corpus = Corpus::new();
    let path = corpus.write("in/a.txt", "text");
    let mut skipped = Skipped::unless(true);
    let rows = Rows::open(&[path], options(), &mut skipped).unwrap();
    drop(rows.open_kept(&to(&corpus.path("kept")), Console::plain(&Host::silent(), true)).unwrap());
    let names: Vec<_> = fs::read_dir(corpus.folder.path()).unwrap().collect();
    assert_eq!(names.len(), 1);
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig {
        failure_persistence: None, ..proptest::prelude::ProptestConfig::with_cases(200)
    })]

    /// Any input can be read or refused, and keeping all items reproduces it.
    #[test]
    fn any_input_is_reproduced_if_all_items_are_kept(
        parts in proptest::collection::vec(proptest::sample::select(FRAGMENTS), 0..30),
        noise in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..20),
        html in proptest::prelude::any::<bool>(),
    ) {
        let corpus = Corpus::new();
        let content = [parts.concat(), noise].concat();
        // Damaged compressed data cannot be reproduced.
        proptest::prop_assume!(!content.starts_with(b"\x1f\x8b"));
        for format in [Format::Jsonl, Format::Csv, Format::Warc, Format::Lines, Format::Text] {
            let content = match format {
                Format::Csv => [b"id,text\n", content.as_slice()].concat(),
                _ => content.clone(),
            };
            let path = corpus.path("input");
            fs::write(&path, &content).unwrap();
            let mut skipped = Skipped::unless(false);
            let options = RowOptions { format: Some(format), html, ..options() };
            let Ok(mut rows) = Rows::open(&[path], options, &mut skipped) else { continue };
            if rows.read(&mut skipped, &mut |_| Ok(())).is_err() {
                // Nothing could be read.
                proptest::prop_assert!(skipped.total() > 0);
                continue;
            }
            if format != Format::Text {
                let target = OutputArgs { output: Some(corpus.path("kept")), force: true };
                let output = rows.open_kept(&target, Console::plain(&Host::silent(), true)).unwrap();
                rows.write_kept(&|_| true, output).unwrap();
                proptest::prop_assert_eq!(fs::read(corpus.path("kept")).unwrap(), content);
            }
        }
    }
}

/// Pieces of every format, complete and incomplete.
const FRAGMENTS: &[&[u8]] = &[
    b"\n",
    b"\r\n",
    b"\r\n\r\n",
    b"\"",
    b",",
    b"{",
    b"}",
    b"[",
    b"\\u",
    b"\0",
    b"\xff",
    b"\xef\xbb\xbf",
    b"{\"text\":\"a\"}\n",
    b"{\"text\":[[\"a\",1]]}\n",
    b"{\"text\":",
    b"1,\"a\nb\"\n",
    b"1,b\n",
    b"WARC/1.0\r\n",
    b"WARC-Type: response\r\n",
    b"WARC-Type: conversion\r\n",
    b"Content-Length: 5\r\n",
    b"Content-Length: 99999999999999999999\r\n",
    b"Content-Length: 18446744073709551615\r\n",
    b"WARC-Date: 2024-02-29T12:00:00Z\r\n",
    b"WARC-Date: 9\xc3\xa999\r\n",
    b"Content-Type: application/http\r\n",
    b"HTTP/1.1 200 OK\r\n",
    b"Content-Type: text/html\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"Content-Encoding: gzip\r\n",
    b"\x1f\x8b\x08\0",
    b"ffffffffffffffff\r\n",
    b"5\r\nhello\r\n",
    b"<p>",
    b"</nav>",
    b"<nav>",
    b"<a href=",
    b"<!--",
    b"<meta charset=utf-16>",
    b"&#x110000;",
];
