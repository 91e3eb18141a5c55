use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::{
    Digest, Pairs, Resources, Search, Width,
    alike::AlikePair,
    hamming::Kernel,
    hash::FeatureHash,
    kind::{Input, Parts, Reach},
    recipe::Weighting,
    search::{Compared, Recall, Stars},
};
use proptest::prelude::*;

fn recipe(features: &str, width: Width) -> Recipe {
    Recipe {
        features: features.parse().unwrap(),
        weights: Weighting::Log,
        width,
        ..Preset::ALL[0].recipe.clone()
    }
}

fn words() -> Recipe {
    recipe("words:1", Width::Bits128)
}

/// Texts of one kind, and when two of them are alike.
#[derive(Clone, Debug)]
struct Alike {
    kind: TextKind,
    by: Criteria,
}

impl Alike {
    /// Alike by their contents.
    fn similar(recipe: &Recipe, verify: Verify) -> Self {
        let kind = TextKind::new(recipe.clone(), Some(verify), Radius::new(0)).unwrap();
        let similarity = Some(verify.similarity);
        Self { kind, by: Criteria { similarity, ..Criteria::default() } }
    }

    /// Alike by their fingerprints.
    fn within(recipe: &Recipe, radius: u32) -> Self {
        let radius = Radius::new(radius);
        let kind = TextKind::new(recipe.clone(), None, radius).unwrap();
        Self { kind, by: Criteria { distance: Some(radius), ..Criteria::default() } }
    }

    fn reach(mut self, reach: Reach) -> Self {
        self.by.reach = reach;
        self
    }

    fn digest(&self, item: Input<'_>) -> Digest {
        self.kind.digester().digest(item).unwrap().0
    }

    fn digests<'a>(
        &self,
        items: impl IntoIterator<Item = Input<'a>>,
        resources: &Resources<'_>,
    ) -> Digests {
        let mut digests = Digests::new(self.kind.shape(), resources);
        let mut digester = self.kind.digester();
        items.into_iter().for_each(|item| digests.push(&digester.digest(item).unwrap().0).unwrap());
        digests.seal().unwrap();
        digests
    }

    fn search<'a>(&'a self, resources: &'a Resources<'a>) -> Search<'a> {
        Search::new(&self.kind, &self.by, resources)
    }

    fn stars(&self, digests: &Digests, order: &[u32], resources: &Resources<'_>) -> Stars {
        self.search(resources).stars(digests, order).unwrap()
    }

    /// What is found of two texts alone.
    fn compare(&self, one: &str, two: &str) -> Compared {
        let [one, two] = [one, two].map(|text| self.digest(Input::Text(text)));
        self.search(&Resources::new()).compare(&one, &two)
    }
}

fn verified(verify: Verify) -> Alike {
    Alike::similar(&words(), verify)
}

fn default() -> Alike {
    verified(Verify::DEFAULT)
}

fn collect<T: AsRef<str>>(search: &Alike, texts: &[T], resources: &Resources<'_>) -> Digests {
    let digests = search.digests(texts.iter().map(|text| Input::Text(text.as_ref())), resources);
    assert_eq!(digests.len() as usize, texts.len());
    digests
}

fn find_within<T: AsRef<str>>(search: &Alike, texts: &[T], resources: &Resources<'_>) -> Pairs {
    search.search(resources).pairs(&collect(search, texts, resources)).unwrap()
}

fn find<T: AsRef<str>>(search: &Alike, texts: &[T]) -> Pairs {
    find_within(search, texts, &Resources::new())
}

fn find_items<'a>(search: &Alike, items: impl Iterator<Item = Input<'a>>) -> Pairs {
    let resources = Resources::new();
    search.search(&resources).pairs(&search.digests(items, &resources)).unwrap()
}

/// A memory limit that nothing fits.
fn tiny() -> Resources<'static> {
    Resources::new().memory(64, std::env::temp_dir())
}

fn tokens(text: &str) -> Vec<u64> {
    let mut tokens = Vec::new();
    crate::extract::Unit::Words.token_hashes(text, &mut tokens);
    tokens
}

/// The words of a text, each with a weight of its own.
fn features(text: &str) -> Vec<(String, f64)> {
    text.split_whitespace().map(|word| (word.to_owned(), word.len() as f64)).collect()
}

