//! `pairs`: every form of input holds the same fingerprints.

use std::io::Write;

use crate::run::{Folder, snapshot};

/// 1 and 2 differ in one bit, 2 and 4 in two, 5 and 1 are equal; 3 is far from all.
const NUMBERS: [u64; 5] = [0xff, 0xfe, u64::MAX << 32, 0xf2, 0xff];
const PAIRS: &str = "1-2:1 1-4:3 1-5:0 2-4:2 2-5:1 4-5:3";

fn lines(format: impl Fn(u64) -> String) -> String {
    NUMBERS.iter().map(|&number| format(number) + "\n").collect()
}

fn decimal() -> String {
    lines(|number| number.to_string())
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).unwrap()
}

/// A `.npy` file as NumPy writes it.
pub fn npy(version: u8, dtype: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}\n");
    let mut file = b"\x93NUMPY".to_vec();
    file.extend([version, 0]);
    let length = (header.len() as u32).to_le_bytes();
    file.extend(if version == 1 { &length[..2] } else { &length[..] });
    file.extend(header.as_bytes());
    file.extend(data);
    file
}

pub fn words(numbers: &[u64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

#[test]
fn decimal_lines_give_numbered_pairs_and_a_summary() {
    snapshot!(Folder::with("hashes.txt", decimal()).run("pairs hashes.txt"), @r#"
    exit 0
    {"a":1,"b":2,"distance":1,"similarity":null,"level":null}
    {"a":1,"b":4,"distance":3,"similarity":null,"level":null}
    {"a":1,"b":5,"distance":0,"similarity":null,"level":null}
    {"a":2,"b":4,"distance":2,"similarity":null,"level":null}
    {"a":2,"b":5,"distance":1,"similarity":null,"level":null}
    {"a":4,"b":5,"distance":3,"similarity":null,"level":null}
    --- stderr
    reading fingerprints of 64 bits
    5 items; 6 pairs with distance <= 3 of 64 bits; 1 group of equal items; exact; [TIME]
    plan: [PLAN]
    "#);
}

#[test]
fn every_way_to_write_a_number_gives_the_same_pairs() {
    let texts = [
        lines(|number| format!("{number:#x}")),
        lines(|number| format!("0X{number:016X}")),
        lines(|number| format!("{number:#066b}")),
        lines(|number| format!("  {number} ")),
        decimal().replace('\n', "\r\n"),
        format!("\u{feff}{}", decimal()),
        decimal().trim_end().to_owned(),
    ];
    for text in texts {
        let ran = Folder::with("hashes.txt", &text).run("pairs hashes.txt");
        assert_eq!(ran.pairs(), PAIRS, "{text}");
    }
}

#[test]
fn compressed_input_is_recognised_by_its_bytes_not_by_its_name() {
    let text = decimal();
    let (first, second) = text.split_at(10);
    let compressed = [
        gzip(text.as_bytes()),
        zstd(text.as_bytes()),
        [gzip(first.as_bytes()), gzip(second.as_bytes())].concat(),
        [zstd(first.as_bytes()), zstd(second.as_bytes())].concat(),
        gzip(&npy(1, "<u8", "(5,)", &words(&NUMBERS))),
    ];
    for bytes in compressed {
        let folder = Folder::with("plain-name", &bytes);
        assert_eq!(folder.run("pairs plain-name").pairs(), PAIRS);
        assert_eq!(folder.run_with("pairs -", &bytes).pairs(), PAIRS);
    }
}

#[test]
fn arrays_of_every_version_give_the_same_pairs() {
    for version in 1..=3 {
        let array = npy(version, "<u8", "(5,)", &words(&NUMBERS));
        assert_eq!(Folder::with("a.npy", array).run("pairs a.npy").pairs(), PAIRS);
    }
    let column = npy(1, "<u8", "(5, 1)", &words(&NUMBERS));
    assert_eq!(Folder::with("a.npy", column).run("pairs a.npy").pairs(), PAIRS);
}

#[test]
fn arrays_state_their_width() {
    let wide = words(&NUMBERS.map(|number| [0, 0, 7, number]).concat());
    let array = npy(1, "<u8", "(5, 4)", &wide);
    let ran = Folder::with("a.npy", array).run("pairs a.npy");
    assert_eq!(ran.pairs(), PAIRS);
    snapshot!(ran.stderr, @"
    reading fingerprints of 256 bits
    5 items; 6 pairs with distance <= 3 of 256 bits; 1 group of equal items; exact; [TIME]
    plan: [PLAN]
    ");

    let pair = words(&NUMBERS.map(|number| [number, 0]).concat());
    let ran = Folder::with("a.npy", npy(1, "<u8", "(5, 2)", &pair)).run("pairs a.npy --bits 128");
    assert_eq!(ran.pairs(), PAIRS);

    let narrow: Vec<u8> = [0xffu32, 0xfe, 0xff0000, 0xf2, 0xff]
        .iter()
        .flat_map(|number| number.to_le_bytes())
        .collect();
    let ran = Folder::with("a.npy", npy(1, "<u4", "(5,)", &narrow)).run("pairs a.npy");
    assert_eq!(ran.pairs(), PAIRS);
}

#[test]
fn wide_numbers_are_read_as_the_array_with_the_least_significant_word_first() {
    let text = "0x100000000000000000000000000000001\n";
    let array = npy(1, "<u8", "(1, 4)", &words(&[1, 0, 1, 0]));
    let folder = Folder::with("a.txt", text).and("b.npy", array);
    assert_eq!(folder.run("pairs a.txt b.npy -k 0").pairs(), "a.txt:1-b.npy:1:0");
    assert_eq!(folder.run("pairs a.txt b.npy -k 0 --bits 256").pairs(), "a.txt:1-b.npy:1:0");
}

#[test]
fn ids_after_a_tab_are_used_and_kept_as_text() {
    let folder = Folder::with("a", "1\tfirst\n2\n3\t3\n3\tsay \"hi\"\tyou\n");
    snapshot!(folder.run("pairs a -k 1 --quiet"), @r#"
    exit 0
    {"a":"first","b":"3","distance":1,"similarity":null,"level":null}
    {"a":"first","b":"say \"hi\"\tyou","distance":1,"similarity":null,"level":null}
    {"a":2,"b":"3","distance":1,"similarity":null,"level":null}
    {"a":2,"b":"say \"hi\"\tyou","distance":1,"similarity":null,"level":null}
    {"a":"3","b":"say \"hi\"\tyou","distance":0,"similarity":null,"level":null}
    "#);
}

#[test]
fn items_of_several_inputs_are_named_by_file_and_line() {
    let folder = Folder::with("a", "1\n2\n").and("b", "\n3\n0xff00\tx\n");
    let ran = folder.run_with("pairs a b - -k 1", "65281\n");
    assert_eq!(ran.pairs(), "a:1-b:2:1 a:2-b:2:1 x-stdin:1:1");
}

#[test]
fn blank_lines_are_no_items_but_count_as_lines() {
    let ran = Folder::with("a", "\n1\n\n \n3\n\n").run("pairs a");
    assert_eq!(ran.pairs(), "2-5:1");
}

#[test]
fn no_items_are_no_pairs() {
    let empty = npy(1, "<u8", "(0,)", b"");
    let folder = Folder::with("a", "").and("b.npy", empty).and("c", "7\n");
    for arguments in ["pairs a", "pairs b.npy", "pairs a b.npy", "pairs c", "pairs -"] {
        assert_eq!(folder.run(arguments).pairs(), "", "{arguments}");
    }
}

#[test]
fn narrow_fingerprints_are_searched_up_to_their_width() {
    let folder = Folder::with("a", "0\n4294967295\n");
    assert_eq!(folder.run("pairs a --bits 32 --distance 32").pairs(), "1-2:32");
    assert_eq!(folder.run("pairs a --bits 32 --distance 31").pairs(), "");
}

#[test]
fn the_answer_does_not_depend_on_how_it_is_found() {
    let folder = Folder::with("a", decimal());
    for options in [
        "--threads 1",
        "--threads 3",
        "--blocks 4",
        "--blocks 7",
        "--kernel portable",
        "--memory 64M",
        "--memory 64M --temp .",
    ] {
        assert_eq!(folder.run(&format!("pairs a {options}")).pairs(), PAIRS, "{options}");
    }
    assert_eq!(folder.names(), ["a"]);
}

#[test]
fn a_quiet_run_prints_pairs_only() {
    let folder = Folder::with("a", "1\n3\n");
    snapshot!(folder.session(["pairs a", "pairs a --quiet"]), @r#"
    $ lookalike pairs a
    exit 0
    {"a":1,"b":2,"distance":1,"similarity":null,"level":null}
    --- stderr
    reading fingerprints of 64 bits
    2 items; 1 pair with distance <= 3 of 64 bits; 0 groups of equal items; exact; [TIME]
    plan: [PLAN]

    $ lookalike pairs a --quiet
    exit 0
    {"a":1,"b":2,"distance":1,"similarity":null,"level":null}
    "#);
}
