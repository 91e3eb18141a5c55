//! What a law may ask of a kind: an [`Adapter`], which runs the real binary on items in files.
//!
//! A kind says how its items are written, which arguments each command takes, and how two items are
//! compared. The commands themselves are run here, the same way for every kind.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use serde_json::Value;

use crate::run::{Folder, Ran};

/// What is run. The arguments of a kind differ from command to command.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Command {
    Compare,
    Pairs,
    Dedup,
    /// `dedup --against` a collection.
    DedupAgainst,
    Hash,
    Add,
    /// `index add --skip-near`.
    AddUnlessNear,
    Search,
}

#[derive(Clone, Debug)]
pub struct Item {
    pub id: String,
    pub content: Vec<u8>,
    /// Whether it is an item at all, or a record that must be skipped.
    pub readable: bool,
}

impl Item {
    pub fn new(id: impl Into<String>, content: impl Into<Vec<u8>>) -> Self {
        Self { id: id.into(), content: content.into(), readable: true }
    }

    pub fn unreadable(id: impl Into<String>, content: impl Into<Vec<u8>>) -> Self {
        Self { readable: false, ..Self::new(id, content) }
    }

    /// The content of a kind whose items are written as text.
    pub fn text(&self) -> &str {
        str::from_utf8(&self.content).unwrap()
    }
}

/// What a command says about two items; a figure that it does not mention is `None`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    pub distance: Option<Value>,
    pub similarity: Option<Value>,
    pub level: Option<Value>,
}

impl Figures {
    pub fn of(object: &Value) -> Self {
        let figure = |name: &str| object.get(name).cloned();
        Self {
            distance: figure("distance"),
            similarity: figure("similarity"),
            level: figure("level"),
        }
    }

    /// Whether all figures that both mention are equal.
    pub fn agree(&self, other: &Self) -> bool {
        // Similarities are single precision, whichever way they are printed.
        let single = |value: &Value| value.as_f64().map(|number| number as f32);
        let agree = |one: &Option<Value>, two: &Option<Value>| match (one, two) {
            (Some(one), Some(two)) => {
                one == two || single(one).is_some_and(|one| Some(one) == single(two))
            }
            _ => true,
        };
        agree(&self.distance, &other.distance)
            && agree(&self.similarity, &other.similarity)
            && agree(&self.level, &other.level)
    }

    pub fn are_complete(&self) -> bool {
        self.distance.is_some() && self.similarity.is_some() && self.level.is_some()
    }
}

/// The answer of `compare`; items without a fingerprint are not alike, and have no figures.
#[derive(Clone, Debug, PartialEq)]
pub struct Closeness {
    pub alike: bool,
    pub figures: Figures,
}

/// Two ids, the smaller first.
pub type Two = (String, String);

pub fn two(a: &str, b: &str) -> Two {
    let (a, b) = if a <= b { (a, b) } else { (b, a) };
    (a.to_owned(), b.to_owned())
}

pub type Pairs = BTreeMap<Two, Figures>;

/// What a run says it did: the line of JSON on standard error.
#[derive(Debug)]
pub struct Summary(Value);

impl Summary {
    fn of(ran: &Ran) -> Self {
        let last = ran.stderr.lines().last().unwrap_or_default();
        Self(serde_json::from_str(last).unwrap_or_else(|_| panic!("no summary: {}", ran.stderr)))
    }

    pub fn count(&self, name: &str) -> usize {
        self.0[name].as_u64().unwrap_or_else(|| panic!("no {name}: {}", self.0)) as usize
    }

    pub fn is_exact(&self) -> bool {
        self.0["exact"].as_bool().unwrap_or_else(|| panic!("neither exact nor not: {}", self.0))
    }

    pub fn states_recall(&self) -> bool {
        self.0["recall"].is_number()
    }
}

/// What `pairs` answers.
pub struct Listed {
    pub pairs: Pairs,
    /// Everything it writes.
    pub bytes: String,
    pub summary: Summary,
    /// How many records are listed as skipped.
    pub skipped: usize,
}

