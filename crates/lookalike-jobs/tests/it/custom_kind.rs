//! A custom kind, defined here only, works in every command.

use std::{ffi::OsString, fs, path::Path, process::ExitCode, sync::Arc};

use lookalike::{
    Closeness, Criteria, Digest, Facts, Kind, Level, Radius, Unfit, Width,
    digest::{DigestRef, Shape},
    kind::{
        Asked, Digester, Input, Lookup, Purpose, Reads, RecipeText, Registration, Registry, Scale,
        Settings, UsageError,
    },
};
use lookalike_jobs::{Host, Job};

/// Numbers that match within a tolerance.
struct Numbers;

/// The greatest distance that can be asked for.
const MAX_DISTANCE: u32 = 100;

impl Numbers {
    const REGISTRATION: Registration = Registration {
        name: "number",
        items: "numbers",
        reads: Reads::Records,
        options: &["distance", "report", "lines"],
        keep: "first",
        open: |_: &Settings| Ok(Box::new(Self)),
        reopen: |_: &RecipeText| Some(Arc::new(Self)),
    };
}

impl Kind for Numbers {
    fn name(&self) -> &'static str {
        "number"
    }

    fn recipe(&self) -> String {
        "number: version 1".to_owned()
    }

    fn shape(&self) -> Shape {
        Shape { width: Width::Bits64, prints: 1, is_bare: false }
    }

    fn digester(&self) -> Box<dyn Digester + '_> {
        Box::new(Self)
    }

    fn criteria(&self, asked: &Asked, _purpose: Purpose) -> Result<Criteria, UsageError> {
        let distance = asked.distance.unwrap_or(Radius::new(3));
        if distance.bits() > MAX_DISTANCE {
            return Err(UsageError::new("distance", format!(": use at most {MAX_DISTANCE}")));
        }
        Ok(Criteria { distance: Some(distance), ..Criteria::default() })
    }

    fn lookups(&self, _by: &Criteria) -> Vec<Lookup> {
        vec![Lookup::Every]
    }

    fn judge(&self, by: &Criteria, a: DigestRef<'_>, b: DigestRef<'_>) -> Option<Closeness> {
        let number = |digest: DigestRef<'_>| Some(digest.print(0)?[0]);
        let distance = u32::try_from(number(a)?.abs_diff(number(b)?)).unwrap_or(u32::MAX);
        let level = (distance <= 1).then_some(Level::Near);
        let is_alike = by.distance.is_none_or(|widest| widest.contains(distance));
        is_alike.then_some(Closeness { distance: Some(distance), similarity: None, level })
    }

    fn equal(&self, _by: &Criteria) -> Closeness {
        Closeness { distance: Some(0), similarity: None, level: Some(Level::Near) }
    }

    fn words(&self, by: &Criteria) -> String {
        by.distance.map_or_else(|| "any".to_owned(), |widest| format!("at most {widest} apart"))
    }

    fn usual_distance(&self) -> Radius {
        Radius::new(3)
    }

    fn scale(&self, acting: &Criteria, _looking: &Criteria) -> Scale {
        Scale::Distance { widest: acting.distance.map_or(0, Radius::bits), levels: Vec::new() }
    }

    fn stored(&self) -> RecipeText {
        let nothing = || serde_json::json!({});
        RecipeText {
            kind: self.name().to_owned(),
            digest: nothing(),
            usual: nothing(),
            model: None,
        }
    }
}

impl Digester for Numbers {
    fn digest(&mut self, input: Input<'_>) -> Result<(Digest, Facts), Unfit> {
        let Input::Text(text) = input else {
            return Err(Unfit { reason: "of another type", message: "not a text".to_owned() });
        };
        let number: u64 = text.trim().parse().map_err(|_| Unfit {
            reason: "not a number",
            message: format!("{text:?} is not a number"),
        })?;
        Ok((Digest::of_print(lookalike::Fingerprint([number, 0, 0, 0])), Facts::default()))
    }
}

fn registry() -> Registry {
    let mut registry = Registry::default();
    registry.register(Numbers::REGISTRATION);
    registry
}

/// Runs a command on numbers, in a folder.
fn run(folder: &Path, args: &[&str]) -> ExitCode {
    let args = args.iter().map(|arg| match arg.strip_prefix('@') {
        Some(file) => folder.join(file).into_os_string(),
        None => OsString::from(arg),
    });
    let all = [OsString::from("lookalike")].into_iter().chain(args);
    match Job::parse(all).unwrap().run_with(&Host::silent(), &registry()) {
        Ok(code) => code,
        Err(_) => ExitCode::from(2),
    }
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let lines: String =
        ["10", "500", "12", "x", "10", "14", "501"].map(|line| format!("{line}\n")).concat();
    fs::write(folder.path().join("numbers.txt"), lines).unwrap();
    fs::write(folder.path().join("others.txt"), "13\n900\n").unwrap();
    folder
}