/// The definition, word by word: two loops, and sets as sets. Nothing here is a filter.
fn naive(search: &Alike, texts: &[String]) -> Vec<AlikePair> {
    let mut pairs = Vec::new();
    for (one, a) in texts.iter().zip(0..) {
        for (two, b) in texts.iter().zip(0..).skip(a as usize + 1) {
            let closeness = alike(search, one, two);
            pairs.extend(closeness.map(|closeness| AlikePair { a, b, closeness }));
        }
    }
    pairs
}

fn alike(search: &Alike, one: &str, two: &str) -> Option<Closeness> {
    let (recipe, verify, radius) = (&search.kind.recipe, search.kind.verify, search.by.distance);
    let features = verify.map_or(recipe.features, |verify| verify.features);
    let size = features.size.get() as usize;
    let tokens = |text: &str| {
        let mut tokens = Vec::new();
        features.unit.token_hashes(text, &mut tokens);
        tokens
    };
    let few = |text: &str| {
        let tokens = tokens(text);
        let runs: Vec<&[u64]> = match tokens.len() < size {
            true => vec![&tokens[..]],
            false => tokens.windows(size).collect(),
        };
        let distinct = match verify {
            Some(_) => runs.iter().collect::<BTreeSet<_>>().len(),
            None => runs.len(),
        };
        distinct < 2
    };
    let words = |text: &str| -> Vec<String> {
        text.to_lowercase().split_whitespace().map(str::to_owned).collect()
    };
    if words(one).is_empty() || words(two).is_empty() {
        return None;
    }
    if few(one) || few(two) {
        return (words(one) == words(two)).then(|| match verify {
            Some(_) => Closeness::similar(0, 1.0),
            None => Closeness::within(0),
        });
    }
    let print = |text: &str| recipe.fingerprint(text).unwrap();
    let distance = print(one).distance(&print(two));
    let Some(verify) = verify else {
        return radius.unwrap().contains(distance).then_some(Closeness::within(distance));
    };
    // Words count twice, if they count beside runs of them.
    let set = |text: &str| -> BTreeMap<Vec<u64>, f64> {
        let tokens = tokens(text);
        let mut set: BTreeMap<Vec<u64>, f64> =
            tokens.windows(size).map(|run| (run.to_vec(), 1.0)).collect();
        if verify.measure == Measure::Mixed && size > 1 {
            set.extend(tokens.iter().map(|&token| (vec![token], 2.0)));
        }
        set
    };
    let (one, two) = (set(one), set(two));
    let weight = |set: &BTreeMap<_, f64>| set.values().sum::<f64>();
    let common: f64 = one
        .iter()
        .filter(|(feature, _)| two.contains_key(*feature))
        .map(|(_, weight)| weight)
        .sum();
    let of = match verify.measure {
        Measure::Containment => weight(&one).min(weight(&two)),
        _ => weight(&one) + weight(&two) - common,
    };
    let similarity = (common / of) as f32;
    let is_within = radius.is_none_or(|radius| radius.contains(distance));
    let is_enough = similarity >= search.by.similarity.unwrap().get();
    (is_within && is_enough).then(|| Closeness::similar(distance, similarity))
}

/// Texts of few different words: edits and cuts of some originals, copies, short and empty ones.
fn corpora() -> impl Strategy<Value = Vec<String>> {
    let original = prop::collection::vec(0..60u8, 1..60);
    let originals = prop::collection::vec(original, 1..5);
    let edit =
        (0..5usize, 0..60usize, 1..60usize, prop::collection::vec((0..60usize, 0..60u8), 0..8));
    (originals, prop::collection::vec(edit, 0..40)).prop_map(|(originals, edits)| {
        edits
            .into_iter()
            .map(|(original, start, length, changes)| {
                let mut words = originals[original % originals.len()].clone();
                for (place, word) in changes {
                    let place = place % words.len();
                    words[place] = word;
                }
                // Half of the texts are whole, some empty.
                let start = start.saturating_sub(30);
                let end = if length < 30 { words.len() } else { words.len().min(length) };
                let words = words.get(start..end).unwrap_or(&[]);
                words.iter().map(|word| format!("w{word} ")).collect()
            })
            .collect()
    })
}

