//! The Rust examples of README.md and docs/rust.md, word for word.

use std::error::Error;

#[test]
fn examples_in_the_documentation_are_those_that_run() {
    let own = include_str!("guide.rs").lines().map(str::trim).collect::<Vec<_>>().join("\n");
    for (name, text) in [
        ("README.md", include_str!("../../../../README.md")),
        ("docs/rust.md", include_str!("../../../../docs/rust.md")),
    ] {
        let examples: Vec<_> = text.split("```rust\n").skip(1).collect();
        assert!(!examples.is_empty(), "{name} has no example");
        for example in examples {
            let (example, _) = example.split_once("```").unwrap();
            let lines = example.trim().lines().map(str::trim).collect::<Vec<_>>().join("\n");
            assert!(own.contains(&lines), "{name}: this example does not run here:\n{example}");
        }
    }
}

#[test]
fn three_fingerprints() -> Result<(), Box<dyn Error>> {
    use lookalike::{AllPairs, Fingerprint, Radius};

    let prints = [0b0000_0000, 0b1111_0000, 0b0000_0111].map(|bits| Fingerprint([bits]));
    let answer = AllPairs::new(Radius::new(3)).run(&prints)?;
    let near: Vec<_> = answer.near().iter().map(|p| (p.a, p.b, p.distance)).collect();
    assert_eq!(near, [(0, 2, 3)]);
    Ok(())
}

#[test]
fn pairs_of_texts() -> Result<(), Box<dyn Error>> {
    use lookalike::{Preset, pairs::all_pairs};

    let texts = [
        "The ferry to the island leaves at nine in the morning from the north end of the harbour.",
        "Boil the potatoes in their skins, let them cool, and slice them as thin as you can.",
        "The ferry to the island leaves at ten in the morning, from the north end of the harbour!",
    ];
    let Preset { recipe, radius, .. } = Preset::named("bare")?;
    let prints: Vec<_> =
        texts.iter().map(|text| recipe.fingerprint(text).expect("each text has words")).collect();

    all_pairs(&prints, *radius, |pair| println!("{} and {} match", pair.a, pair.b))?;
    Ok(())
}

#[test]
fn one_query() -> Result<(), Box<dyn Error>> {
    use lookalike::{Fingerprint, Radius, StaticIndex, index::Search};

    let prints = [0b0000, 0b0111, 0b1111_1111].map(|bits| Fingerprint([bits]));
    let index = StaticIndex::build(&prints, Radius::new(3))?;
    for found in index.matches(&Fingerprint([0b0001]), Radius::new(2))? {
        println!("item {} is {} bits away", found.id, found.distance);
    }
    Ok(())
}

#[test]
fn a_collection() -> Result<(), Box<dyn Error>> {
    let seen = tempfile::tempdir()?;
    let folder = seen.path().join("seen");
    use std::sync::Arc;

    use lookalike::{
        Collection, Digest, Fingerprint, Kind, Width,
        collection::{AddRule, Added, NewItem},
        kind::{Asked, Purpose, hash::HashKind},
    };

    let kind = HashKind::new(Width::Bits64);
    let by = kind.criteria(&Asked::default(), Purpose::List)?;
    let collection = Collection::create(folder, Arc::new(kind), &by)?;
    let digest = |bits: u64| Digest::of_print(Fingerprint([bits]).resize());
    collection.add(&[NewItem::new("a", &digest(0b1010))], AddRule::Insert)?;

    let found = collection.search(&[digest(0b1000)], &by, 10)?;
    assert_eq!((found[0][0].id.as_str(), found[0][0].closeness.distance), ("a", Some(1)));

    let b = digest(0b1011);
    let added = collection.add(&[NewItem::new("b", &b)], AddRule::UnlessAlike(by))?;
    assert!(matches!(&added[0], Added::Near { matches } if matches[0].id == "a"));
    Ok(())
}
