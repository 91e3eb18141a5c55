use super::*;
use crate::extract::Unit;
use crate::extract::text::shingle_hashes;
use crate::features::Features;
use crate::hash::seeded;
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
        let found = recipe.fingerprint(text).map(|print| print.to_hex(recipe.width));
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
            let mut learner = crate::model::Learner::new(&recipe);
            of_preset.iter().for_each(|&i| learner.add(&texts[i]));
            recipe.model = Some(Arc::new(learner.finish()));
        }
        for i in of_preset {
            let found = recipe.fingerprint(&texts[i]).map(|print| print.to_hex(recipe.width));
            assert_eq!(found.as_deref().unwrap_or("-"), lines[i][3], "{recipe} of {}", lines[i][2]);
        }
    }
}

#[test]
fn stop_words_are_left_out_before_neighbours_are_looked_at() {
    let plain = Recipe { features: "words:2".parse().unwrap(), ..words() };
    let without = Recipe { stop_words: "en".parse().unwrap(), ..plain.clone() };
    for hash in FeatureHash::ALL {
        let of = |recipe: &Recipe, text| Recipe { hash, ..recipe.clone() }.fingerprint(text);
        assert_eq!(of(&without, "the roof of the barn"), of(&plain, "roof barn"), "{hash}");
        assert_eq!(of(&without, "it is what it is"), None);
    }
}

#[test]
fn only_the_heaviest_features_count() {
    let top = Recipe { top: NonZeroU32::new(2), ..words() };
    assert_eq!(top.fingerprint("a a a b b c"), words().fingerprint("a b a b a"));
    let given = |recipe: &Recipe, features: &[(&str, f64)]| {
        recipe.fingerprinter().features(features.iter().copied()).unwrap()
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
        recipe.fingerprinter().features(given).unwrap(),
        recipe.fingerprint("to be or not to be")
    );
    assert_eq!(recipe.fingerprinter().features([("a", 0.0)]).unwrap(), None);
    assert_eq!(recipe.fingerprinter().features([("", 0.0); 0]).unwrap(), None);
}

#[test]
fn rare_words_count_more() {
    let recipe = Recipe { weights: Weighting::TfIdf, ..words() };
    assert_eq!(
        recipe.check().unwrap_err().to_string(),
        "words weighs by how rare words are elsewhere (tfidf) and needs a corpus model"
    );
    let mut learner = crate::model::Learner::new(&recipe);
    ["the cat", "the dog", "the end"].into_iter().for_each(|text| learner.add(text));
    let recipe = Recipe { model: Some(Arc::new(learner.finish())), ..recipe };
    recipe.check().unwrap();
    // `the` is in every text and says nothing; the others are equally rare.
    assert_eq!(recipe.fingerprint("the cat the end"), words().fingerprint("cat end"));
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
    assert_eq!(error.to_string(), "unknown weights \"logs\"; did you mean log?");
}

#[test]
fn tokens_are_a_text_split_by_the_caller() {
    let split = ["to", "be", "or", "not", "to", "be"];
    let hashes = split.map(|token| mix(token.as_bytes()));
    for hash in FeatureHash::ALL {
        let recipe = Recipe { hash, ..Preset::named("bare").unwrap().recipe.clone() };
        let mut fingerprinter = recipe.fingerprinter();
        let print = recipe.fingerprint("to be, or NOT to be");
        assert_eq!(fingerprinter.tokens(split), Ok(print), "{hash}");
        let hashed = fingerprinter.tokens(hashes);
        let expected =
            if hash == FeatureHash::Mix { Ok(print) } else { Err(RecipeError::HashedTokens) };
        assert_eq!(hashed, expected, "{hash}");
    }
}

#[test]
fn the_recipes_hash_given_as_ones_own_changes_nothing() {
    let given = [("sweet", 5.0), ("sour", 1.5)];
    for hash in FeatureHash::ALL {
        for width in Width::ALL {
            let recipe = Recipe { hash, width, ..words() };
            let mut own = recipe.fingerprinter().with_hash(|bytes| hash.words(0, bytes));
            assert_eq!(own.features(given), recipe.fingerprinter().features(given), "{hash}");
            assert_eq!(own.tokens([7]), Err(RecipeError::HashedTokens));
            // Runs of one token: mix is the same, whether it combines tokens or takes bytes.
            let text = "to be or not to be";
            assert_eq!(own.text(text), recipe.fingerprint(text), "{hash}");
            assert_eq!(own.tokens(text.split(' ')), Ok(own.text(text)), "{hash}");
        }
    }
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
        features.push(crate::features::Feature::weighted(equal[0], weight));
    }
    crate::simhash::naive(&features)
}

proptest! {
    #[test]
    fn the_fast_way_is_the_defined_way(text: String, size in 1..5u32, seed in 0..2u64) {
        for &unit in Unit::ALL {
            let features = Shingles::new(unit, size).unwrap();
            for weights in Weighting::ALL {
                let recipe = Recipe { features, weights, seed, width: Width::Bits256, ..words() };
                let expected = defined(&recipe, &text);
                let mut fingerprinter = recipe.fingerprinter();
                fingerprinter.text("other text that leaves the buffers used");
                prop_assert_eq!(fingerprinter.text(&text), expected);
            }
        }
    }

    #[test]
    fn narrower_fingerprints_are_the_low_bits_of_wider_ones(text: String) {
        for preset in Preset::ALL {
            let at = |width| Recipe { width, ..preset.recipe.clone() }.fingerprint(&text);
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
                    prop_assert_eq!(recipe.fingerprint(&text).is_some(), count > 0);
                }
            }
        }
    }
}
