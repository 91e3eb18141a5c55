use md5::Digest as _;

use super::*;
use crate::{
    Digest, Resources, Search, Unfit, digest::Digests, kind::Input, search::AlikePair, vectors,
};

fn digest(kind: &VectorKind, numbers: &[f64]) -> Result<Digest, Unfit> {
    kind.digester().digest(Input::Vector(numbers)).map(|(digest, _)| digest)
}

fn bytes_of(hex: &str) -> Vec<u8> {
    let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(byte).collect()
}

/// Reads a 16-bit float of IEEE 754.
fn half(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    let size = match exponent {
        0 => fraction * 2f64.powi(-24),
        _ => (1024.0 + fraction) * 2f64.powi(exponent - 25),
    };
    if bits >> 15 == 1 { -size } else { size }
}

fn numbers_of(kind: &str, bytes: &[u8]) -> Vec<f64> {
    match kind {
        "f2" => {
            bytes.chunks(2).map(|two| half(u16::from_le_bytes(two.try_into().unwrap()))).collect()
        }
        "f4" => bytes
            .chunks(4)
            .map(|four| f32::from_le_bytes(four.try_into().unwrap()).into())
            .collect(),
        _ => bytes.chunks(8).map(|eight| f64::from_le_bytes(eight.try_into().unwrap())).collect(),
    }
}

#[test]
fn vectors_and_cosines_are_those_of_the_golden_vectors() {
    let kind = VectorKind::cosine();
    for line in vectors::read("vectors.tsv") {
        let line: Vec<&str> = line.iter().map(String::as_str).collect();
        match line[..] {
            ["vector", name, format, numbers, expected] => {
                let numbers = numbers_of(format, &bytes_of(numbers));
                assert_eq!(digest(&kind, &numbers).unwrap().extra, bytes_of(expected), "{name}");
            }
            ["sequence", dimensions, step, expected] => {
                let [dimensions, step] = [dimensions, step].map(|it| it.parse::<u32>().unwrap());
                let number = |at: u32| f64::from((at * step) % 1009) - 504.0;
                let numbers: Vec<f64> = (0..dimensions).map(|at| number(at) / 1009.0).collect();
                let md5 = md5::Md5::digest(&digest(&kind, &numbers).unwrap().extra);
                assert_eq!(md5.to_vec(), bytes_of(expected), "{dimensions}");
            }
            ["cosine", a, b, expected] => {
                let (a, b) = (bytes_of(a), bytes_of(b));
                let [a, b] = [&a, &b].map(|bytes| Vector::read(bytes).unwrap());
                for kernel in Kernel::available() {
                    assert_eq!(a.cosine(&b, 0, kernel), Some(expected.parse().unwrap()));
                    assert_eq!(b.cosine(&a, 0, kernel), Some(expected.parse().unwrap()));
                }
            }
            _ => panic!("{line:?}"),
        }
    }
}