fn searches() -> Vec<Alike> {
    let strict = Verify { similarity: Similarity::new(0.8).unwrap(), ..Verify::DEFAULT };
    let measures = Measure::ALL.map(|measure| Verify { measure, ..Verify::DEFAULT });
    let similar = measures.into_iter().chain([strict]).map(verified);
    let within = [8, 32, 64].map(|radius| Alike::within(&words(), radius));
    let mut both = default();
    both.by.distance = Some(Radius::new(20));
    let characters = Alike::within(&recipe("chars:3", Width::Bits128), 40);
    similar.chain(within).chain([both, characters]).collect()
}

fn pool(threads: usize) -> rayon::ThreadPool {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn exact_search_equals_its_definition(texts in corpora()) {
        for search in searches() {
            let expected = naive(&search, &texts);
            for reach in [Reach::Declared, Reach::Exact] {
                let found = find(&search.clone().reach(reach), &texts);
                prop_assert_eq!(found.found.recall, Recall::Exact);
                prop_assert_eq!(found.pairs.count().unwrap() as usize, expected.len());
                prop_assert_eq!(found.pairs.to_vec().unwrap(), expected.clone(), "{:?}", search.by);
            }
        }
    }

    #[test]
    fn comparing_two_texts_says_what_the_search_says(texts in corpora()) {
        for search in searches() {
            let pairs = find(&search, &texts).pairs.to_vec().unwrap();
            for (a, one) in (0..).zip(&texts) {
                for (b, two) in (0..).zip(&texts).skip(a as usize + 1) {
                    let compared = search.compare(one, two);
                    prop_assert_eq!(compared, search.compare(two, one));
                    let found = pairs.iter().find(|pair| (pair.a, pair.b) == (a, b));
                    let alike = compared.closeness.filter(|_| compared.alike);
                    prop_assert_eq!(found.map(|pair| pair.closeness), alike);
                }
            }
        }
    }

    #[test]
    fn stars_are_those_of_the_pairs_whatever_the_memory(texts in corpora(), seed: u64) {
        let mut order: Vec<u32> = (0..texts.len() as u32).collect();
        order.sort_by_key(|&item| (u64::from(item) + 1).wrapping_mul(seed | 1).rotate_left(31));
        for search in searches() {
            let pairs = find(&search, &texts).pairs;
            let expected = crate::groups::star(texts.len(), &order, &pairs).unwrap();
            for resources in [Resources::new(), tiny()] {
                let digests = collect(&search, &texts, &resources);
                let found = search.stars(&digests, &order, &resources);
                prop_assert_eq!(&found.groups, &expected, "{:?}", search.by);
            }
        }
    }

    #[test]
    fn own_texts_belong_to_the_first_of_the_others_they_are_alike(
        texts in corpora(), cut in 0..40usize,
    ) {
        let own = cut.min(texts.len());
        for search in searches() {
            let pairs = naive(&search, &texts);
            let first = |item: u32| {
                let partners = pairs.iter().filter(|pair| pair.a == item && pair.b as usize >= own);
                partners.min_by_key(|pair| pair.b)
            };
            let expected: BTreeMap<u32, (u32, Closeness)> = (0..own as u32)
                .filter_map(|item| Some((item, first(item)?)))
                .map(|(item, pair)| (item, (pair.b, pair.closeness)))
                .collect();
            for resources in [Resources::new(), tiny()] {
                let digests = collect(&search, &texts, &resources);
                let found = search.search(&resources).against(&digests, own).unwrap();
                let members = found.groups.iter().flat_map(|group| {
                    let of = |member: &crate::groups::Member| (member.item, (group.keep, member.closeness));
                    group.members.iter().map(of)
                });
                prop_assert_eq!(&members.collect::<BTreeMap<_, _>>(), &expected, "{:?}", search.by);
            }
        }
    }

    #[test]
    fn keys_find_true_pairs_only_and_all_that_share_most(texts in corpora()) {
        for search in searches() {
            let expected = naive(&search, &texts);
            let by_keys = search.clone().reach(Reach::Recall(0.99));
            let found = find(&by_keys, &texts).pairs.to_vec().unwrap();
            prop_assert!(found.iter().all(|pair| expected.contains(pair)));
            let sure = |pair: &&AlikePair| pair.closeness.similarity.is_none_or(|similarity| similarity > 0.75);
            for pair in expected.iter().filter(sure) {
                prop_assert!(found.contains(pair), "{pair:?}");
            }
        }
    }

    #[test]
    fn items_taken_apart_by_the_caller_are_found_as_the_texts_they_are_of(texts in corpora()) {
        let word_searches = searches().into_iter().filter(|search| search.kind.recipe == words());
        for search in word_searches {
            let print = |text: &String| words().fingerprint(text);
            let whole = |text| Input::Made(print(text), Parts::Text(text));
            let cut = |text| Input::Made(print(text), Parts::Tokens(tokens(text)));
            let expected = find(&search, &texts);
            prop_assert_eq!(&find_items(&search, texts.iter().map(whole)), &expected);
            prop_assert_eq!(&find_items(&search, texts.iter().map(cut)), &expected);
        }
    }

    #[test]
    fn features_hashed_by_the_caller_are_found_as_the_same_with_names(texts in corpora()) {
        let named: Vec<Vec<(String, f64)>> = texts.iter().map(|text| features(text)).collect();
        let hash = |(name, _): &(String, f64)| FeatureHash::Mix.hash(0, name.as_bytes());
        for search in searches() {
            let print = |item: &Vec<(String, f64)>| {
                let weighted = item.iter().map(|(name, weight)| (name.as_str(), *weight));
                search.kind.recipe.fingerprinter().features(weighted).unwrap()
            };
            let hashed = |item| Input::Made(print(item), Parts::Features(item.iter().map(hash).collect()));
            let expected = find_items(&search, named.iter().map(|item| Input::Features(item)));
            prop_assert_eq!(&find_items(&search, named.iter().map(hashed)), &expected);
        }
    }

    #[test]
    fn memory_kernels_and_threads_change_nothing(texts in corpora()) {
        for search in [default(), default().reach(Reach::Recall(0.9))] {
            let expected = find(&search, &texts);
            let found = find_within(&search, &texts, &tiny());
            prop_assert_eq!(&found.pairs, &expected.pairs);
            prop_assert_eq!(found.found.recall, expected.found.recall);
            prop_assert!(found.found.spilled > 0 || texts.iter().all(|text| text.len() < 80));
            for kernel in Kernel::available() {
                for threads in [1, 3] {
                    let resources = Resources::new().kernel(kernel);
                    let found = pool(threads).install(|| find_within(&search, &texts, &resources));
                    prop_assert_eq!(&found, &expected);
                }
            }
        }
    }
}

