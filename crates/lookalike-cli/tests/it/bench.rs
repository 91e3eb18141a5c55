//! `bench pairs`: synthetic data is the same on every run, and its result can be read by programs.

use serde_json::Value;

use crate::run::{Folder, snapshot};

fn bench(options: &str) -> Value {
    let ran = Folder::new().run(&format!("bench pairs --json {options}"));
    assert_eq!((ran.exit, ran.stderr.as_str()), (0, ""));
    serde_json::from_str(&ran.stdout).unwrap()
}

#[test]
fn one_percent_of_random_items_has_a_neighbour() {
    let result = bench("--random 2k");
    assert_eq!((&result["items"], &result["pairs"]), (&2_000.into(), &20.into()));
}

#[test]
fn pairs_depend_neither_on_threads_nor_on_pieces() {
    for data in ["random", "skewed", "clustered", "few-bits", "equal"] {
        for bits in [32, 64, 256] {
            let options = format!("--random 1500 --data {data} --bits {bits}");
            let pairs = |more: &str| bench(&format!("{options} {more}"))["pairs"].clone();
            let expected = pairs("--threads 1");
            assert_eq!(pairs("--threads 3"), expected, "{options}");
            assert_eq!(pairs("--memory 32M"), expected, "{options}");
        }
    }
}

#[test]
fn another_seed_makes_other_data() {
    let pairs =
        |seed| bench(&format!("--random 2000 --data clustered --seed {seed}"))["pairs"].clone();
    assert_ne!(pairs(1), pairs(2));
}

#[test]
fn the_result_is_a_table_for_people_or_json_for_programs() {
    let command = "bench pairs --random 1e3 --distance 2 --threads 1";
    snapshot!(Folder::new().session([command, &format!("{command} --json")]), @r#"
    $ lookalike bench pairs --random 1e3 --distance 2 --threads 1
    exit 0
    items        1,000 of 64 bits, random
    distance     2
    threads      1
    seconds      [TIME]
    pairs        10 in all, 3 groups of equal items
    peak memory  [MEMORY]
    plan         [PLAN]

    $ lookalike bench pairs --random 1e3 --distance 2 --threads 1 --json
    exit 0
    {"items":1000,"bits":64,"data":"random","seed":1,"distance":2,"threads":"[threads]","seconds":"[seconds]","make_seconds":"[make_seconds]","pairs":10,"equal_groups":3,"peak_bytes":"[peak_bytes]","spilled_bytes":0,"plan":"[PLAN]"}
    "#);
}

#[test]
fn more_items_than_can_be_numbered_are_refused() {
    snapshot!(Folder::new().run("bench pairs --random 5e9"), @"
    exit 2
    --- stderr
    error: --random 5,000,000,000: the most is 4,294,967,295
    ");
}

#[test]
fn no_items_have_no_pairs() {
    assert_eq!(bench("--random 0")["pairs"], 0);
    assert_eq!(bench("--random 1")["pairs"], 0);
}
