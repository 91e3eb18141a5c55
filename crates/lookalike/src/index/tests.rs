//! Every index equals the oracle, whatever the data, plan, kernel and history.

use std::{fs, ops::ControlFlow, path::Path};

use proptest::{collection::vec, prelude::*};

use super::{
    IndexError, LinearIndex, Match, MutableIndex, Search, StaticIndex,
    choose::{Sample, Storage, candidates},
    plan::Plan,
};
use crate::{Fingerprint, Radius, hamming::Kernel};

/// What the fingerprints of a test look like.
#[derive(Clone, Copy, Debug)]
enum Data {
    Random,
    /// A few centres, everything near one of them.
    Clustered,
    AllEqual,
    /// Twelve bits vary, in different words.
    FewBitsVary,
    /// The lower half of one word: a 32-bit fingerprint.
    Narrow,
}

const DATA: [Data; 5] =
    [Data::Random, Data::Clustered, Data::AllEqual, Data::FewBitsVary, Data::Narrow];

/// A seeded generator (SplitMix64), so that a failure names all there is to know.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }

    fn print<const WORDS: usize>(&mut self) -> Fingerprint<WORDS> {
        Fingerprint(std::array::from_fn(|_| self.next()))
    }

    /// Flips up to `errors` bits.
    fn near<const WORDS: usize>(
        &mut self,
        print: &Fingerprint<WORDS>,
        errors: usize,
    ) -> Fingerprint<WORDS> {
        let mut near = *print;
        for _ in 0..self.below(errors + 1) {
            let bit = self.below(64 * WORDS);
            near.0[bit / 64] ^= 1 << (bit % 64);
        }
        near
    }

    fn prints<const WORDS: usize>(&mut self, data: Data, count: usize) -> Vec<Fingerprint<WORDS>> {
        let centres: Vec<Fingerprint<WORDS>> = (0..5).map(|_| self.print()).collect();
        let make = |_| match data {
            Data::Random => self.print(),
            Data::Clustered => {
                let centre = self.below(5);
                self.near(&centres[centre], 6 * WORDS)
            }
            Data::AllEqual => centres[0],
            Data::FewBitsVary => {
                let bits = self.next();
                Fingerprint(std::array::from_fn(|word| {
                    centres[0].0[word] ^ bits >> (12 * word) & 0x8421_0001
                }))
            }
            Data::Narrow => {
                let mut print = self.print::<WORDS>();
                print
                    .0
                    .iter_mut()
                    .enumerate()
                    .for_each(|(word, bits)| *bits &= if word == 0 { 0xffff_ffff } else { 0 });
                print
            }
        };
        (0..count).map(make).collect()
    }

    /// Some near an item, some anywhere.
    fn queries<const WORDS: usize>(
        &mut self,
        prints: &[Fingerprint<WORDS>],
        count: usize,
        radius: u32,
    ) -> Vec<Fingerprint<WORDS>> {
        let make = |turn: usize| match prints.len() {
            items if items > 0 && !turn.is_multiple_of(4) => {
                let item = self.below(items);
                self.near(&prints[item], radius as usize + 1)
            }
            _ => self.print(),
        };
        (0..count).map(make).collect()
    }
}

/// The definition: what a search must find, nearest first, then by id.
fn expected<const WORDS: usize>(
    items: impl Iterator<Item = (u32, Fingerprint<WORDS>)>,
    query: &Fingerprint<WORDS>,
    radius: Radius,
) -> Vec<Match> {
    let all = items.map(|(id, print)| Match { id, distance: print.distance(query) });
    let mut near: Vec<Match> = all.filter(|found| radius.contains(found.distance)).collect();
    near.sort_unstable_by_key(|found| (found.distance, found.id));
    near
}