/// Texts of `length` words, drawn from many; those of a group share all but some.
fn made(groups: u32, each: u32, length: u32, own: u32) -> Vec<String> {
    let word = |seed: u64| {
        let mixed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        format!("w{} ", (mixed ^ mixed >> 29) % 50_000)
    };
    (0..groups * each)
        .map(|item| {
            let group = u64::from(item / each) << 32;
            let draw = |place: u32| match place {
                _ if place * own / length != (place + 1) * own / length => {
                    word(group ^ u64::from(item) << 20 ^ u64::from(place) ^ 1 << 60)
                }
                _ => word(group ^ u64::from(place)),
            };
            (0..length).map(draw).collect()
        })
        .collect()
}

#[test]
fn keys_find_what_they_promise() {
    let texts = made(300, 4, 120, 18);
    let exact = find(&default(), &texts);
    for recall in [0.5, 0.9, 0.99] {
        let keys = find(&default().reach(Reach::Recall(recall)), &texts);
        assert_eq!(keys.found.recall, Recall::Estimated(recall));
        let measured = keys.pairs.count().unwrap() as f64 / exact.pairs.count().unwrap() as f64;
        assert!(measured >= recall, "stated {recall}, measured {measured}");
    }
    assert!(exact.pairs.count().unwrap() > 1000, "{}", exact.pairs.count().unwrap());
}

