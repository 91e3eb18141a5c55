use super::*;
use crate::{AlikePair, FeatureHash, Level, Measure, Similarity, Weighting};
use digest::Digest;
use proptest::prelude::*;

fn recipe(features: &str, width: Width) -> Recipe {
    Recipe {
        features: features.parse().unwrap(),
        weights: Weighting::Log,
        width,
        ..crate::Preset::ALL[0].recipe.clone()
    }
}

fn words() -> Recipe {
    recipe("words:1", Width::Bits128)
}

fn default() -> TextSearch<'static> {
    TextSearch::new(&words(), Radius::new(32)).verify(Verify::DEFAULT)
}

fn find<T: AsRef<str> + Sync>(search: &TextSearch, texts: &[T]) -> TextPairs {
    let mut collector = search.collector();
    collector.push_all(texts).unwrap();
    assert_eq!(collector.len(), texts.len());
    collector.finish().unwrap()
}

fn find_items<'a>(search: &TextSearch, items: impl Iterator<Item = Item<'a>>) -> TextPairs {
    let mut collector = search.collector();
    collector.push_items(&items.collect::<Vec<_>>()).unwrap();
    collector.finish().unwrap()
}

fn tokens(text: &str) -> Vec<u64> {
    let mut tokens = Vec::new();
    crate::Unit::Words.token_hashes(text, &mut tokens);
    tokens
}

/// The words of a text, each with a weight of its own.
fn features(text: &str) -> Vec<(String, f64)> {
    text.split_whitespace().map(|word| (word.to_owned(), word.len() as f64)).collect()
}

/// The definition: each with each, test by test.
fn naive(search: &TextSearch, texts: &[String]) -> Vec<AlikePair> {
    let mut digester = Digester::<2>::new(search);
    let digests: Vec<Digest<2>> =
        texts.iter().map(|text| digester.digest(&Item::Text(text))).collect();
    let mut pairs = Vec::new();
    for (one, a) in digests.iter().zip(0..) {
        for (two, b) in digests.iter().zip(0..).skip(a as usize + 1) {
            if let Some((distance, similarity)) = alike(search, one, two) {
                pairs.push(AlikePair { a, b, distance, similarity });
            }
        }
    }
    pairs
}