const NUMBERS: [&str; 4] = ["--kind", "number", "--lines", "-q"];

fn read(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join(name)).unwrap()
}

#[test]
fn lists_pairs_of_a_custom_kind() {
    let folder = folder();
    let args = ["pairs", "@numbers.txt", "-o", "@pairs.csv"];
    assert_eq!(run(folder.path(), &[&args[..], &NUMBERS].concat()), ExitCode::SUCCESS);
    let pairs = read(folder.path(), "pairs.csv");
    let expected =
        "a,b,distance,similarity,level\n1,3,2,,\n1,5,0,,near\n2,7,1,,near\n3,5,2,,\n3,6,2,,\n";
    assert_eq!(pairs, expected);
}

#[test]
fn removes_copies_of_a_custom_kind_and_reports_them() {
    let folder = folder();
    let outputs = ["-o", "@kept.txt", "--groups", "@groups.jsonl", "--report", "@report.html"];
    let args = [&["dedup", "@numbers.txt"], &outputs[..], &NUMBERS].concat();
    assert_eq!(run(folder.path(), &args), ExitCode::SUCCESS);
    // A line that is not a number is kept unchanged.
    assert_eq!(read(folder.path(), "kept.txt"), "10\n500\nx\n14\n");
    assert_eq!(read(folder.path(), "groups.jsonl").lines().count(), 2);
    let report = read(folder.path(), "report.html");
    assert!(report.contains("at most 3 apart") && report.contains("501"));
}

#[test]
fn removes_items_that_match_another_file() {
    let folder = folder();
    let outputs = ["--against", "@others.txt", "-o", "@kept.txt"];
    let args = [&["dedup", "@numbers.txt"], &outputs[..], &NUMBERS].concat();
    assert_eq!(run(folder.path(), &args), ExitCode::SUCCESS);
    assert_eq!(read(folder.path(), "kept.txt"), "500\nx\n501\n");
}

#[test]
fn compares_two_items_and_rejects_wrong_options() {
    let folder = folder();
    let compare = |args: &[&str]| {
        run(folder.path(), &[&["compare", "--kind", "number", "-q"], args].concat())
    };
    assert_eq!(compare(&["10", "12"]), ExitCode::SUCCESS);
    assert_eq!(compare(&["10", "14"]), ExitCode::from(1));
    assert_eq!(compare(&["10", "14", "--distance", "4"]), ExitCode::SUCCESS);
    assert_eq!(compare(&["10", "14", "--distance", "101"]), ExitCode::from(2));
    assert_eq!(compare(&["10", "14", "--similarity", "0.5"]), ExitCode::from(2));
    assert_eq!(compare(&["10", "ten"]), ExitCode::from(2));
}

#[test]
fn searches_and_dedups_against_a_collection() {
    let folder = folder();
    let in_collection = |command: &str, args: &[&str]| {
        run(folder.path(), &[&["index", command, "@seen"], args].concat())
    };
    let numbers = ["--kind", "number", "--lines"];
    let add = [&["@numbers.txt", "-o", "@added.jsonl"], &numbers[..]].concat();
    assert_eq!(in_collection("add", &add), ExitCode::SUCCESS);
    let statuses = read(folder.path(), "added.jsonl");
    let count = |status: &str| statuses.matches(&format!("\"status\":\"{status}\"")).count();
    assert_eq!((count("added"), count("present")), (5, 1), "{statuses}");

    let search = ["@others.txt", "--lines", "-o", "@found.jsonl"];
    assert_eq!(in_collection("search", &search), ExitCode::SUCCESS);
    let found = read(folder.path(), "found.jsonl");
    let distance = |line: &str| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        line["distance"].as_u64()
    };
    assert_eq!(found.lines().filter_map(distance).collect::<Vec<_>>(), [1, 1, 3]);

    assert_eq!(in_collection("verify", &[]), ExitCode::SUCCESS);
    assert_eq!(in_collection("export", &["-o", "@export.jsonl"]), ExitCode::SUCCESS);
    assert_eq!(read(folder.path(), "export.jsonl").lines().count(), 5);

    let args = ["dedup", "@others.txt", "--against", "@seen", "-o", "@new.txt"];
    assert_eq!(run(folder.path(), &[&args[..], &NUMBERS].concat()), ExitCode::SUCCESS);
    assert_eq!(read(folder.path(), "new.txt"), "900\n");
}