#[test]
fn many_equal_texts_are_one_group_in_linear_time() {
    let texts = vec!["one two three four five six"; 300_000];
    let bare = Alike::within(&words(), 32);
    for search in [default(), bare, default().reach(Reach::Recall(0.9))] {
        let found = find(&search, &texts);
        assert!(found.pairs.near().next().is_none());
        let groups: Vec<_> = found.pairs.equal_groups().collect();
        assert_eq!((groups.len(), groups[0].len()), (1, texts.len()));
    }
}

#[test]
fn texts_of_one_template_are_compared_with_their_keeper_only() {
    // One text, each time with another number in the middle: every pair of them is alike.
    let items = 12_000;
    let texts: Vec<String> = (0..items)
        .map(|item| {
            format!("{} n{item} {}", "a b c d e f g h i j ".repeat(2), "k l m n o p q r s t ")
        })
        .collect();
    let order: Vec<u32> = (0..items as u32).collect();
    for reach in [Reach::Exact, Reach::Recall(0.99)] {
        let search = default().reach(reach);
        let resources = Resources::new();
        let digests = collect(&search, &texts, &resources);
        let found = search.stars(&digests, &order, &resources);
        assert!(found.found.judged < 2 * items, "{} of {items}", found.found.judged);
        assert_eq!((found.groups.len(), found.groups[0].members.len()), (1, items as usize - 1));
    }
}

#[test]
fn how_many_pairs_to_expect_is_told_within_a_tenth() {
    let resources = Resources::new();
    for groups in [40, 1500] {
        let mut texts = made(groups, 4, 60, 6);
        texts.extend(std::iter::repeat_n("words that nobody else has at all".to_owned(), 5));
        let search = default();
        let (search, texts) = (search.search(&resources), collect(&search, &texts, &resources));
        let expected = search.expected_pairs(&texts).unwrap().unwrap() as f64;
        let count = search.pairs(&texts).unwrap().pairs.count().unwrap() as f64;
        assert!((expected / count - 1.0).abs() < 0.1, "expected {expected}, there are {count}");
    }
    let bare = Alike::within(&words(), 8);
    let texts = collect(&bare, &["one two three"], &resources);
    assert_eq!(bare.search(&resources).expected_pairs(&texts).unwrap(), None);
}

#[test]
fn shuffled_words_are_as_similar_as_their_words_say() {
    let words: Vec<String> = (0..60).map(|word| format!("w{}", word * 7919 % 60)).collect();
    let backwards: Vec<String> = words.iter().rev().cloned().collect();
    let texts = [words.join(" "), backwards.join(" ")];
    let pairs = find(&default(), &texts).pairs.to_vec().unwrap();
    // Words alone: 120 of 120 + 59 + 59.
    assert_eq!(pairs[0].closeness.similarity, Some((120.0 / 238.0) as f32));
    let compared = default().compare(&texts[0], &texts[1]);
    assert_eq!(compared.closeness, Some(pairs[0].closeness));
}

#[test]
fn at_a_threshold_of_nothing_every_pair_is_listed() {
    let texts = ["one two three four", "five six seven eight", "short", "", "one two three five"];
    let everything = Verify { similarity: Similarity::new(0.0).unwrap(), ..Verify::DEFAULT };
    let search = verified(everything);
    let pairs = find(&search, &texts).pairs.to_vec().unwrap();
    let found: Vec<_> = pairs.iter().map(|pair| (pair.a, pair.b)).collect();
    assert_eq!(found, [(0, 1), (0, 2), (0, 4), (1, 2), (1, 4), (2, 4)]);
    // A blank text matches nothing, not even a short one.
    for text in texts {
        assert_eq!(search.compare("", text), Compared { closeness: None, alike: false });
    }
    for pair in pairs {
        let [a, b] = [pair.a, pair.b].map(|item| texts[item as usize]);
        let compared = search.compare(a, b);
        assert_eq!((compared.closeness, compared.alike), (Some(pair.closeness), true));
    }
}

#[test]
fn whoever_watches_can_stop_a_search() {
    let texts = made(50, 4, 60, 8);
    let watch = |_| std::ops::ControlFlow::Break(());
    let resources = Resources::new().watch(&watch);
    let order: Vec<u32> = (0..texts.len() as u32).collect();
    for search in [default(), Alike::within(&words(), 8)] {
        let texts = collect(&search, &texts, &resources);
        let search = search.search(&resources);
        assert!(matches!(search.pairs(&texts), Err(PairsError::Cancelled)));
        assert!(matches!(search.stars(&texts, &order), Err(PairsError::Cancelled)));
    }
}