fn alike(search: &TextSearch, one: &Digest<2>, two: &Digest<2>) -> Option<(u32, Option<f32>)> {
    match (one, two) {
        (Digest::Short(one), Digest::Short(two)) => {
            (one == two).then_some((0, search.verify.map(|_| 1.0)))
        }
        (Digest::Full(one), Digest::Full(two)) => {
            let distance = one.print.distance(&two.print);
            if !search.radius.contains(distance) {
                return None;
            }
            let Some(verify) = search.verify else { return Some((distance, None)) };
            if one.second.distance(&two.second) > verify.second_radius() {
                return None;
            }
            verify.alike(&one.set, &two.set).map(|similarity| (distance, Some(similarity)))
        }
        _ => None,
    }
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

fn searches() -> Vec<TextSearch<'static>> {
    let measures = Measure::ALL.map(|measure| Verify { measure, ..Verify::DEFAULT });
    let strict = Verify { similarity: Similarity::new(0.8).unwrap(), ..Verify::DEFAULT };
    let mut searches: Vec<_> = [8, 32, 64]
        .into_iter()
        .flat_map(|radius| {
            let search = TextSearch::new(&words(), Radius::new(radius));
            let verified = measures.into_iter().chain([strict]);
            let verified: Vec<_> = verified.map(|verify| search.clone().verify(verify)).collect();
            verified.into_iter().chain([search])
        })
        .collect();
    searches.push(TextSearch::new(&recipe("chars:3", Width::Bits128), Radius::new(40)));
    searches
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
            let exact = search.clone().candidates(Candidates::Exact);
            let found = find(&exact, &texts);
            prop_assert_eq!(found.how, How::Exact);
            prop_assert_eq!(found.pairs.count().unwrap() as usize, expected.len());
            prop_assert_eq!(found.pairs.to_vec().unwrap(), expected.clone(), "{:?}", search.verify);
            let cheapest = find(&search, &texts);
            prop_assert_eq!(cheapest.pairs.to_vec().unwrap(), expected);
        }
    }

    #[test]
    fn keys_find_true_pairs_only_and_all_that_share_most(texts in corpora()) {
        for search in searches() {
            let expected = naive(&search, &texts);
            let found = find(&search.clone().candidates(Candidates::Keys), &texts).pairs.to_vec().unwrap();
            prop_assert!(found.iter().all(|pair| expected.contains(pair)));
            let sure = |pair: &&AlikePair| pair.similarity.is_none_or(|similarity| similarity > 0.75);
            for pair in expected.iter().filter(sure) {
                prop_assert!(found.contains(pair), "{pair:?}");
            }
        }
    }

    #[test]
    fn items_taken_apart_by_the_caller_are_found_as_the_texts_they_are_of(texts in corpora()) {
        let word_searches = searches().into_iter().filter(|search| search.recipe == words());
        for search in word_searches {
            let print = |text: &String| words().fingerprint_any(text);
            let whole = |text| Item::Made(print(text), Parts::Text(text));
            let cut = |text| Item::Made(print(text), Parts::Tokens(tokens(text)));
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
                let weighted = item.iter().map(|(name, weight)| (name, *weight));
                search.recipe.fingerprint_any_of_features(weighted).unwrap()
            };
            let hashed = |item| Item::Made(print(item), Parts::Features(item.iter().map(hash).collect()));
            let expected = find_items(&search, named.iter().map(|item| Item::Features(item)));
            prop_assert_eq!(&find_items(&search, named.iter().map(hashed)), &expected);
        }
    }

    #[test]
    fn memory_batches_kernels_and_threads_change_nothing(texts in corpora(), cut in 0..40usize) {
        for search in [default(), default().candidates(Candidates::Keys)] {
            let expected = find(&search, &texts);
            let spilled = search.clone().memory(64);
            let mut collector = spilled.collector();
            let cut = cut.min(texts.len());
            collector.push_all(&texts[..cut]).unwrap();
            collector.push_all(&texts[cut..]).unwrap();
            let found = collector.finish().unwrap();
            prop_assert_eq!(&found.pairs, &expected.pairs);
            prop_assert_eq!(found.how, expected.how);
            prop_assert!(found.spilled > 0 || texts.iter().all(|text| text.len() < 80));
            for kernel in Kernel::available() {
                for threads in [1, 3] {
                    let search = search.clone().kernel(kernel);
                    let found = pool(threads).install(|| find(&search, &texts));
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
    let exact = find(&default().candidates(Candidates::Exact), &texts);
    let keys = find(&default().candidates(Candidates::Keys), &texts);
    let How::Recall(expected) = keys.how else { panic!("{:?}", keys.how) };
    let measured = keys.pairs.count().unwrap() as f64 / exact.pairs.count().unwrap() as f64;
    assert!(exact.pairs.count().unwrap() > 1000, "{}", exact.pairs.count().unwrap());
    assert!((measured - expected).abs() < 0.02, "expected {expected}, measured {measured}");
}

#[test]
fn many_equal_texts_are_one_group_in_linear_time() {
    let texts = vec!["one two three four five six"; 300_000];
    for search in [default(), default().verify(None), default().candidates(Candidates::Keys)] {
        let found = find(&search, &texts);
        assert!(found.pairs.near().next().is_none());
        let groups: Vec<_> = found.pairs.equal_groups().collect();
        assert_eq!((groups.len(), groups[0].len()), (1, texts.len()));
    }
}

#[test]
fn a_crowd_of_near_copies_does_not_make_keys_quadratic() {
    // One text, each time with another number in the middle: every pair of them is alike.
    let items = 12_000;
    let texts: Vec<String> = (0..items)
        .map(|item| {
            format!("{} n{item} {}", "a b c d e f g h i j ".repeat(2), "k l m n o p q r s t ")
        })
        .collect();
    let found = find(&default().candidates(Candidates::Keys), &texts);
    assert!(found.verified < 1000 * items, "{} of {items} x {items}", found.verified);
    assert!(u64::from(found.crowded) > items / 2, "{}", found.crowded);
    let order: Vec<u32> = (0..items as u32).collect();
    let groups = crate::groups::star(texts.len(), &order, &found.pairs).unwrap();
    let gone: usize = groups.iter().map(|group| group.members.len()).sum();
    assert!(gone > 99 * texts.len() / 100, "{gone} in {} groups", groups.len());
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
    for verify in [None, Some(Verify::DEFAULT)] {
        let search = TextSearch::new(&recipe("words:2", Width::Bits128), Radius::new(128));
        let found = find(&search.verify(verify), &texts);
        assert_eq!((found.short, found.empty), (9, 3));
        let pairs: Vec<_> =
            found.pairs.to_vec().unwrap().iter().map(|pair| (pair.a, pair.b)).collect();
        assert_eq!(pairs, [(0, 2), (3, 9), (5, 6)]);
    }
}

#[test]
fn every_width_is_searched() {
    let texts = made(3, 3, 60, 2);
    for width in Width::ALL {
        let radius = Radius::new(width.bits() / 4);
        for verify in [None, Some(Verify::DEFAULT)] {
            let search = TextSearch::new(&recipe("words:1", width), radius).verify(verify);
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
    for preset in crate::Preset::ALL.iter().filter(|preset| preset.recipe.check().is_ok()) {
        if preset.recipe.width == Width::Bits128 {
            let search = TextSearch::new(&preset.recipe, preset.radius).verify(preset.verify);
            let Digest::Full(full) = Digester::<2>::new(&search).digest(&Item::Text(text)) else {
                panic!()
            };
            assert_eq!(Some(full.print), preset.recipe.fingerprint(text), "{}", preset.recipe);
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
    let search = TextSearch::new(&recipe("blind:4", Width::Bits128), Radius::new(40)).verify(blind);
    let found = find(&search, &[code("total", "item"), code("acc", "x")]);
    assert_eq!(found.pairs.to_vec().unwrap()[0].similarity, Some(1.0));
}

#[test]
fn a_radius_wider_than_the_fingerprint_is_refused() {
    let search = TextSearch::new(&words(), Radius::new(129)).verify(Verify::DEFAULT);
    let mut collector = search.collector();
    collector.push_all(&["some words to look at", "some other words"]).unwrap();
    assert!(matches!(collector.finish(), Err(PairsError::Radius { .. })));
}

#[test]
fn a_folder_that_cannot_be_written_is_said() {
    let search = default().memory(8).spill_folder("/nowhere/at/all");
    let mut collector = search.collector();
    let error = collector.push_all(&["some words to look at"]).unwrap_err();
    assert!(error.to_string().contains("/nowhere/at/all"), "{error}");
}