/// Holds every way to ask an index against the definition.
fn assert_exact<const WORDS: usize>(
    index: &(impl Search<WORDS> + Sync),
    items: &[(u32, Fingerprint<WORDS>)],
    queries: &[Fingerprint<WORDS>],
    radius: Radius,
    context: &str,
) {
    let mut batch = vec![Vec::new(); queries.len()];
    let mut order = Vec::new();
    index
        .search_batch(queries, radius, |query, found| {
            batch[query].push(found);
            order.push((query, found));
        })
        .expect("a radius within the maximum");
    assert!(order.is_sorted_by_key(|(query, _)| query), "{context}: batches go query by query");
    let mut parallel = Vec::new();
    index
        .par_search_batch(queries, radius, |query, found| parallel.push((query, found)))
        .expect("a radius within the maximum");
    assert_eq!(order, parallel, "{context}: parallel");
    for (query, batch) in queries.iter().zip(batch) {
        let expected = expected(items.iter().copied(), query, radius);
        let mut one_by_one = Vec::new();
        index
            .search(query, radius, |found| one_by_one.push(found))
            .expect("a radius within the maximum");
        assert_eq!(batch, one_by_one, "{context}: batch and one by one");
        assert_eq!(
            index.matches(query, radius).expect("as before"),
            expected,
            "{context}: {query:?} within {radius}"
        );
        let first = index.first(query, radius).expect("as before");
        assert_eq!(first, batch.first().copied(), "{context}: first");
        assert_eq!(
            index.any(query, radius).expect("as before"),
            !expected.is_empty(),
            "{context}: any"
        );
    }
}

fn numbered<const WORDS: usize>(prints: &[Fingerprint<WORDS>]) -> Vec<(u32, Fingerprint<WORDS>)> {
    (0..).zip(prints.iter().copied()).collect()
}

/// Every shape of plan that could be chosen for these fingerprints, and none.
fn plans<const WORDS: usize>(prints: &[Fingerprint<WORDS>], radius: u32) -> Vec<Plan<WORDS>> {
    let sample = Sample::draw(prints.len(), |index| prints[index]);
    let directory_bits = vec![1, 4, 9];
    let storage = Storage { items: 1000, directory_bits, cells: true, slack: 1.0, most: 1e9 };
    let mut plans = candidates(&sample, &storage, radius);
    plans.push(Plan::scan());
    plans
}

/// Some radii of a search in an index for up to `max`: the smallest, the largest, one between.
fn radii(max: u32, seed: u64) -> Vec<Radius> {
    let mut radii = vec![0, Random(seed).below(max as usize + 1) as u32, max];
    radii.dedup();
    radii.into_iter().map(Radius::new).collect()
}