#[test]
fn short_texts_match_their_equals_only_and_blank_ones_nothing() {
    let texts = [
        "Hello,\nworld",
        "",
        "hello, WORLD ",
        "...",
        "hello",
        "hello world you",
        "hello world you",
        " \n",
        "!!!",
        " ...\n",
        "",
        "hello world!",
        "C",
        "C++",
    ];
    let recipe = recipe("words:2", Width::Bits128);
    for search in [Alike::within(&recipe, 128), Alike::similar(&recipe, Verify::DEFAULT)] {
        let found = find(&search, &texts);
        assert_eq!((found.found.short, found.found.empty), (9, 3));
        let pairs: Vec<_> =
            found.pairs.to_vec().unwrap().iter().map(|pair| (pair.a, pair.b)).collect();
        assert_eq!(pairs, [(0, 2), (3, 9), (5, 6)]);
    }
}

#[test]
fn every_width_is_searched() {
    let texts = made(3, 3, 60, 2);
    for width in Width::ALL {
        let recipe = recipe("words:1", width);
        let within = Alike::within(&recipe, width.bits() / 4);
        for search in [within, Alike::similar(&recipe, Verify::DEFAULT)] {
            let found = find(&search, &texts);
            let groups =
                crate::groups::connected(9, &[0, 1, 2, 3, 4, 5, 6, 7, 8], &found.pairs).unwrap();
            assert_eq!(groups.len(), 3, "{width:?}");
        }
    }
}

#[test]
fn fingerprints_are_those_of_the_recipe() {
    let text = "The same text\u{3000}\u{ff34}\u{ff37}\u{ff29}\u{ff23}\u{ff25} is the same.";
    for preset in Preset::ALL.iter().filter(|preset| preset.recipe.check().is_ok()) {
        if preset.recipe.width == Width::Bits128 {
            let kind = TextKind::of(preset);
            let (digest, _) = kind.digester().digest(Input::Text(text)).unwrap();
            let print = digest.print();
            assert!(digest.key.is_none() && print.is_some());
            assert_eq!(print, preset.recipe.fingerprint(text), "{}", preset.recipe);
        }
    }
}

#[test]
fn renamed_code_is_alike_by_blind_tokens() {
    let blind = Verify {
        features: "blind:4".parse().unwrap(),
        measure: Measure::Jaccard,
        similarity: Level::Near.similarity(),
    };
    let code = |total: &str, item: &str| {
        format!(
            "fn sum({item}s: &[u32]) -> u32 {{ let mut {total} = 0; for {item} in {item}s {{ {total} += {item}; }} {total} }}"
        )
    };
    let search = Alike::similar(&recipe("blind:4", Width::Bits128), blind);
    let found = find(&search, &[code("total", "item"), code("acc", "x")]);
    assert_eq!(found.pairs.to_vec().unwrap()[0].closeness.similarity, Some(1.0));
}

#[test]
fn a_radius_wider_than_the_fingerprint_is_refused() {
    let search = Alike::within(&words(), 129);
    let resources = Resources::new();
    let texts = collect(&search, &["some words to look at", "some other words"], &resources);
    assert!(matches!(search.search(&resources).pairs(&texts), Err(PairsError::Radius { .. })));
}

#[test]
fn a_folder_that_cannot_be_written_is_said() {
    let resources = Resources::new().memory(8, "/nowhere/at/all");
    let digest = default().digest(Input::Text("some words to look at"));
    let mut digests = Digests::new(default().kind.shape(), &resources);
    let error = digests.push(&digest).unwrap_err();
    assert!(error.to_string().contains("/nowhere/at/all"), "{error}");
}

