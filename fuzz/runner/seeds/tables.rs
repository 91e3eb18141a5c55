//! Arrays and lists of fingerprints, CSV, TSV, JSONL, Parquet, and a corpus model.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, DictionaryArray, Float64Array, Int64Array, LargeStringArray, ListArray, RecordBatch,
    StringArray, StringViewArray, StructArray,
    types::{Int32Type, UInt64Type},
};
use lookalike::{Preset, model::Learner};
use parquet::{
    arrow::ArrowWriter,
    basic::{Compression, GzipLevel, ZstdLevel},
    file::properties::{WriterProperties, WriterVersion},
};

use super::{TEXTS, noise};

pub fn npy() -> Vec<Vec<u8>> {
    let array = |version: u8, header: &str, rows: &[u8]| {
        let text = format!("{header:<117}\n");
        let length = text.len() as u32;
        let length = if version == 1 { &length.to_le_bytes()[..2] } else { &length.to_le_bytes() };
        [b"\x93NUMPY".as_slice(), &[version, 0], length, text.as_bytes(), rows].concat()
    };
    let header = |kind: &str, shape: &str| {
        format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({shape}), }}")
    };
    vec![
        array(1, &header("<u8", "20,"), &noise(160, 1)),
        array(1, &header("<u8", "10, 4"), &noise(320, 2)),
        array(2, &header("<u8", "10, 2"), &noise(160, 3)),
        array(3, &header("<u4", "8,"), &noise(32, 4)),
        array(1, &header("|b1", "2, 64"), &[0, 1, 1, 0].repeat(32)),
        array(1, &header("<f4", "4, 8"), &noise(128, 5)),
        array(1, &header("<u8", "20,"), &noise(150, 6)),
    ]
}