fn every_plan_is_exact<const WORDS: usize>(seed: u64, data: Data, max: u32) {
    let mut random = Random(seed);
    let prints = random.prints::<WORDS>(data, 150);
    let queries = random.queries(&prints, 6, max);
    let items = numbered(&prints);
    let mut plans = plans(&prints, max);
    // All of them for small radii, a different few for wide ones.
    while plans.len() > 24 {
        plans.swap_remove(random.below(plans.len()));
    }
    for plan in plans {
        for kernel in Kernel::available() {
            let context =
                format!("seed {seed}, {data:?}, {WORDS} words, {max} bits, {plan}, {kernel:?}");
            let index = StaticIndex::with_plan(plan.clone(), &prints, Radius::new(max), kernel)
                .expect("little memory");
            let mut mutable = MutableIndex::new(Radius::new(max)).with_kernel(kernel);
            for print in &prints {
                mutable.insert(*print).expect("little memory");
            }
            if !plan.tables.is_empty() {
                mutable.force_plan(plan.clone()).expect("little memory");
            }
            for radius in radii(max, seed) {
                assert_exact(&index, &items, &queries, radius, &context);
                assert_exact(&mutable, &items, &queries, radius, &context);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn every_plan_equals_the_definition(seed: u64, data in 0usize..5) {
        let data = DATA[data];
        for max in [0, 1, 2, 3, 6, 12, 40, 64] {
            every_plan_is_exact::<1>(seed, data, max);
        }
        for max in [3, 10, 33, 128] {
            every_plan_is_exact::<2>(seed, data, max);
        }
        for max in [3, 15, 31, 60, 256] {
            every_plan_is_exact::<4>(seed, data, max);
        }
    }

    #[test]
    fn the_plan_chosen_for_many_items_equals_the_definition(seed: u64, data in 0usize..5) {
        chosen_plan_is_exact::<1>(seed, DATA[data], 3);
        chosen_plan_is_exact::<1>(seed, DATA[data], 7);
        chosen_plan_is_exact::<2>(seed, DATA[data], 5);
        chosen_plan_is_exact::<4>(seed, DATA[data], 20);
    }
}

fn chosen_plan_is_exact<const WORDS: usize>(seed: u64, data: Data, max: u32) {
    let mut random = Random(seed);
    let count = 3000 + random.below(6000);
    let prints = random.prints::<WORDS>(data, count);
    let queries = random.queries(&prints, 30, max);
    let items = numbered(&prints);
    let index = StaticIndex::build(&prints, Radius::new(max)).expect("little memory");
    let mut mutable = MutableIndex::new(Radius::new(max));
    for (id, print) in &items {
        assert_eq!(mutable.insert(*print).expect("little memory"), *id);
    }
    let context =
        format!("seed {seed}, {data:?}, {WORDS} words: {} / {}", index.plan(), mutable.plan());
    for radius in radii(max, seed) {
        assert_exact(&LinearIndex::new(&prints), &items, &queries, radius, &context);
        assert_exact(&index, &items, &queries, radius, &context);
        assert_exact(&mutable, &items, &queries, radius, &context);
    }
}

#[test]
fn random_fingerprints_in_thousands_get_tables() {
    let prints = Random(1).prints::<1>(Data::Random, 20_000);
    let index = StaticIndex::build(&prints, Radius::new(3)).expect("little memory");
    assert!(index.plan().contains("tables"), "{}", index.plan());
    let mut mutable = MutableIndex::new(Radius::new(3));
    for print in &prints {
        mutable.insert(*print).expect("little memory");
    }
    assert!(mutable.plan().contains("tables"), "{}", mutable.plan());
}

#[test]
fn an_empty_index_finds_nothing() {
    let query = Fingerprint([7, 7]);
    let index = StaticIndex::build(&[], Radius::new(128)).expect("no memory at all");
    assert!(index.is_empty() && !index.any(&query, Radius::new(128)).expect("the maximum"));
    let index = MutableIndex::new(Radius::new(128));
    assert!(
        index.is_empty()
            && !index.contains(&query)
            && !index.any(&query, Radius::new(128)).expect("the maximum")
    );
}

#[test]
fn a_search_wider_than_the_index_is_an_error_with_both_radii() {
    let index = StaticIndex::build(&[Fingerprint([1])], Radius::new(3)).expect("little memory");
    let error = index.any(&Fingerprint([1]), Radius::new(4)).expect_err("too wide");
    assert!(matches!(error, IndexError::Radius { asked: 4, max: 3 }), "{error}");
    let error = MutableIndex::<1>::new(Radius::new(3))
        .any(&Fingerprint([1]), Radius::new(4))
        .expect_err("too wide");
    assert!(
        error.to_string().contains("within 4 bits") && error.to_string().contains("at most 3"),
        "{error}"
    );
}

#[test]
fn a_search_stops_on_break() {
    let prints = Random(2).prints::<1>(Data::AllEqual, 5000);
    let index = StaticIndex::build(&prints, Radius::new(3)).expect("little memory");
    let mut calls = 0;
    let stop = |_, _| {
        calls += 1;
        if calls == 7 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    index.search_while(&prints[..9], Radius::new(1), stop).expect("a small radius");
    assert_eq!(calls, 7);
}

/// The calls of a search that stops after `most` of them.
fn calls(
    index: &impl Search<1>,
    queries: &[Fingerprint<1>],
    radius: Radius,
    most: usize,
) -> Vec<(usize, Match)> {
    let mut calls = Vec::new();
    let until = |query, found| {
        calls.push((query, found));
        if calls.len() == most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    index.search_while(queries, radius, until).expect("a small radius");
    calls
}

#[test]
fn every_plan_reports_many_equal_items_in_the_order_of_queries_and_stops_on_break() {
    let mut random = Random(5);
    let mut prints = random.prints::<1>(Data::Clustered, 300);
    // More of them than are looked up at once, and than may wait if many queries match them.
    prints.extend(vec![prints[0]; 7000]);
    let queries: Vec<_> =
        (0..50).map(|number| random.near(&prints[number % 2 * number], 3)).collect();
    let radius = Radius::new(3);
    let expected = calls(&LinearIndex::new(&prints), &queries, radius, usize::MAX);
    let by_id = |found: &(usize, Match)| (found.0, found.1.id);
    for plan in plans(&prints, radius.bits()) {
        let context = plan.to_string();
        let index = StaticIndex::with_plan(plan, &prints, radius, Kernel::detect());
        let index = index.expect("little memory");
        let all = calls(&index, &queries, radius, usize::MAX);
        assert!(all.is_sorted_by_key(|found| found.0), "{context}");
        let mut sorted = all.clone();
        sorted.sort_unstable_by_key(by_id);
        assert!(sorted == expected, "{context}");
        for most in [1, 7, all.len() / 2] {
            assert!(calls(&index, &queries, radius, most) == all[..most], "{most} of {context}");
        }
    }
}

/// One thing that happens to an index.
#[derive(Clone, Debug)]
enum Step {
    Insert { near: Option<usize> },
    Remove(usize),
    Search,
    SaveAndLoad,
    Clear,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        30 => proptest::option::of(any::<usize>()).prop_map(|near| Step::Insert { near }),
        25 => any::<usize>().prop_map(Step::Remove),
        4 => Just(Step::Search),
        1 => Just(Step::SaveAndLoad),
        1 => (0..10).prop_map(|chance| if chance == 0 { Step::Clear } else { Step::Search }),
    ];
    vec(step, 0..150)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_history_leaves_what_a_plain_list_holds(
        seed: u64, data in 0usize..5, steps in steps(), many: bool, max in 0u32..6,
    ) {
        history::<1>(seed, DATA[data], &steps, if many { 3060 } else { 0 }, max);
        history::<4>(seed, DATA[data], &steps, if many { 1530 } else { 20 }, 4 * max);
    }
}

/// Plays a history on an index and on a list with one place per id.
fn history<const WORDS: usize>(seed: u64, data: Data, steps: &[Step], initial: usize, max: u32) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("items");
    let mut random = Random(seed);
    let mut index = MutableIndex::<WORDS>::new(Radius::new(max));
    let mut model: Vec<Option<Fingerprint<WORDS>>> = Vec::new();
    for print in random.prints(data, initial) {
        index.insert(print).expect("little memory");
        model.push(Some(print));
    }
    for step in steps {
        match step {
            Step::Insert { near } => {
                let known =
                    near.and_then(|near| model.get(near % model.len().max(1)).copied().flatten());
                let fresh = random.prints(data, 1)[0];
                let print = known.map_or(fresh, |known| random.near(&known, 1));
                let id = index.insert(print).expect("little memory");
                let free = model.iter().position(Option::is_none).unwrap_or(model.len());
                assert_eq!(id as usize, free, "seed {seed}: the lowest free id");
                if free == model.len() {
                    model.push(None);
                }
                model[free] = Some(print);
            }
            Step::Remove(which) => {
                let id = which % (model.len() + 2);
                let known = model.get_mut(id).and_then(Option::take);
                assert_eq!(index.remove(id as u32), known, "seed {seed}");
                assert_eq!(index.print(id as u32), None, "seed {seed}");
            }
            Step::Search => assert_same(&index, &model, &mut random, seed),
            Step::SaveAndLoad => {
                index.save(&path).expect("a writable folder");
                index = MutableIndex::load(&path).expect("what was just saved");
            }
            Step::Clear => {
                index.clear();
                model.clear();
            }
        }
    }
    assert_same(&index, &model, &mut random, seed);
}

fn assert_same<const WORDS: usize>(
    index: &MutableIndex<WORDS>,
    model: &[Option<Fingerprint<WORDS>>],
    random: &mut Random,
    seed: u64,
) {
    let items: Vec<(u32, Fingerprint<WORDS>)> =
        (0..).zip(model).filter_map(|(id, print)| Some((id, (*print)?))).collect();
    assert_eq!(index.iter().collect::<Vec<_>>(), items, "seed {seed}");
    assert_eq!(index.len(), items.len(), "seed {seed}");
    let prints: Vec<Fingerprint<WORDS>> = items.iter().map(|(_, print)| *print).collect();
    let max = index.max_radius().bits();
    let queries = random.queries(&prints, 4, max);
    for query in &queries {
        assert_eq!(index.contains(query), prints.contains(query), "seed {seed}");
    }
    for radius in radii(max, seed) {
        assert_exact(index, &items, &queries, radius, &format!("seed {seed}, {}", index.plan()));
    }
}

#[test]
fn many_equal_items_are_inserted_and_removed_in_linear_time() {
    let print = Fingerprint([0xabcd]);
    let count = 1_000_000;
    let mut index = MutableIndex::new(Radius::new(3));
    for id in 0..count {
        assert_eq!(index.insert(print).expect("some memory"), id);
    }
    let mut found = 0;
    index.search(&Fingerprint([0xabcc]), Radius::new(1), |_| found += 1).expect("a small radius");
    assert_eq!(found, count);
    for id in 0..count {
        assert_eq!(index.remove(id), Some(print));
    }
    assert!(!index.contains(&print));
}

#[test]
fn memory_stays_within_ninety_bytes_an_item_at_64_bits_and_radius_3() {
    let mut index = MutableIndex::new(Radius::new(3));
    let mut random = Random(3);
    for count in 1..=400_000u32 {
        index.insert(random.print::<1>()).expect("some memory");
        if count > 100_000 && count.is_multiple_of(10_000) {
            let each = index.memory_bytes() / count as usize;
            assert!(each <= 90, "{each} bytes per item at {count}");
        }
    }
}

/// A small index with tables, and queries that find something in it.
fn small_index(cells: bool) -> (StaticIndex<1>, Vec<Fingerprint<1>>) {
    let mut random = Random(4);
    let prints = random.prints::<1>(Data::Random, 40);
    let queries = random.queries(&prints, 30, 3);
    let plan = plans(&prints, 3)
        .into_iter()
        .find(|plan| plan.tables.len() == 6 && plan.tables.iter().all(|table| table.cells == cells))
        .expect("a plan of six tables");
    (
        StaticIndex::with_plan(plan, &prints, Radius::new(3), Kernel::detect())
            .expect("little memory"),
        queries,
    )
}

fn answers(index: &StaticIndex<1>, queries: &[Fingerprint<1>]) -> Vec<(usize, Match)> {
    let mut answers = Vec::new();
    index
        .search_batch(queries, Radius::new(3), |query, found| answers.push((query, found)))
        .expect("the maximum");
    answers
}

#[test]
fn an_index_opens_as_it_was_saved() {
    for cells in [false, true] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("small.index");
        let (index, queries) = small_index(cells);
        index.save(&path).expect("a writable folder");
        for opened in [StaticIndex::open(&path), StaticIndex::open_unverified(&path)] {
            let opened = opened.expect("what was just saved");
            assert_eq!(answers(&opened, &queries), answers(&index, &queries));
            assert_eq!((opened.len(), opened.max_radius()), (index.len(), index.max_radius()));
            assert_eq!(
                (opened.plan(), opened.memory_bytes()),
                (index.plan(), index.memory_bytes())
            );
            assert_eq!(opened.prints(), index.prints());
            opened.verify().expect("an undamaged file");
        }
        let again = folder.path().join("again.index");
        StaticIndex::<1>::open(&path).expect("as before").save(&again).expect("a writable folder");
        assert_eq!(fs::read(&path).expect("a file"), fs::read(&again).expect("a file"));
    }
}

#[test]
fn the_file_is_the_same_for_every_kernel_and_number_of_threads() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let prints = Random(5).prints::<2>(Data::Clustered, 20_000);
    let mut files = Vec::new();
    for threads in [1, 3] {
        for kernel in Kernel::available() {
            let path = folder.path().join(format!("{threads}{}", kernel.name()));
            let pool =
                rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
            let index = pool.install(|| StaticIndex::build_with(&prints, Radius::new(4), kernel));
            index.expect("little memory").save(&path).expect("a writable folder");
            files.push(fs::read(&path).expect("a file"));
        }
    }
    assert!(files.windows(2).all(|two| two[0] == two[1]));
}

#[test]
fn a_file_with_any_byte_changed_is_rejected_or_answers_the_same() {
    for cells in [false, true] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("small.index");
        let (index, queries) = small_index(cells);
        index.save(&path).expect("a writable folder");
        let right = answers(&index, &queries);
        let bytes = fs::read(&path).expect("a file");
        let mut rejected = 0;
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 0x55;
            fs::write(&path, &changed).expect("a writable file");
            match StaticIndex::open(&path) {
                Err(_) => rejected += 1,
                Ok(opened) => assert_eq!(answers(&opened, &queries), right, "byte {at}"),
            }
            // Unverified, answers may be fewer, but nothing breaks.
            if let Ok(opened) = StaticIndex::<1>::open_unverified(&path) {
                let wrong = answers(&opened, &queries);
                assert!(
                wrong
                    .iter()
                    .all(|(_, found)| found.distance <= 3 && (found.id as usize) < opened.len())
            );
            }
        }
        assert!(rejected * 10 > bytes.len() * 8, "{rejected} of {} changes rejected", bytes.len());
    }
}

