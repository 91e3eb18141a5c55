use super::*;
use crate::extract::Unit;
use crate::extract::text::shingle_hashes;
use crate::vectors::{self, hex};
use proptest::prelude::*;

fn words() -> Recipe {
    Preset::named("words").unwrap().recipe.clone()
}

#[test]
fn golden_fingerprints_are_reproduced() {
    for line in vectors::read("simhash.tsv") {
        let [features, weights, hash, seed, bits, text, print] = line.as_slice() else {
            panic!("{line:?}")
        };
        let recipe = Recipe {
            name: "golden".into(),
            features: features.parse().unwrap(),
            weights: weights.parse().unwrap(),
            hash: hash.parse().unwrap(),
            seed: hex(seed),
            width: Width::from_bits(bits.parse().unwrap()).unwrap(),
            ..words()
        };
        let found = recipe.fingerprint_any(text).map(|print| print.to_hex(recipe.width));
        assert_eq!(found.as_deref().unwrap_or("-"), print, "{recipe} of {text}");
    }
}

/// The texts of presets.tsv, one for each line: some are made of many repeats.
fn golden_texts(lines: &[Vec<String>]) -> Vec<String> {
    let repeated = |line: &Vec<String>| -> String {
        let text: String = serde_json::from_str(&line[2]).unwrap();
        let times: usize = line[1].parse().unwrap();
        (0..times).map(|number| text.replace("{}", &number.to_string())).collect()
    };
    lines.iter().map(repeated).collect()
}

#[test]
fn every_preset_gives_its_golden_fingerprints() {
    let lines = vectors::read("presets.tsv");
    let texts = golden_texts(&lines);
    for preset in Preset::ALL {
        let of_preset: Vec<_> =
            (0..lines.len()).filter(|&i| lines[i][0] == preset.recipe.name).collect();
        assert!(!of_preset.is_empty(), "no golden fingerprints for {}", preset.recipe.name);
        let mut recipe = preset.recipe.clone();
        if recipe.weights == Weighting::TfIdf {
            let mut learner = crate::Learner::new(&recipe);
            of_preset.iter().for_each(|&i| learner.add(&texts[i]));
            recipe.model = Some(Arc::new(learner.finish()));
        }
        for i in of_preset {
            let found = recipe.fingerprint_any(&texts[i]).map(|print| print.to_hex(recipe.width));
            assert_eq!(found.as_deref().unwrap_or("-"), lines[i][3], "{recipe} of {}", lines[i][2]);
        }
    }
}

#[test]
fn stop_words_are_left_out_before_neighbours_are_looked_at() {
    let plain = Recipe { features: "words:2".parse().unwrap(), ..words() };
    let without = Recipe { stop_words: "en".parse().unwrap(), ..plain.clone() };
    for hash in FeatureHash::ALL {
        let of = |recipe: &Recipe, text| Recipe { hash, ..recipe.clone() }.fingerprint::<2>(text);
        assert_eq!(of(&without, "the roof of the barn"), of(&plain, "roof barn"), "{hash}");
        assert_eq!(of(&without, "it is what it is"), None);
    }
}

#[test]
fn only_the_heaviest_features_count() {
    let top = Recipe { top: NonZeroU32::new(2), ..words() };
    assert_eq!(top.fingerprint::<2>("a a a b b c"), words().fingerprint("a b a b a"));
    let given = |recipe: &Recipe, features: &[(&str, f64)]| {
        recipe.fingerprint_of_features::<2>(features.iter().copied()).unwrap()
    };
    assert_eq!(
        given(&top, &[("a", 1.0), ("b", 3.0), ("c", 2.0)]),
        given(&words(), &[("c", 2.0), ("b", 3.0)])
    );
}

#[test]
fn given_features_are_tokens_with_weights() {
    let recipe = Recipe { weights: Weighting::Tf, ..words() };
    let given = [("be", 2.0), ("to", 2.0), ("or", 1.0), ("not", 1.0)];
    assert_eq!(
        recipe.fingerprint_of_features::<2>(given).unwrap(),
        recipe.fingerprint("to be or not to be")
    );
    assert_eq!(recipe.fingerprint_of_features::<2>([("a", 0.0)]).unwrap(), None);
    assert_eq!(recipe.fingerprint_of_features::<2>([(b"", 0.0); 0]).unwrap(), None);
}