/// What `dedup` answers.
pub struct Deduped {
    pub pairs: Pairs,
    /// Each removed item with its keeper.
    pub removed: BTreeMap<String, (String, Figures)>,
    /// The same by `--groups`.
    pub grouped: BTreeMap<String, (String, Figures)>,
    pub kept: Kept,
    /// Everything it writes.
    pub bytes: String,
    pub summary: Summary,
    /// How many records are listed as skipped.
    pub skipped: usize,
}

/// What `dedup` keeps of the input.
#[derive(Debug)]
pub struct Kept {
    pub ids: BTreeSet<String>,
    /// Those without an id count, too.
    pub records: usize,
    pub bytes: String,
}

/// What `index search` answers.
pub struct Searched {
    /// Each match of a query with an item of the collection.
    pub matches: Pairs,
    /// Everything it writes.
    pub bytes: String,
}

/// What `index add` answers, and what is in the collection afterwards.
pub struct Stored {
    /// A summary for each batch.
    pub added: Vec<Summary>,
    pub ids: Vec<String>,
}

/// A bound on closeness: the arguments that ask for it, and whether figures are within it.
pub type Threshold = (&'static str, fn(&Figures) -> bool);

pub trait Adapter: Send + Sync {
    /// The arguments of a command besides its inputs, outputs and threshold.
    fn arguments(&self, command: Command) -> &'static str;

    /// The threshold that is asked for, if it is not the default one.
    fn threshold(&self) -> &'static str {
        ""
    }

    /// The smallest memory limit that is not refused, and a larger one.
    fn memory_limits(&self) -> [&'static str; 2] {
        ["1", "100K"]
    }

    /// A loose threshold and a strict one, to be held against each other.
    fn thresholds(&self) -> [Threshold; 2];

    /// Writes records in this order; returns the arguments that name the input. `ids`: whether the
    /// records say their ids.
    fn write(&self, folder: &Folder, name: &str, records: &[&Item], ids: bool) -> String;

    /// The id of an item, by the id that a command prints.
    fn id(&self, printed: &str) -> String {
        printed.to_owned()
    }

    /// What to call the file or folder of kept records.
    fn kept_name(&self) -> &'static str;

    fn kept(&self, folder: &Folder) -> Kept;

    /// Records that cannot be read.
    fn unreadable(&self) -> Vec<Item>;

    /// What `compare` says of each two items.
    fn compare(&self, pairs: &[(&Item, &Item)]) -> Vec<Closeness>;

    /// The digest of each item that has one, as `hash` prints it. `None`: items are their own digests.
    fn digest(
        &self,
        records: &[&Item],
        resources: &str,
    ) -> Option<(BTreeMap<String, Value>, Summary)> {
        let folder = Folder::new();
        let inputs = self.write(&folder, "items", records, true);
        let arguments = self.arguments(Command::Hash);
        let ran = succeed(&folder, &format!("hash {inputs} {arguments} {resources} --json"));
        let digest = |line: Value| (self.id(&word(&line["id"])), line["fingerprint"].clone());
        Some((lines(&ran.stdout).map(digest).collect(), Summary::of(&ran)))
    }

    fn pairs(&self, records: &[&Item], options: &str) -> Listed {
        self.pairs_within(self.threshold(), records, options)
    }

    fn pairs_within(&self, threshold: &str, records: &[&Item], options: &str) -> Listed {
        let folder = with_temp();
        let inputs = self.write(&folder, "items", records, true);
        let arguments = self.arguments(Command::Pairs);
        let ran = succeed(
            &folder,
            &format!(
                "pairs {inputs} {arguments} {threshold} {options} --json --skipped skipped.jsonl"
            ),
        );
        Listed {
            pairs: self.listed(&ran.stdout, ["a", "b"]),
            summary: Summary::of(&ran),
            bytes: ran.stdout,
            skipped: count_skipped(&folder),
        }
    }

    fn dedup(&self, records: &[&Item], options: &str) -> Deduped {
        let folder = with_temp();
        self.dedup_in(&folder, records, Command::Dedup, options)
            .unwrap_or_else(|why| panic!("{why}"))
    }

    /// `dedup --against` a file, or folder, of these.
    fn dedup_against(&self, records: &[&Item], others: &[&Item]) -> Deduped {
        let folder = with_temp();
        let others = self.write(&folder, "others", others, true);
        let against = format!("--against {}", file_or_folder(&others, "others"));
        self.dedup_in(&folder, records, Command::Dedup, &against)
            .unwrap_or_else(|why| panic!("{why}"))
    }

    /// `dedup --against` a collection of these; an error if that is refused.
    fn dedup_against_collection(
        &self,
        records: &[&Item],
        others: &[&Item],
    ) -> Result<Deduped, String> {
        let folder = with_temp();
        let others = self.write(&folder, "others", others, true);
        // In the same order as without a collection.
        self.add_inputs(&folder, file_or_folder(&others, "others"));
        self.dedup_in(&folder, records, Command::DedupAgainst, "--against collection")
    }

    /// Makes a collection of `stored` and searches it for `queries`.
    fn search(&self, stored: &[&Item], queries: &[&Item], resources: &str) -> Searched {
        let folder = Folder::new();
        self.add(&folder, "stored", stored, true);
        let inputs = self.write(&folder, "queries", queries, true);
        let arguments = self.arguments(Command::Search);
        let ran =
            succeed(&folder, &format!("index search collection {inputs} {arguments} {resources}"));
        Searched { matches: self.listed(&ran.stdout, ["query", "match"]), bytes: ran.stdout }
    }

    /// Adds batches to a collection, one after the other. `ids`: whether their records say their ids.
    fn store(&self, batches: &[&[&Item]], ids: bool) -> Stored {
        let folder = Folder::new();
        let numbered = batches.iter().enumerate();
        let added = numbered
            .map(|(number, batch)| self.add(&folder, &format!("batch{number}"), batch, ids))
            .collect();
        let ran = succeed(&folder, "index export collection");
        let ids = lines(&ran.stdout).map(|line| self.id(&word(&line["id"]))).collect();
        Stored { added, ids }
    }

    /// The status of each item that `index add --skip-near` answers, with the match of those that are
    /// near.
    fn add_unless_near(&self, records: &[&Item]) -> BTreeMap<String, (String, Option<String>)> {
        let folder = Folder::new();
        let inputs = self.write(&folder, "items", records, true);
        let arguments = self.arguments(Command::AddUnlessNear);
        let ran = succeed(&folder, &format!("index add collection {inputs} {arguments}"));
        let id = |value: &Value| self.id(&word(value));
        let status = |line: Value| {
            let near = (!line["match"].is_null()).then(|| id(&line["match"]));
            (id(&line["id"]), (word(&line["status"]), near))
        };
        lines(&ran.stdout).map(status).collect()
    }

    fn add(&self, folder: &Folder, name: &str, records: &[&Item], ids: bool) -> Summary {
        let inputs = self.write(folder, name, records, ids);
        self.add_inputs(folder, &inputs)
    }

    fn add_inputs(&self, folder: &Folder, inputs: &str) -> Summary {
        let arguments = self.arguments(Command::Add);
        Summary::of(&succeed(folder, &format!("index add collection {inputs} {arguments} --json")))
    }

    fn dedup_in(
        &self,
        folder: &Folder,
        records: &[&Item],
        command: Command,
        options: &str,
    ) -> Result<Deduped, String> {
        let inputs = self.write(folder, "items", records, true);
        let (arguments, threshold) = (self.arguments(command), self.threshold());
        let kept = self.kept_name();
        let ran = run(
            folder,
            &format!(
                "dedup {inputs} {arguments} {threshold} {options} --json --max-remove 1 -o {kept} \
                 --pairs pairs.jsonl --groups groups.jsonl --removed removed.jsonl \
                 --skipped skipped.jsonl"
            ),
        )?;
        let [pairs, groups, removed] =
            ["pairs", "groups", "removed"].map(|name| folder.read(&format!("{name}.jsonl")));
        let id = |value: &Value| self.id(&word(value));
        let removal = |line: Value| (id(&line["id"]), (id(&line["keep"]), Figures::of(&line)));
        let members = |group: Value| {
            let members = group["members"].as_array().unwrap().clone();
            let keeper = id(&group["keep"]);
            members.into_iter().map(move |member| {
                (self.id(&word(&member["id"])), (keeper.clone(), Figures::of(&member)))
            })
        };
        let kept = self.kept(folder);
        Ok(Deduped {
            pairs: self.listed(&pairs, ["a", "b"]),
            removed: lines(&removed).map(removal).collect(),
            grouped: lines(&groups).flat_map(members).collect(),
            bytes: [&pairs, &groups, &removed, &kept.bytes].map(String::as_str).concat(),
            kept,
            summary: Summary::of(&ran),
            skipped: count_skipped(folder),
        })
    }

    /// Pairs as a command lists them, each once.
    fn listed(&self, output: &str, names: [&str; 2]) -> Pairs {
        let mut pairs = Pairs::new();
        for line in lines(output) {
            let [a, b] = names.map(|name| self.id(&word(&line[name])));
            assert_ne!(a, b, "an item is paired with itself");
            let before = pairs.insert(two(&a, &b), Figures::of(&line));
            assert!(before.is_none(), "{a} and {b} are listed twice");
        }
        pairs
    }
}

