//! The library that other programs run the command line by.

use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::Arc,
};

use arrow_array::{ArrayRef, RecordBatch, StringArray, UInt64Array};
use lookalike::{
    Fingerprint,
    kind::{Input, Parts},
};
use lookalike_jobs::{
    ArgumentError, CallerOptions, DedupResult, Host, Id, RawText, message, options::OptionValue,
};

use crate::run::Folder;

const NINE: &str = "The ferry to the island leaves at nine in the morning from the north end";
const TEN: &str = "The ferry to the island leaves at ten in the morning from the north end";
const OTHER: &str = "Boil the potatoes in their skins, let them cool, and slice them thin";

/// An input, and options as `name=value` or `name`.
fn args<'a>(args: &[&'a str]) -> Vec<&'a str> {
    args.to_vec()
}

fn dedup(args: Vec<&str>, given: CallerOptions<'_>) -> anyhow::Result<DedupResult> {
    let options = args[1..].iter().map(|option| match option.split_once('=') {
        Some((name, value)) => (name.to_owned(), OptionValue::Text(value.into())),
        None => ((*option).to_owned(), OptionValue::Switch(true)),
    });
    lookalike_jobs::dedup(vec![args[0].into()], options, given, &Host::silent())
}

fn rows(columns: Vec<(&str, ArrayRef)>) -> Option<Vec<RecordBatch>> {
    Some(vec![RecordBatch::try_from_iter(columns).unwrap()])
}

fn texts(texts: &[Option<&str>]) -> Option<Vec<RecordBatch>> {
    rows(vec![("text", Arc::new(StringArray::from(texts.to_vec())))])
}

/// Who goes, for whom.
fn removed(answer: &DedupResult) -> Vec<(Id, Id)> {
    let members = answer.groups.iter().flat_map(|group| &group.members);
    members.map(|member| (answer.id(member.item), answer.id(member.alike))).collect()
}

#[test]
fn rows_in_memory_are_answered_as_the_same_rows_in_a_file() {
    let lines: String =
        [NINE, OTHER, TEN].map(|text| format!("{{\"text\":\"{text}\"}}\n")).concat();
    let folder = Folder::with("rows.jsonl", lines);
    let file = folder.path("rows.jsonl");
    let in_file =
        dedup(args(&[file.to_str().unwrap(), "quiet", "keep=last"]), CallerOptions::default())
            .unwrap();
    let given = CallerOptions {
        rows: texts(&[Some(NINE), Some(OTHER), Some(TEN)]),
        ..CallerOptions::default()
    };
    let in_memory = dedup(args(&["rows", "quiet", "keep=last"]), given).unwrap();
    assert_eq!(in_memory.groups, in_file.groups);
    let pairs = |answer: &DedupResult| answer.pairs(&|| {}).unwrap().into_owned();
    assert_eq!(pairs(&in_memory), pairs(&in_file));
    assert_eq!(removed(&in_memory), [(Id::Row(1), Id::Row(3))]);
    assert_eq!(in_memory.kept().collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn rows_that_are_no_items_are_skipped_and_the_others_keep_their_numbers() {
    let given = CallerOptions {
        rows: texts(&[None, Some(NINE), None, Some(TEN)]),
        ..CallerOptions::default()
    };
    let answer = dedup(args(&["rows", "quiet"]), given).unwrap();
    assert_eq!((answer.items, answer.rows.as_slice()), (2, &[1, 3][..]));
    assert_eq!(removed(&answer), [(Id::Row(4), Id::Row(2))]);
    assert_eq!(answer.skipped.len(), 2, "{:?}", answer.skipped);
}

#[test]
fn rows_in_memory_have_ids_keys_and_a_page() {
    let folder = Folder::new();
    let page = folder.path("page.html");
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("text", Arc::new(StringArray::from(vec![NINE, TEN]))),
        ("id", Arc::new(StringArray::from(vec!["nine", "ten"]))),
        ("score", Arc::new(UInt64Array::from(vec![1, 2]))),
    ];
    let report = format!("report={}", page.display());
    let given = CallerOptions { rows: rows(columns), ..CallerOptions::default() };
    let answer = dedup(args(&["rows", "quiet", "keep=score:desc", &report]), given).unwrap();
    assert_eq!(removed(&answer), [(Id::Text("nine".into()), Id::Text("ten".into()))]);
    let page = folder.read("page.html");
    assert!(page.contains(NINE) && page.contains(TEN), "the page shows both texts");
}

#[test]
fn rows_are_held_against_others() {
    let given = CallerOptions {
        rows: texts(&[Some(OTHER), Some(NINE)]),
        against: texts(&[Some(TEN)]),
        ..CallerOptions::default()
    };
    let answer = dedup(args(&["rows", "quiet", "against=others"]), given).unwrap();
    assert_eq!(removed(&answer), [(Id::Row(2), Id::Row(1))]);
    assert_eq!(answer.kept().collect::<Vec<_>>(), [0]);
}

#[test]
fn a_program_makes_items_of_texts_itself() {
    fn first_word(unmade: RawText<'_>) -> Input<'_> {
        let word = unmade.text.split(' ').next().unwrap().len() as u64;
        let hashes = [word, word + 1].map(|hash| hash.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        Input::Made(Some(Fingerprint([word, 0, 0, 0])), Parts::Features(hashes.to_vec()))
    }
    let given = CallerOptions {
        rows: texts(&[None, Some(OTHER), Some(NINE)]),
        against: texts(&[Some("Four words of something")]),
        custom_digester: Some(&|unmade| Ok(first_word(unmade))),
        ..CallerOptions::default()
    };
    let answer = dedup(args(&["rows", "quiet", "against=others"]), given).unwrap();
    assert_eq!(removed(&answer), [(Id::Row(2), Id::Row(1))]);

    fn refuse(unmade: RawText<'_>) -> anyhow::Result<Input<'_>> {
        anyhow::bail!("{} {} {}", unmade.name, unmade.row, unmade.is_other)
    }
    let given = CallerOptions {
        rows: texts(&[None, Some(NINE)]),
        custom_digester: Some(&refuse),
        ..CallerOptions::default()
    };
    let error = dedup(args(&["rows", "quiet"]), given).err().unwrap();
    assert_eq!(message(&error), "rows:2 1 false");
}

#[test]
fn a_caller_stops_the_run_by_unwinding() {
    let stop = || resume_unwind(Box::new("enough"));
    let given = CallerOptions {
        rows: texts(&[Some(NINE)]),
        on_progress: &stop,
        ..CallerOptions::default()
    };
    let run = AssertUnwindSafe(|| dedup(args(&["rows", "quiet"]), given).map(|_| ()));
    assert_eq!(catch_unwind(run).unwrap_err().downcast_ref(), Some(&"enough"));
}

#[test]
fn messages_are_those_of_the_command_line() {
    let refused = |given: &[&str]| dedup(args(given), CallerOptions::default()).err().unwrap();
    assert_eq!(
        message(&refused(&["rows", "recipe=wrods"])),
        "--recipe wrods: there is no recipe \"wrods\"; did you mean words?"
    );
    assert!(refused(&["rows", "threads=-2"]).is::<ArgumentError>());
    assert_eq!(
        message(&refused(&["rows", "threads=-2"])),
        "invalid value '-2' for '--threads <N>': write a number of threads, such as 4"
    );
    assert_eq!(message(&refused(&["no-such-file"])), "no-such-file: no such file; check the name");
}
