//! `pairs`: what is written, where, and what is said about it.

use std::{io::Read, process::Stdio};

use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::run::{Folder, run};

/// Equal: 1, 3 and 5; near them: 2 and 4, which are equal too.
const EQUALS: &str = "1\n3\n1\n3\n1\n";

#[test]
fn equal_all_lists_every_pair() {
    let ran = Folder::with("a", EQUALS).run("pairs a --equal all");
    let expected = "1-2:1 1-3:0 1-4:1 1-5:0 2-3:1 2-4:0 2-5:1 3-4:1 3-5:0 4-5:1";
    assert_eq!(ran.pairs(), expected);
}

#[test]
fn equal_first_ties_each_item_to_the_first_of_its_equals() {
    let ran = Folder::with("a", EQUALS).run("pairs a --equal first");
    assert_eq!(ran.pairs(), "1-2:1 1-3:0 1-5:0 2-4:0");
    assert!(ran.stderr.contains("2 groups of equal items"), "{}", ran.stderr);
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
fn the_ending_of_the_file_decides_the_format() {
    let folder = Folder::with("a", "1\t\"x\", y\n3\n0\tz\tz\n");
    for name in ["p.jsonl", "p.ndjson", "p.json"] {
        folder.run(&format!("pairs a -k 1 --quiet -o {name}")).is("exit 0\n--- stderr");
        let expected = "{\"a\":\"\\\"x\\\", y\",\"b\":2,\"distance\":1,\"similarity\":null,\"level\":null}\n\
                        {\"a\":\"\\\"x\\\", y\",\"b\":\"z\\tz\",\"distance\":1,\"similarity\":null,\"level\":null}\n";
        assert_eq!(folder.read(name), expected);
    }
    folder.run("pairs a -k 1 -o p.csv");
    let table =
        "a,b,distance,similarity,level\n\"\"\"x\"\", y\",2,1,,\n\"\"\"x\"\", y\",z\tz,1,,\n";
    assert_eq!(folder.read("p.csv"), table);
    folder.run("pairs a -k 1 -o p.tsv");
    let table = "a\tb\tdistance\tsimilarity\tlevel\n\"\"\"x\"\", y\"\t2\t1\t\t\n\"\"\"x\"\", y\"\t\"z\tz\"\t1\t\t\n";
    assert_eq!(folder.read("p.tsv"), table);
}

#[test]
fn tables_are_packed_as_their_name_says() {
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
    let run = |file| folder.run(&format!("pairs a --kind hash -o {file}"));
    let possible = "use .jsonl, .csv, .tsv (each also .gz or .zst) or .parquet";
    for name in ["p.txt", "pairs", "p.gz", "p.txt.zst"] {
        run(name).fails(&format!("{name}: the ending decides the format; {possible}"));
    }
    run("p.csv.xz").fails("p.csv.xz: .xz is read, but not written; use .gz or .zst");
    run("p.parquet.gz").fails("p.parquet.gz: Parquet is packed already; use .parquet");
    run("none/p.csv").fails("none/p.csv: there is no folder none; make it first");
    assert_eq!(folder.names(), ["a"]);
}

#[test]
fn a_file_is_replaced_only_if_the_user_says_so() {
    let folder = Folder::with("a", "1\n3\n").and("p.jsonl", "mine");
    folder.run("pairs a -o p.jsonl").fails("p.jsonl: already exists (use --force to overwrite)");
    assert_eq!(folder.read("p.jsonl"), "mine");
    assert_eq!(folder.run("pairs a -o p.jsonl --force").exit, 0);
    assert_eq!(
        folder.read("p.jsonl"),
        "{\"a\":1,\"b\":2,\"distance\":1,\"similarity\":null,\"level\":null}\n"
    );
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
    Folder::with("a", "1\n3\n").run("pairs a -o /dev/null --quiet").is("exit 0\n--- stderr");
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
    let summary: serde_json::Value = serde_json::from_str(&ran.stderr).unwrap();
    assert_eq!(summary["items"], 2);
    assert_eq!(summary["skipped"], 1);
    assert_eq!(summary["skipped_by_reason"]["not a number"], 1);
    assert_eq!(summary["pairs"], 1);
    assert_eq!(summary["equal_groups"], 1);
    assert_eq!(summary["bits"], 64);
    assert_eq!(summary["distance"], 3);
    assert_eq!(summary["exact"], true);
    assert!(summary["seconds"].is_f64() && summary["plan"].is_string());
}

#[test]
fn a_plan_is_told_without_looking_for_pairs() {
    let ran = Folder::with("a", "1\n1\n").run("pairs a --plan");
    assert_eq!(ran.exit, 0);
    assert!(
        ran.stdout.starts_with("items     2 items of 64 bits\ndistance  3\nplan      "),
        "{}",
        ran.stdout
    );
    assert!(!ran.stdout.contains("distance\":"), "{}", ran.stdout);
}

#[test]
fn standard_error_may_be_closed_too() {
    let folder = Folder::with("a", "1\n3\n");
    let mut command = std::process::Command::new("sh");
    let program = env!("CARGO_BIN_EXE_lookalike");
    command.args(["-c", &format!("'{program}' pairs {} 2>&-", folder.path("a").display())]);
    assert_eq!(run(command, b"").pairs(), "1-2:1");
}