/// Random numbers from -1 to 1.
fn noise(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

/// Vectors, many of them near or equal to an earlier one.
fn some_vectors(count: usize, dimensions: usize) -> Vec<Vec<f64>> {
    let mut noise = noise(7);
    let mut all: Vec<Vec<f64>> = Vec::new();
    for at in 0..count {
        let mut one: Vec<f64> = (0..dimensions).map(|_| noise()).collect();
        if at % 3 > 0 && at > 10 {
            let far = if at % 7 == 0 { 0.0 } else { noise().abs() };
            let near = &all[at / 2];
            one.iter_mut().zip(near).for_each(|(value, near)| *value = far * *value + near);
        }
        all.push(one);
    }
    all
}

fn columns(kind: &VectorKind, vectors: &[Vec<f64>]) -> Digests {
    let mut digests = Digests::new(kind.shape(), &Resources::new());
    for vector in vectors {
        digests.push(&digest(kind, vector).unwrap()).unwrap();
    }
    digests.seal().unwrap();
    digests
}

fn asked(similarity: f32) -> Asked {
    Asked { similarity: Similarity::new(similarity), ..Asked::default() }
}

#[test]
fn a_search_finds_what_judging_every_pair_finds() {
    let kind = VectorKind::cosine();
    for (count, dimensions) in [(300, 40), (90, 3)] {
        let vectors = some_vectors(count, dimensions);
        let all: Vec<Digest> = vectors.iter().map(|one| digest(&kind, one).unwrap()).collect();
        let digests = columns(&kind, &vectors);
        for similarity in [0.0, 0.5, 0.9, 0.99, 1.0] {
            let by = kind.criteria(&asked(similarity), Purpose::List).unwrap();
            let resources = Resources::new();
            let search = Search::new(&kind, &by, &resources);
            let mut expected = Vec::new();
            for a in 0..count {
                for b in a + 1..count {
                    let compared = search.compare(&all[a], &all[b]);
                    if compared.alike {
                        let closeness = compared.closeness.unwrap();
                        expected.push(AlikePair { a: a as u32, b: b as u32, closeness });
                    }
                }
            }
            for kernel in Kernel::available() {
                let resources = Resources::new().kernel(kernel);
                let search = Search::new(&kind, &by, &resources);
                let found = search.pairs(&digests).unwrap();
                assert!(found.found.is_exact());
                assert_eq!(found.pairs.to_vec().unwrap(), expected, "{similarity}, {kernel:?}");
            }
        }
    }
}

#[test]
fn each_vector_belongs_to_the_first_keeper_it_matches() {
    let kind = VectorKind::cosine();
    let vectors = some_vectors(400, 24);
    let digests = columns(&kind, &vectors);
    let all: Vec<Digest> = vectors.iter().map(|one| digest(&kind, one).unwrap()).collect();
    let order: Vec<u32> = (0..400).rev().collect();
    for similarity in [0.6, 0.9, 0.97] {
        let by = kind.criteria(&asked(similarity), Purpose::List).unwrap();
        let resources = Resources::new();
        let search = Search::new(&kind, &by, &resources);
        let matches = |a: u32, b: u32| search.compare(&all[a as usize], &all[b as usize]).alike;
        let mut keepers: Vec<u32> = Vec::new();
        let mut expected = Vec::new();
        for &item in &order {
            match keepers.iter().find(|&&keeper| matches(keeper, item)) {
                Some(&keeper) => expected.push((item, keeper)),
                None => keepers.push(item),
            }
        }
        let groups = search.stars(&digests, &order).unwrap().groups;
        let mut found: Vec<(u32, u32)> = Vec::new();
        for group in &groups {
            found.extend(group.members.iter().map(|member| (member.item, group.keep)));
        }
        expected.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, expected, "{similarity}");
        let against = search.against(&digests, 150).unwrap().groups;
        let mut found: Vec<(u32, u32)> = Vec::new();
        for group in &against {
            found.extend(group.members.iter().map(|member| (member.item, group.keep)));
        }
        let first = |item: u32| Some((item, (150..400).find(|&other| matches(item, other))?));
        found.sort_unstable();
        assert_eq!(found, (0..150).filter_map(first).collect::<Vec<_>>(), "{similarity}");
    }
}

#[test]
fn levels_are_ranges_of_the_cosine_and_acting_needs_near() {
    let kind = VectorKind::cosine();
    let level = |cosine| closeness(cosine).level;
    assert_eq!(level(ONE), Some(Level::Copy));
    assert_eq!((level(990_000), level(989_999)), (Some(Level::Copy), Some(Level::Near)));
    assert_eq!((level(950_000), level(949_999)), (Some(Level::Near), Some(Level::Similar)));
    assert_eq!((level(900_000), level(899_999)), (Some(Level::Similar), None));
    let least =
        |asked: &Asked, purpose| kind.criteria(asked, purpose).unwrap().similarity.unwrap().get();
    let nothing = Asked::default();
    assert_eq!(
        [Purpose::List, Purpose::Act, Purpose::Look].map(|purpose| least(&nothing, purpose)),
        [0.9, 0.95, 0.9]
    );
    assert_eq!(least(&asked(0.8), Purpose::Act), 0.8);
    assert_eq!(least(&asked(0.8), Purpose::Look), 0.8);
    assert_eq!(least(&asked(0.97), Purpose::Look), 0.9);
    let copy = Asked { level: Some(Level::Copy), ..Asked::default() };
    assert_eq!(least(&copy, Purpose::List), 0.99);
}

