//! `pairs`: what is written, where, and what is said about it.

use std::{io::Read, process::Stdio};

use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::run::{Folder, run, snapshot};

/// Equal: 1, 3 and 5; near them: 2 and 4, which are equal too.
const EQUALS: &str = "1\n3\n1\n3\n1\n";

#[test]
fn equal_all_lists_every_pair() {
    let ran = Folder::with("a", EQUALS).run("pairs a --equal all");
    let expected = "1-2:1 1-3:0 1-4:1 1-5:0 2-3:1 2-4:0 2-5:1 3-4:1 3-5:0 4-5:1";
    assert_eq!(ran.pairs(), expected);
}

#[test]
fn equal_first_pairs_each_item_with_the_first_of_its_equals() {
    snapshot!(Folder::with("a", EQUALS).run("pairs a --equal first"), @r#"
    exit 0
    {"a":1,"b":2,"distance":1,"similarity":null,"level":null}
    {"a":1,"b":3,"distance":0,"similarity":null,"level":null}
    {"a":1,"b":5,"distance":0,"similarity":null,"level":null}
    {"a":2,"b":4,"distance":0,"similarity":null,"level":null}
    --- stderr
    reading fingerprints of 64 bits
    5 items; 4 pairs with distance <= 3 of 64 bits; 2 groups of equal items; exact; [TIME]
    plan: [PLAN]
    "#);
}

#[test]
fn every_pair_of_equal_items_is_listed_however_many_they_are() {
    let mut text = "7\n".repeat(1_200);
    text.push_str("6\n6\n");
    let folder = Folder::with("a", text);
    // 1,200 sevens and two sixes, all with each other.
    assert_eq!(folder.run("pairs a").stdout.lines().count(), 1_202 * 1_201 / 2);
    // 1 with 1,199 equals, 1 with the first six, the sixes with each other.
    assert_eq!(folder.run("pairs a --equal first").stdout.lines().count(), 1_201);
}

#[test]
fn the_extension_decides_the_format() {
    let folder = Folder::with("a", "1\t\"x\", y\n3\n0\tz\tz\n");
    let written = |name: &str| {
        let ran = folder.run(&format!("pairs a -k 1 --quiet -o {name}"));
        assert_eq!(ran.to_string(), "exit 0\n");
        folder.read(name)
    };
    let rows = written("p.jsonl");
    snapshot!(rows, @r#"
    {"a":"\"x\", y","b":2,"distance":1,"similarity":null,"level":null}
    {"a":"\"x\", y","b":"z\tz","distance":1,"similarity":null,"level":null}
    "#);
    assert_eq!([written("p.ndjson"), written("p.json")], [rows.clone(), rows]);
    snapshot!(written("p.csv"), @r#"
    a,b,distance,similarity,level
    """x"", y",2,1,,
    """x"", y",z	z,1,,
    "#);
    assert_eq!(
        written("p.tsv"),
        "a\tb\tdistance\tsimilarity\tlevel\n\"\"\"x\"\", y\"\t2\t1\t\t\n\"\"\"x\"\", y\"\t\"z\tz\"\t1\t\t\n"
    );
}

#[test]
fn tables_are_compressed_as_their_extension_says() {
    let folder = Folder::with("a", "1\n3\n");
    let plain = "a,b,distance,similarity,level\n1,2,1,,\n";
    folder.run("pairs a -o p.csv.gz");
    folder.run("pairs a -o p.csv.zst");
    let bytes = |name| std::fs::read(folder.path(name)).unwrap();
    let mut text = String::new();
    flate2::read::GzDecoder::new(&*bytes("p.csv.gz")).read_to_string(&mut text).unwrap();
    assert_eq!(text, plain);
    assert_eq!(zstd::decode_all(&*bytes("p.csv.zst")).unwrap(), plain.as_bytes());
}

#[test]
fn parquet_has_the_same_columns_and_numbers_where_all_ids_are_numbers() {
    let folder = Folder::with("a", "1\n3\n").and("b", "1\tx\n3\n");
    for (input, kind) in [("a", "Int64"), ("b", "Utf8")] {
        assert_eq!(folder.run(&format!("pairs {input} -o {input}.parquet")).exit, 0);
        let file = std::fs::File::open(folder.path(&format!("{input}.parquet"))).unwrap();
        let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
        let fields = reader.schema().fields().clone();
        let columns: Vec<_> =
            fields.iter().map(|field| format!("{} {}", field.name(), field.data_type())).collect();
        let id = |name: &str| format!("{name} {kind}");
        let expected = ["distance Int64", "similarity Float32", "level Utf8"].map(str::to_owned);
        assert_eq!(columns[..2], [id("a"), id("b")]);
        assert_eq!(columns[2..], expected);
        let rows: usize = reader.build().unwrap().map(|batch| batch.unwrap().num_rows()).sum();
        assert_eq!(rows, 1);
    }
}

#[test]
fn formats_that_cannot_be_written_are_refused_before_the_input_is_read() {
    let folder = Folder::with("a", "no number\n");
    snapshot!(folder.session([
        "pairs a --kind hash -o p.txt",
        "pairs a --kind hash -o pairs",
        "pairs a --kind hash -o p.gz",
        "pairs a --kind hash -o p.txt.zst",
        "pairs a --kind hash -o p.csv.xz",
        "pairs a --kind hash -o p.parquet.gz",
        "pairs a --kind hash -o none/p.csv",
    ]), @"
    $ lookalike pairs a --kind hash -o p.txt
    exit 2
    --- stderr
    error: p.txt: the ending decides the format; use .jsonl, .csv, .tsv (each also .gz or .zst) or .parquet

    $ lookalike pairs a --kind hash -o pairs
    exit 2
    --- stderr
    error: pairs: the ending decides the format; use .jsonl, .csv, .tsv (each also .gz or .zst) or .parquet

    $ lookalike pairs a --kind hash -o p.gz
    exit 2
    --- stderr
    error: p.gz: the ending decides the format; use .jsonl, .csv, .tsv (each also .gz or .zst) or .parquet

    $ lookalike pairs a --kind hash -o p.txt.zst
    exit 2
    --- stderr
    error: p.txt.zst: the ending decides the format; use .jsonl, .csv, .tsv (each also .gz or .zst) or .parquet

    $ lookalike pairs a --kind hash -o p.csv.xz
    exit 2
    --- stderr
    error: p.csv.xz: .xz is read, but not written; use .gz or .zst

    $ lookalike pairs a --kind hash -o p.parquet.gz
    exit 2
    --- stderr
    error: p.parquet.gz: Parquet is packed already; use .parquet

    $ lookalike pairs a --kind hash -o none/p.csv
    exit 2
    --- stderr
    error: none/p.csv: there is no folder none; make it first
    ");
    assert_eq!(folder.names(), ["a"]);
}

#[test]
fn a_file_is_overwritten_only_if_asked_for() {
    let folder = Folder::with("a", "1\n3\n").and("p.jsonl", "mine");
    snapshot!(folder.run("pairs a -o p.jsonl"), @"
    exit 2
    --- stderr
    error: p.jsonl: already exists (use --force to overwrite)
    ");
    assert_eq!(folder.read("p.jsonl"), "mine");
    assert_eq!(folder.run("pairs a -o p.jsonl --force").exit, 0);
    snapshot!(folder.read("p.jsonl"), @r#"{"a":1,"b":2,"distance":1,"similarity":null,"level":null}"#);
    assert_eq!(folder.names(), ["a", "p.jsonl"]);
}

#[test]
fn a_run_that_fails_leaves_no_file() {
    let folder = Folder::with("a", "1\n3\nno number\n");
    assert_eq!(folder.run("pairs a -o p.csv --strict").exit, 2);
    assert_eq!(folder.names(), ["a"]);
}

#[cfg(unix)]
#[test]
fn a_run_that_is_stopped_leaves_no_file() {
    use std::os::unix::process::ExitStatusExt;
    let folder = Folder::with("a", "1\n");
    let mut command = folder.command("hash - --lines -o p.jsonl");
    let mut child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // It says what it reads when its output is open, and then waits for more.
    let mut stdin = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut stdin, &vec![b'\n'; 2 << 20]).unwrap();
    child.stderr.as_mut().unwrap().read_exact(&mut [0; 7]).unwrap();
    assert_eq!(folder.names().len(), 2);
    // Not Ctrl-C's SIGINT: a test that runs in the background may have to ignore that one.
    let kill = format!("kill -TERM {}", child.id());
    assert!(std::process::Command::new("sh").args(["-c", &kill]).status().unwrap().success());
    let ended = child.wait().unwrap();
    assert_eq!(ended.signal(), Some(15), "{ended}");
    assert_eq!(folder.names(), ["a"]);
}

#[cfg(unix)]
#[test]
fn a_written_file_may_be_read_as_any_new_file() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::with("a", "1\n");
    folder.run("pairs a -o p.csv");
    let mode = |name| folder.path(name).metadata().unwrap().permissions().mode();
    assert_eq!(mode("p.csv"), mode("a"));
}

#[cfg(unix)]
#[test]
fn devices_are_written_in_place() {
    snapshot!(Folder::with("a", "1\n3\n").run("pairs a -o /dev/null --quiet"), @"exit 0");
}

#[test]
fn a_closed_pipe_ends_the_run_quietly() {
    let folder = Folder::with("a", "5\n".repeat(3_000));
    let mut child = folder
        .command("pairs a --quiet")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut [0; 10]).unwrap();
    drop(stdout);
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()));
}

#[test]
fn the_summary_is_one_line_of_json_if_asked_for() {
    let ran = Folder::with("a", "1\n1\nx\n").run("pairs a --kind hash --json --quiet");
    snapshot!(ran, @r#"
    exit 0
    {"a":1,"b":2,"distance":0,"similarity":null,"level":null}
    --- stderr
    {"items":2,"skipped":1,"skipped_by_reason":{"not a number":1},"pairs":1,"duplicate_ids":0,"equal_groups":1,"recipe":"hash: 64 bits","alike":"distance <= 3 of 64 bits","bits":64,"distance":3,"similarity":null,"short":0,"empty":0,"recall":1.0,"found":"[PLAN]","verified":0,"spilled_bytes":0,"search_seconds":"[search_seconds]","exact":true,"seconds":"[seconds]","items_per_second":"[items_per_second]","plan":"[PLAN]"}
    "#);
    assert!(serde_json::from_str::<serde_json::Value>(&ran.stderr).is_ok(), "{ran}");
}

#[test]
fn a_plan_is_printed_without_searching_for_pairs() {
    snapshot!(Folder::with("a", "1\n1\n").run("pairs a --plan"), @"
    exit 0
    items     2 items of 64 bits
    distance  3
    plan      [PLAN]
    --- stderr
    reading fingerprints of 64 bits
    ");
}

#[test]
fn standard_error_may_be_closed_too() {
    let folder = Folder::with("a", "1\n3\n");
    let mut command = std::process::Command::new("sh");
    let program = env!("CARGO_BIN_EXE_lookalike");
    command.args(["-c", &format!("'{program}' pairs {} 2>&-", folder.path("a").display())]);
    assert_eq!(run(command, b"").pairs(), "1-2:1");
}