fn with_temp() -> Folder {
    let folder = Folder::new();
    fs::create_dir(folder.path("temp")).unwrap();
    folder
}

/// What `compare` says of items that are written as text: all verdicts by one run, the figures of
/// alike ones by a run for each two.
pub fn compare_lines(adapter: &dyn Adapter, pairs: &[(&Item, &Item)]) -> Vec<Closeness> {
    let folder = Folder::new();
    let line = |(a, b): &(&Item, &Item)| format!("{}\t{}\n", a.text(), b.text());
    let (arguments, threshold) = (adapter.arguments(Command::Compare), adapter.threshold());
    let ran = folder.run_with(
        &format!("compare --stdin {arguments} {threshold}"),
        pairs.iter().map(line).collect::<String>(),
    );
    assert_eq!((ran.exit, ran.stdout.lines().count()), (0, pairs.len()), "{}", ran.stderr);
    let compare_two = |a: &Item, b: &Item| {
        let mut command = folder.command(&format!("compare --json {arguments} {threshold}"));
        command.args(["--", a.text(), b.text()]);
        closeness(&crate::run::run(command, b""))
    };
    let answer = |(line, (a, b)): (&str, &(&Item, &Item))| {
        let (distance, verdict) = line.split_once('\t').unwrap();
        let figures = Figures { distance: distance.parse().ok(), ..Figures::default() };
        let by_line = Closeness { alike: verdict == "alike", figures };
        if !by_line.alike {
            return by_line;
        }
        let closeness = compare_two(a, b);
        let agree = closeness.alike && closeness.figures.agree(&by_line.figures);
        assert!(agree, "{a:?}, {b:?}: {closeness:?}, --stdin: {by_line:?}");
        closeness
    };
    ran.stdout.lines().zip(pairs).map(answer).collect()
}