pub fn hashes() -> Vec<Vec<u8>> {
    let rows = |row: fn(u64) -> String| -> Vec<u8> {
        (1..12)
            .map(|number: u64| row(number.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
            .collect::<String>()
            .into()
    };
    vec![
        rows(|number| format!("{number}\n")),
        rows(|number| format!("{number:#018x}\tname {number}\r\n")),
        rows(|number| format!("{{\"id\":{},\"fingerprint\":\"{number:#018x}\"}}\n", number >> 40)),
        rows(|number| format!("{number:#066x}\n")),
        rows(|number| format!("{number:064b}\n")),
        rows(|number| format!("{{\"id\":\"n\\u00e9\",\"fingerprint\":\"{number:#034x}\"}}\n")),
    ]
}

fn separated(separator: char, end: &str) -> String {
    let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let row = |(number, text): (usize, &&str)| {
        format!("n{number}{separator}{}{separator}2024-01-0{number}{end}", quoted(text))
    };
    let rows: String = TEXTS.iter().enumerate().map(row).collect();
    format!("id{separator}text{separator}date{end}{rows}")
}

/// As saved by Windows programs.
fn utf16(text: &str) -> Vec<u8> {
    let units = [0xfeff].into_iter().chain(text.encode_utf16());
    units.flat_map(u16::to_le_bytes).collect()
}

pub fn csv() -> Vec<Vec<u8>> {
    let plain = "text,id\nno quotes at all,1\nand,2\n\nmore fields,3,4,5\nfewer\n";
    vec![
        separated(',', "\n").into(),
        separated(',', "\r\n").into(),
        separated(';', "\n").into(),
        format!("\u{feff}{}", separated(',', "\n")).into(),
        utf16(&separated(',', "\r\n")),
        plain.into(),
        b"id,text\n1,caf\xe9\n2,\xff\xfe\n".to_vec(),
    ]
}

pub fn tsv() -> Vec<Vec<u8>> {
    let plain = "id\ttext\tdate\n1\tsome text\t2024\n2\t\"quoted\ttext\"\t\n";
    vec![
        separated('\t', "\n").into(),
        separated('\t', "\r\n").into(),
        utf16(&separated('\t', "\n")),
        plain.into(),
    ]
}

pub fn jsonl() -> Vec<Vec<u8>> {
    let row = |(number, text): (usize, &&str)| {
        let row = serde_json::json!({ "id": number, "text": text, "date": number as f64 / 3.0 });
        format!("{row}\n")
    };
    let plain: String = TEXTS.iter().enumerate().map(row).collect();
    let odd = concat!(
        "{\"text\":\"\\ud83e\\udd8a \\u0000 \\\\ \\/\",\"id\":-1}\r\n",
        "\n",
        "{\"id\":null,\"other\":{\"deep\":[1,2,{\"a\":[]}]},\"text\":\"a\",\"text\":\"b\"}\n",
        "{\"id\":18446744073709551616,\"text\":7}\n",
        "{\"id\":1.5e300,\"text\":{\"a\":1,\"b\":2.5}}\n",
        "{\"id\":\"x\",\"text\":[\"one\",\"two\",\"two\"]}\n",
        "{\"id\":\"x\",\"text\":[[\"one\",1],[\"two\",0.5]]}\n",
        "not json\n",
        "{\"text\":\"cut",
    );
    let features = "{\"id\":1,\"features\":[\"a\",\"b\"]}\n{\"id\":2,\"features\":{\"a\":3}}\n";
    let deep = format!("{{\"text\":\"a\",\"date\":{}{}}}\n", "[".repeat(100), "]".repeat(100));
    vec![
        plain.clone().into(),
        odd.into(),
        features.into(),
        deep.into(),
        utf16(&plain),
        format!("\u{feff}{plain}").into(),
    ]
}

pub fn parquet() -> Vec<Vec<u8>> {
    let texts = || TEXTS.iter().map(|text| (!text.is_empty()).then_some(*text));
    let written = |columns: Vec<(&str, ArrayRef)>, compression, old: bool, dictionary| {
        let batch = RecordBatch::try_from_iter(columns).expect("columns have one length");
        let version = if old { WriterVersion::PARQUET_1_0 } else { WriterVersion::PARQUET_2_0 };
        let properties = WriterProperties::builder()
            .set_compression(compression)
            .set_writer_version(version)
            .set_dictionary_enabled(dictionary)
            .set_max_row_group_row_count(Some(4))
            .build();
        let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties))
            .expect("the schema can be written");
        writer.write(&batch).expect("the table can be written");
        writer.into_inner().expect("the table can be written")
    };
    let ids: ArrayRef = Arc::new(Int64Array::from_iter(0..TEXTS.len() as i64));
    let dates: ArrayRef = Arc::new(Float64Array::from_iter((0..TEXTS.len()).map(|n| n as f64)));
    let plain = |text: ArrayRef| vec![("id", ids.clone()), ("text", text), ("date", dates.clone())];
    let dictionary: DictionaryArray<Int32Type> = texts().collect();
    let lists = ListArray::from_iter_primitive::<UInt64Type, _, _>(
        (0..6).map(|n| (n != 2).then(|| (0..n).map(Some))),
    );
    let names: ArrayRef = Arc::new(StringArray::from_iter(texts()));
    let nested = StructArray::try_from(vec![("name", names.clone()), ("date", dates.clone())]);
    let nested = nested.expect("columns have one length");
    let zstd = Compression::ZSTD(ZstdLevel::default());
    let gzip = Compression::GZIP(GzipLevel::default());
    let text = || -> ArrayRef { names.clone() };
    vec![
        written(plain(text()), Compression::UNCOMPRESSED, true, true),
        written(plain(text()), Compression::UNCOMPRESSED, false, false),
        written(plain(Arc::new(LargeStringArray::from_iter(texts()))), zstd, true, true),
        written(
            plain(Arc::new(StringViewArray::from_iter(texts()))),
            Compression::SNAPPY,
            false,
            true,
        ),
        written(plain(Arc::new(dictionary)), gzip, true, true),
        written(plain(Arc::new(lists)), Compression::LZ4_RAW, true, false),
        written(
            vec![("id", ids.clone()), ("text", text()), ("more", Arc::new(nested))],
            Compression::UNCOMPRESSED,
            true,
            true,
        ),
    ]
}

pub fn model() -> Vec<Vec<u8>> {
    let learned = |texts: &[&str]| {
        let mut learner = Learner::new(&Preset::named("words").expect("the preset exists").recipe);
        texts.iter().for_each(|text| learner.add(text));
        let mut bytes = Vec::new();
        learner.finish().write(&mut bytes).expect("memory can be written to");
        bytes
    };
    vec![
        learned(&["the cat", "the dog", "the the end", "a dog"]),
        learned(&TEXTS.repeat(3)),
        learned(&[]),
    ]
}