#[test]
fn a_truncated_or_extended_file_is_rejected() {
    for cells in [false, true] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("small.index");
        small_index(cells).0.save(&path).expect("a writable folder");
        let bytes = fs::read(&path).expect("a file");
        for length in 0..bytes.len() {
            fs::write(&path, &bytes[..length]).expect("a writable file");
            assert!(
                StaticIndex::<1>::open_unverified(&path).is_err(),
                "{length} of {} bytes",
                bytes.len()
            );
        }
        fs::write(&path, [&bytes[..], b"!"].concat()).expect("a writable file");
        let error = StaticIndex::<1>::open_unverified(&path).err().expect("one byte too many");
        assert!(matches!(error, IndexError::Length { .. }), "{error}");
        for length in bytes.len() - 9..bytes.len() + 9 {
            let mut forged = bytes.clone();
            forged.resize(length, 0);
            sign_as_whole(&mut forged);
            fs::write(&path, &forged).expect("a writable file");
            let rejected = StaticIndex::<1>::open_unverified(&path).is_err();
            assert_eq!(rejected, length != bytes.len(), "{length} of {} bytes", bytes.len());
        }
    }
}

/// Makes the header of an index file say that all is as it should be.
fn sign_as_whole(bytes: &mut [u8]) {
    let length = bytes.len() as u64;
    bytes[32..40].copy_from_slice(&length.to_le_bytes());
    let sections = 32 * usize::from(bytes[40]);
    let checksum = xxhash_rust::xxh3::xxh3_64(&[&bytes[..56], &bytes[64..64 + sections]].concat());
    bytes[56..64].copy_from_slice(&checksum.to_le_bytes());
}