/// What `compare --json` says.
pub fn closeness(ran: &Ran) -> Closeness {
    assert!(ran.exit < 2, "{}", ran.stderr);
    let answer = lines(&ran.stdout).next().unwrap();
    Closeness { alike: answer["verdict"] == "alike", figures: Figures::of(&answer) }
}

/// Runs a command that must not fail.
fn succeed(folder: &Folder, arguments: &str) -> Ran {
    run(folder, arguments).unwrap_or_else(|why| panic!("{why}"))
}

/// Runs a command that may be refused, but not because it is misspelt.
fn run(folder: &Folder, arguments: &str) -> Result<Ran, String> {
    let ran = folder.run(arguments);
    assert!(!ran.stderr.contains("Usage:"), "lookalike {arguments}\n{}", ran.stderr);
    if ran.exit == 0 { Ok(ran) } else { Err(format!("lookalike {arguments}\n{}", ran.stderr)) }
}

pub fn lines(output: &str) -> impl Iterator<Item = Value> {
    output.lines().map(|line| serde_json::from_str(line).unwrap())
}

fn word(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn count_skipped(folder: &Folder) -> usize {
    let listed = folder.read("skipped.jsonl");
    lines(&listed).map(|line| line["items"].as_u64().unwrap() as usize).sum()
}

/// Several files are named by their folder.
fn file_or_folder<'a>(inputs: &'a str, folder: &'a str) -> &'a str {
    if inputs.trim().contains(' ') { folder } else { inputs }
}
