//! `bench pairs`: made data is the same on every run, and its result can be read by programs.

use serde_json::Value;

use crate::run::Folder;

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
fn the_result_is_told_to_people_too() {
    let ran = Folder::new().run("bench pairs --random 1e3 --distance 2 --threads 1");
    assert_eq!(ran.exit, 0);
    for line in ["items        1,000 of 64 bits, random\n", "distance     2\n", "threads      1\n"]
    {
        assert!(ran.stdout.contains(line), "{}", ran.stdout);
    }
    for name in ["seconds ", "pairs ", "peak memory ", "plan "] {
        assert!(ran.stdout.contains(&format!("\n{name}")), "{}", ran.stdout);
    }
}

#[test]
fn more_items_than_can_be_numbered_are_refused() {
    Folder::new()
        .run("bench pairs --random 5e9")
        .fails("--random 5,000,000,000: the most is 4,294,967,295");
}

#[test]
fn no_items_are_no_trouble() {
    assert_eq!(bench("--random 0")["pairs"], 0);
    assert_eq!(bench("--random 1")["pairs"], 0);
}