#[test]
fn a_mutable_file_with_any_byte_changed_or_missing_is_rejected_or_holds_the_same() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("small.index");
    let mut index = MutableIndex::new(Radius::new(3));
    for print in Random(6).prints::<2>(Data::Random, 20) {
        index.insert(print).expect("little memory");
    }
    index.remove(7);
    index.save(&path).expect("a writable folder");
    let bytes = fs::read(&path).expect("a file");
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 0x55;
        fs::write(&path, &changed).expect("a writable file");
        if let Ok(loaded) = MutableIndex::<2>::load(&path) {
            assert!(loaded.iter().eq(index.iter()), "byte {at}");
        }
        fs::write(&path, &bytes[..at]).expect("a writable file");
        assert!(MutableIndex::<2>::load(&path).is_err(), "{at} of {} bytes", bytes.len());
    }
}

#[test]
fn refusals_say_what_differs() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("x.idx");
    small_index(true).0.save(&path).expect("a writable folder");
    let bytes = fs::read(&path).expect("a file");
    let says = |bytes: &[u8], part: &str| {
        fs::write(&path, bytes).expect("a writable file");
        let error = StaticIndex::<1>::open(&path).err().expect("a bad file").to_string();
        assert!(error.contains("x.idx") && error.contains(part), "{error}");
    };
    says(b"PAR1 and more", "not a lookalike index (starts with \"PAR1\")");
    says(b"", "not a lookalike index (it is empty)");
    let changed = |at: usize, to: u8| {
        let mut changed = bytes.clone();
        changed[at] = to;
        changed
    };
    says(&changed(8, 7), "has format 7, this program reads format 1");
    says(&changed(24, 99), "checksum of the header differs");
    says(&changed(41, 99), "the list of sections reaches beyond the end");
    says(
        &changed(bytes.len() - 1, 99),
        "checksum of table 5 (ids) differs: the file is damaged; rebuild it from its source",
    );
    says(&bytes[..bytes.len() - 5], "the file is damaged");
    says(&bytes[..20], "has 20 bytes");
    fs::write(&path, &bytes).expect("a writable file");
    let error = StaticIndex::<2>::open(&path).err().expect("another width").to_string();
    assert!(error.contains("holds 64-bit fingerprints, not 128"), "{error}");
    let error = MutableIndex::<1>::load(&path).err().expect("another kind").to_string();
    assert!(error.contains("holds a static index, not a mutable one"), "{error}");
    let error =
        StaticIndex::<1>::open(folder.path().join("none")).err().expect("no file").to_string();
    assert!(error.contains("opening the index"), "{error}");
}

#[test]
fn saving_over_an_index_replaces_it_and_leaves_nothing_else() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("small.index");
    let (index, queries) = small_index(true);
    index.save(&path).expect("a writable folder");
    let opened = StaticIndex::<1>::open(&path).expect("what was just saved");
    StaticIndex::build(&[Fingerprint([1])], Radius::new(0))
        .expect("little memory")
        .save(&path)
        .expect("a writable folder");
    assert_eq!(
        answers(&opened, &queries),
        answers(&index, &queries),
        "an open index keeps its file"
    );
    assert_eq!(StaticIndex::<1>::open(&path).expect("what was just saved").len(), 1);
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1);
    let error = index.save(folder.path().join("missing/x.index")).expect_err("no such folder");
    assert!(matches!(error, IndexError::Io { .. }) && !Path::new("missing").exists(), "{error}");
}