#[test]
fn vectors_of_other_dimensions_never_match() {
    let any = VectorKind::cosine();
    let (two, three) =
        (digest(&any, &[1.0, 1.0]).unwrap(), digest(&any, &[1.0, 1.0, 1.0]).unwrap());
    let by = any.criteria(&asked(0.0), Purpose::List).unwrap();
    let resources = Resources::new();
    let compared = Search::new(&any, &by, &resources).compare(&two, &three);
    assert!(!compared.alike && compared.closeness.is_none());
    let digests =
        columns(&any, &[vec![1.0, 1.0], vec![1.0, 1.0, 1.0], vec![2.0, 2.1], vec![2.0, 2.1, 2.0]]);
    let by = any.criteria(&asked(0.9), Purpose::List).unwrap();
    let pairs = Search::new(&any, &by, &resources).pairs(&digests).unwrap().pairs.to_vec().unwrap();
    assert_eq!(pairs.iter().map(|pair| (pair.a, pair.b)).collect::<Vec<_>>(), [(0, 2), (1, 3)]);
    let fixed = VectorKind::cosine().with_dimensions(3);
    let unfit = digest(&fixed, &[1.0, 1.0]).unwrap_err();
    assert_eq!(unfit.message, "a vector of 2 dimensions, but the others have 3");
}

#[test]
fn what_is_not_a_vector_is_refused_with_the_reason() {
    let kind = VectorKind::cosine();
    let reason = |numbers: &[f64]| digest(&kind, numbers).unwrap_err().to_string();
    assert_eq!(reason(&[0.0, -0.0]), "a zero vector has no direction, so it matches nothing");
    assert_eq!(reason(&[1.0, f64::NAN]), "number 2 of the vector is NaN or infinite");
    assert_eq!(reason(&[1.0]), "a vector of 1 dimensions; a cosine needs at least 2");
    let text = |text| kind.digester().digest(Input::Text(text)).map(|(digest, _)| digest);
    assert_eq!(text("[0.5, -1, 2e-3]"), digest(&kind, &[0.5, -1.0, 2e-3]));
    assert_eq!(text("0.5,-1"), digest(&kind, &[0.5, -1.0]));
    assert!(text("[0.5, x]").unwrap_err().message.contains("\"x\" is no number"));
}

#[test]
fn equal_directions_share_an_entry() {
    let kind = VectorKind::cosine();
    let digests =
        columns(&kind, &[vec![1.0, 2.0], vec![2.0, 1.0], vec![2.0, 4.0], vec![-1.0, -2.0]]);
    assert_eq!((digests.len(), digests.entries()), (4, 3));
    assert_eq!(kind.equal(&Criteria::default()).similarity, Some(1.0));
}

#[test]
fn the_number_of_differing_bits_follows_from_the_angle() {
    let kind = VectorKind::hyperplanes();
    let mut noise = noise(3);
    let (mut found, mut pairs) = (0.0, 0.0);
    for _ in 0..300 {
        let one: Vec<f64> = (0..128).map(|_| noise()).collect();
        let two: Vec<f64> = one.iter().map(|value| value + 0.48 * noise()).collect();
        let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
        let cosine = dot(&one, &two) / (dot(&one, &one) * dot(&two, &two)).sqrt();
        let [a, b] = [&one, &two].map(|numbers| digest(&kind, numbers).unwrap());
        let bits = a.print().unwrap().distance(&b.print().unwrap());
        let expected = cosine.acos() / std::f64::consts::PI * 256.0;
        found += f64::from(bits) - expected;
        pairs += 1.0;
        assert!((f64::from(bits) - expected).abs() < 40.0, "{bits} bits, {expected} expected");
    }
    // The mean of 300 pairs with a deviation of about 6 each.
    assert!((found / pairs).abs() < 1.5, "{}", found / pairs);
    let recall = planes::recall(0.9, Radius::new(55));
    assert!((0.9985..0.9999).contains(&recall), "{recall}");
}