#[test]
fn rare_words_count_more() {
    let recipe = Recipe { weights: Weighting::TfIdf, ..words() };
    assert_eq!(
        recipe.check().unwrap_err().to_string(),
        "words weighs by how rare words are elsewhere (tfidf) and needs a corpus model"
    );
    let mut learner = crate::Learner::new(&recipe);
    ["the cat", "the dog", "the end"].into_iter().for_each(|text| learner.add(text));
    let recipe = Recipe { model: Some(Arc::new(learner.finish())), ..recipe };
    recipe.check().unwrap();
    // `the` is in every text and says nothing; the others are equally rare.
    assert_eq!(recipe.fingerprint::<2>("the cat the end"), words().fingerprint("cat end"));
    let other = Recipe { features: "words:2".parse().unwrap(), ..recipe };
    assert_eq!(
        other.check().unwrap_err().to_string(),
        "the corpus model is of \"words:1, mix\", but the recipe has \"words:2, mix\""
    );
}

#[test]
fn unknown_names_get_the_nearest_valid_one() {
    let error = Preset::named("simhash").unwrap_err();
    assert_eq!(error.to_string(), "there is no recipe \"simhash\"; did you mean simhash64?");
    let error = "logs".parse::<Weighting>().unwrap_err();
    assert_eq!(error.to_string(), "there are no weights \"logs\"; did you mean log?");
}

#[test]
#[should_panic(expected = "a fingerprint of 128 bits in 1 words")]
fn a_fingerprint_of_another_width_is_refused() {
    words().fingerprint::<1>("some words");
}

/// What [`Recipe::fingerprint`] should say, from the bytes of tokens and a sorted list.
fn defined(recipe: &Recipe, text: &str) -> Option<Fingerprint<4>> {
    let mut tokens = Vec::new();
    recipe.features.unit.tokens(text, |token| tokens.push(mix(token)));
    let mut hashes = Vec::new();
    shingle_hashes(&tokens, recipe.features.size.get() as usize, |hash| {
        hashes.push(seeded(hash, recipe.seed));
    });
    hashes.sort_unstable();
    let mut features = Features::new();
    for equal in hashes.chunk_by(|a, b| a == b) {
        let weight = recipe.weights.weight(equal.len() as u32, || 256);
        features.push(crate::Feature::weighted(equal[0], weight));
    }
    crate::simhash::naive(&features)
}

proptest! {
    #[test]
    fn the_fast_way_is_the_defined_way(text: String, size in 1..5u32, seed in 0..2u64) {
        for &unit in Unit::ALL {
            let features = Shingles::new(unit, size).unwrap();
            let mut scratch = Scratch::<4>::new();
            for weights in Weighting::ALL {
                let recipe = Recipe { features, weights, seed, width: Width::Bits256, ..words() };
                let expected = defined(&recipe, &text);
                prop_assert_eq!(recipe.fingerprint_with(&text, &mut scratch), expected);
            }
        }
    }

    #[test]
    fn narrower_fingerprints_are_the_low_bits_of_wider_ones(text: String) {
        for preset in Preset::ALL {
            let at = |width| Recipe { width, ..preset.recipe.clone() }.fingerprint_any(&text);
            let widest = at(Width::Bits256);
            for width in Width::ALL {
                let hex = at(width).map(|print| print.to_hex(width));
                prop_assert_eq!(hex, widest.map(|print| print.to_hex(width)));
            }
        }
    }

    #[test]
    fn any_text_gets_a_fingerprint_iff_it_has_features(text: String, size in 1..5u32) {
        for &unit in Unit::ALL {
            let features = Shingles::new(unit, size).unwrap();
            let mut count = 0;
            features.extract(&text, |_| count += 1);
            for weights in Weighting::ALL {
                for hash in [FeatureHash::Mix, FeatureHash::Xxh3] {
                    let recipe = Recipe { features, weights, hash, ..words() };
                    prop_assert_eq!(recipe.fingerprint::<2>(&text).is_some(), count > 0);
                }
            }
        }
    }
}