proptest! {
    #[test]
    fn keepers_by_fingerprints_alone_are_those_of_all_pairs(
        words in proptest::collection::vec(proptest::collection::vec(0u8..6, 0..7), 0..60),
        radius in 0u32..40,
        own in 0usize..60,
        seed in any::<u64>(),
    ) {
        let texts: Vec<String> = words
            .iter()
            .map(|words| words.iter().map(|word| format!("word{word} ")).collect())
            .collect();
        let recipe = &Preset::named("bare").unwrap().recipe;
        let (search, resources) = (Alike::within(recipe, radius), Resources::new());
        let collected = collect(&search, &texts, &resources);
        let search = search.search(&resources);
        let pairs = search.pairs(&collected).unwrap().pairs;
        let count = texts.len();
        let mut order: Vec<u32> = (0..count as u32).collect();
        order.sort_by_key(|&item| FeatureHash::Xxh3.hash(seed, &item.to_le_bytes()));
        let expected = crate::groups::star(count, &order, &pairs).unwrap();
        prop_assert_eq!(search.stars(&collected, &order).unwrap().groups, expected);
        let own = own.min(count);
        let order: Vec<u32> = (own as u32..count as u32).chain(0..own as u32).collect();
        let crossing = pairs.crossing(own).unwrap();
        let expected = crate::groups::star(count, &order, &crossing).unwrap();
        prop_assert_eq!(search.against(&collected, own).unwrap().groups, expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn another_similarity_has_the_answers_of_a_search_for_it(texts in corpora(), order in any::<u64>()) {
        let at = |similarity: f32| {
            let similarity = Similarity::new(similarity).unwrap();
            verified(Verify { similarity, ..Verify::DEFAULT })
        };
        let resources = Resources::new();
        let strict = at(0.9);
        let collected = collect(&strict, &texts, &resources);
        let mut items: Vec<u32> = (0..texts.len() as u32).collect();
        items.sort_by_key(|&item| FeatureHash::Xxh3.hash(order, &item.to_le_bytes()));
        for similarity in [0.6, 0.3] {
            let loose = at(similarity);
            let wider = Search::new(&strict.kind, &loose.by, &resources);
            let expected = collect(&loose, &texts, &resources);
            let search = loose.search(&resources);
            prop_assert_eq!(wider.pairs(&collected).unwrap(), search.pairs(&expected).unwrap());
            let found = wider.stars(&collected, &items).unwrap();
            prop_assert_eq!(found, search.stars(&expected, &items).unwrap());
        }
    }

    #[test]
    fn lost_words_are_those_of_removed_texts_that_no_kept_one_has(
        texts in corpora(),
        seed in any::<u64>(),
        memory in any::<bool>(),
    ) {
        let resources = if memory { tiny() } else { Resources::new() };
        let search = default();
        let collected = collect(&search, &texts, &resources);
        let is_removed = |item: u32| FeatureHash::Xxh3.hash(seed, &item.to_le_bytes()).is_multiple_of(3);
        // Texts with too few pairs of words are left out, as nothing is kept of them but their content.
        let words: Vec<BTreeSet<u64>> = texts
            .iter()
            .map(|text| tokens(text))
            .filter(|tokens| tokens.windows(2).collect::<BTreeSet<_>>().len() > 1)
            .map(BTreeSet::from_iter)
            .collect();
        let full: Vec<u32> = (0..)
            .zip(&texts)
            .filter(|(_, text)| tokens(text).windows(2).collect::<BTreeSet<_>>().len() > 1)
            .map(|(item, _)| item)
            .collect();
        let of = |removed: bool| {
            full.iter().zip(&words).filter(move |(item, _)| is_removed(**item) == removed)
        };
        let kept: BTreeSet<u64> = of(false).flat_map(|(_, words)| words).copied().collect();
        let all: Vec<u64> = of(true).flat_map(|(_, words)| words).copied().collect();
        let lost = all.iter().filter(|word| !kept.contains(word)).count() as u64;
        prop_assert_eq!(
            search.kind.lost_words(&collected, &is_removed).unwrap(),
            Some(LostWords { removed: all.len() as u64, lost })
        );
    }
}

#[test]
fn where_no_single_words_are_compared_none_are_lost() {
    let texts = ["one two three four", "five six seven eight"];
    let jaccard = Verify { measure: Measure::Jaccard, ..Verify::DEFAULT };
    for search in [verified(jaccard), Alike::within(&words(), 9)] {
        let texts = collect(&search, &texts, &Resources::new());
        assert_eq!(search.kind.lost_words(&texts, &|_| true).unwrap(), None);
    }
}