#[test]
fn a_distance_or_a_level_of_the_other_recipe_is_refused() {
    let distance = Asked { distance: Some(Radius::new(9)), ..Asked::default() };
    let error = VectorKind::cosine().criteria(&distance, Purpose::List).unwrap_err();
    assert_eq!(error.option, "distance");
    let error = VectorKind::hyperplanes().criteria(&asked(0.9), Purpose::List).unwrap_err();
    assert_eq!(error.option, "similarity");
    let settings = Settings { recipe: Some("cosin".to_owned()), ..Settings::default() };
    let error = VectorKind::open(&settings).unwrap_err();
    assert!(error.message.contains("did you mean cosine?"), "{error}");
}

#[cfg(feature = "collection")]
#[test]
fn the_stored_form_opens_the_same_kind() {
    use crate::kind::Registry;

    for kind in [VectorKind::cosine(), VectorKind::hyperplanes().with_dimensions(5)] {
        let opened = Registry::default().reopen(&kind.stored()).unwrap();
        assert_eq!(opened.recipe(), kind.recipe());
        assert_eq!(opened.stored(), kind.stored());
    }
    let names =
        [VectorKind::cosine(), VectorKind::cosine().with_dimensions(5)].map(|kind| kind.recipe());
    assert_eq!(names, ["vector: cosine, version 1", "vector: cosine of 5 dimensions, version 1"]);
}

/// Runs of various sizes are searched, merged ones among them.
#[cfg(feature = "collection")]
#[test]
fn a_collection_finds_what_a_batch_finds() {
    use crate::collection::{AddRule, Collection, NewItem};

    let kind: std::sync::Arc<dyn Kind> = std::sync::Arc::new(VectorKind::cosine());
    let vectors = some_vectors(200, 19);
    let own = VectorKind::cosine();
    let all: Vec<Digest> = vectors.iter().map(|one| digest(&own, one).unwrap()).collect();
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("c");
    let widest = kind.criteria(&Asked::default(), Purpose::Look).unwrap();
    {
        let collection = Collection::create(&place, kind.clone(), &widest).unwrap();
        let ids: Vec<String> = (0..all.len()).map(|at| at.to_string()).collect();
        let items: Vec<NewItem<'_>> =
            ids.iter().zip(&all).map(|(id, digest)| NewItem::new(id, digest)).collect();
        for some in items.chunks(23) {
            collection.add(some, AddRule::Insert).unwrap();
        }
    }
    let collection = Collection::open(&place).unwrap();
    for similarity in [0.5, 0.9, 0.99] {
        let by = kind.criteria(&asked(similarity), Purpose::List).unwrap();
        let resources = Resources::new();
        let search = Search::new(&own, &by, &resources);
        let found = collection.search(&all, &by, usize::MAX).unwrap();
        for (at, found) in found.iter().enumerate() {
            let mut ids: Vec<usize> = found.iter().map(|one| one.id.parse().unwrap()).collect();
            ids.sort_unstable();
            let expected: Vec<usize> = (0..all.len())
                .filter(|&other| search.compare(&all[at], &all[other]).alike)
                .collect();
            assert_eq!(ids, expected, "{similarity}, {at}");
            for one in found {
                let other = &all[one.id.parse::<usize>().unwrap()];
                assert_eq!(Some(one.closeness), search.compare(&all[at], other).closeness);
            }
        }
    }
}
