//! The kinds of the tested collections, with generators of digests that often match and of criteria to
//! search by.

use serde_json::json;

use super::*;
use crate::{
    Facts, Unfit,
    digest::{DigestRef, Shape},
    kind::{Digester, Lookup, RecipeText, Registration, Scale, Settings, UsageError},
    verify::Similarity,
};

/// A kind to test, and how to make its items.
pub struct TestKind {
    pub kind: Arc<dyn Kind>,
    pub widest: Criteria,
    /// Makes the digest of one of a few items, or of one near them; some are empty.
    pub digest: fn(&mut Dice, &dyn Kind) -> Digest,
    /// Makes criteria that the collection can be searched by.
    pub by: fn(&mut Dice, &Criteria) -> Criteria,
}

/// The default kinds and [`Numbers`].
pub fn registry() -> Registry {
    let mut registry = Registry::default();
    registry.register(Numbers::REGISTRATION);
    registry
}

impl TestKind {
    pub fn hash(dice: &mut Dice) -> Self {
        let width = dice.one_of(&Width::ALL);
        let max = dice.below(7) as u32;
        Self {
            kind: Arc::new(HashKind::new(width)),
            widest: within(max),
            digest: |dice, kind| Digest::of_print(near_print(dice, kind.shape().width)),
            by: |dice, widest| {
                let max = widest.distance.unwrap().bits();
                within(dice.below(u64::from(max) + 1) as u32)
            },
        }
    }

    /// Texts compared by their words; some have too few words.
    pub fn text(dice: &mut Dice) -> Self {
        let measure = dice.one_of(&[Measure::Mixed, Measure::Mixed, Measure::Containment]);
        let verify = Verify { measure, ..Verify::DEFAULT };
        let mut kind = Self::text_of(verify, dice.one_of(&[0.2, 0.46, 0.6]));
        if dice.below(3) == 0 {
            kind.widest.distance = Some(Radius::new(60));
        }
        kind
    }

    /// Texts with a threshold so low that nearly all of them match.
    pub fn loose_text(dice: &mut Dice) -> Self {
        let jaccard = Verify { measure: Measure::Jaccard, ..Verify::DEFAULT };
        Self::text_of(jaccard, dice.one_of(&[0.05, 0.15, 0.3]))
    }

    fn text_of(verify: Verify, least: f32) -> Self {
        let recipe = Preset::named("words").unwrap().recipe.clone();
        let kind = TextKind::new(recipe, Some(verify), Radius::new(32)).unwrap();
        let similarity = Similarity::new(least);
        Self {
            kind: Arc::new(kind),
            widest: Criteria { similarity, ..Criteria::default() },
            digest: text,
            by: |dice, widest| {
                let least = dice.one_of(&[0.0, 0.1, 0.3, 0.46, 0.6, 0.8, 1.0]);
                let distance = widest.distance.filter(|_| dice.below(2) == 0);
                Criteria { similarity: Similarity::new(least), distance, ..Criteria::default() }
            },
        }
    }

    /// Numbers, all pairs of which are judged, and some items that match by key only.
    pub fn numbers(dice: &mut Dice) -> Self {
        Self {
            kind: Arc::new(Numbers),
            widest: within(dice.below(5) as u32),
            digest: |dice, _| {
                let number = dice.below(40);
                match dice.below(8) {
                    0 => Digest::default(),
                    1..3 => Digest { key: Some([number as u8 % 6; 16]), ..Digest::default() },
                    _ => Digest { extra: vec![number as u8], ..print(number) },
                }
            },
            by: |dice, _| match dice.below(6) {
                0 => Criteria::default(),
                _ => within(dice.below(9) as u32),
            },
        }
    }

    /// Images: unrelated ones, their crops, turned copies, smaller ones, and flat ones.
    #[cfg(feature = "image")]
    pub fn image(dice: &mut Dice) -> Self {
        use crate::{kind::image::ImageKind, recipe::ImagePreset};
        let kind = ImageKind::of(ImagePreset::named("pdq").unwrap());
        let kind = kind.orientations(true).partial(true).unwrap();
        Self {
            kind: Arc::new(kind),
            widest: Criteria {
                turned: dice.below(4) > 0,
                parts: dice.below(4) > 0,
                ..within(dice.one_of(&[31, 72, 120]))
            },
            digest: |dice, _| {
                images::DIGESTS[dice.below(images::DIGESTS.len() as u64) as usize].clone()
            },
            by: |dice, widest| {
                if dice.below(8) == 0 {
                    return Criteria { turned: true, ..Criteria::default() };
                }
                let max = widest.distance.unwrap().bits();
                let distance = dice.one_of(&[20, 31, 60, 72, 120]).min(max);
                Criteria { turned: dice.below(2) > 0, parts: dice.below(2) > 0, ..within(distance) }
            },
        }
    }
}

/// A fingerprint near one of three centres, so that many match.
fn near_print(dice: &mut Dice, width: Width) -> Fingerprint<4> {
    let word = Dice(dice.below(3)).next();
    let mut print = Fingerprint([word, !word, word.rotate_left(9), word ^ 77]);
    for _ in 0..dice.below(5) {
        let bit = dice.below(u64::from(width.bits()));
        print.0[bit as usize / 64] ^= 1 << (bit % 64);
    }
    for word in 0..4 {
        let kept = width.bits().saturating_sub(64 * word).min(64);
        print.0[word as usize] &= if kept == 64 { u64::MAX } else { (1 << kept) - 1 };
    }
    print
}

/// The digest of a few words of one of three texts, some of them changed.
fn text(dice: &mut Dice, kind: &dyn Kind) -> Digest {
    let (seed, start) = (dice.below(3), dice.below(4));
    let length = dice.one_of(&[0, 1, 2, 3, 12, 20, 30]);
    let words: Vec<String> = (start..start + length)
        .map(|at| match dice.below(9) {
            0 => format!("w{}", dice.below(50)),
            _ => format!("w{}", Dice(seed << 32 | at).below(50)),
        })
        .collect();
    kind.digester().digest(Input::Text(&words.join(" "))).unwrap().0
}

/// A kind without a search table: numbers that match if their difference is small.
struct Numbers;

impl Numbers {
    const REGISTRATION: Registration = Registration {
        name: "numbers",
        open: |_: &Settings| Ok(Box::new(Self)),
        reopen: |_| Some(Arc::new(Self)),
        ..HashKind::REGISTRATION
    };
}

impl Kind for Numbers {
    fn name(&self) -> &'static str {
        "numbers"
    }

    fn recipe(&self) -> String {
        "numbers".to_owned()
    }

    fn shape(&self) -> Shape {
        Shape { width: Width::Bits64, prints: 1, is_bare: false }
    }

    fn digester(&self) -> Box<dyn Digester + '_> {
        Box::new(NoDigester)
    }

    fn criteria(&self, asked: &Asked, _purpose: Purpose) -> Result<Criteria, UsageError> {
        Ok(Criteria { distance: asked.distance, ..Criteria::default() })
    }

    fn lookups(&self, _by: &Criteria) -> Vec<Lookup> {
        vec![Lookup::Every]
    }

    fn judge(&self, by: &Criteria, a: DigestRef<'_>, b: DigestRef<'_>) -> Option<Closeness> {
        if a.key().is_some() || b.key().is_some() {
            return (a.key() == b.key()).then(|| self.equal(by));
        }
        // Empty digests have no fingerprint.
        a.distance(&b)?;
        let distance = u32::from(a.extra()[0].abs_diff(b.extra()[0]));
        let is_near = by.distance.is_none_or(|radius| radius.contains(distance));
        is_near.then_some(Closeness::within(distance))
    }

    fn equal(&self, _by: &Criteria) -> Closeness {
        Closeness::within(0)
    }

    fn words(&self, _by: &Criteria) -> String {
        "of little difference".to_owned()
    }

    fn usual_distance(&self) -> Radius {
        Radius::new(0)
    }

    fn scale(&self, _acting: &Criteria, _looking: &Criteria) -> Scale {
        Scale::Distance { widest: 0, levels: Vec::new() }
    }

    fn stored(&self) -> RecipeText {
        RecipeText { kind: "numbers".to_owned(), digest: json!({}), usual: json!({}), model: None }
    }
}

struct NoDigester;

impl Digester for NoDigester {
    fn digest(&mut self, _input: Input<'_>) -> Result<(Digest, Facts), Unfit> {
        Err(Unfit { reason: "of another type", message: "not a number".to_owned() })
    }
}

#[cfg(feature = "image")]
mod images {
    use std::sync::LazyLock;

    use crate::{
        Digest, Kind,
        extract::image::{Image, Orientation, Pixels},
        kind::{
            Input,
            image::{
                ImageKind,
                tests::{blobs, cut, waves},
            },
        },
        recipe::ImagePreset,
    };

    pub static DIGESTS: LazyLock<Vec<Digest>> = LazyLock::new(|| {
        let (one, two) = (blobs(1, 320, 240), blobs(2, 320, 240));
        let flat = |light| Pixels::gray(64, 64, vec![light; 64 * 64]).unwrap();
        let mut images = vec![
            cut(&one, 70, 20, 230, 180),
            cut(&one, 20, 40, 240, 190),
            cut(&two, 0, 0, 250, 200),
            waves(3, 160, 120),
            waves(4, 320, 240),
            flat(10),
            flat(20),
            one,
            two,
        ];
        images.extend(Orientation::ALL.map(|turned| waves(3, 320, 240).turned(turned)));
        let kind = ImageKind::of(ImagePreset::named("pdq").unwrap());
        let kind = kind.orientations(true).partial(true).unwrap();
        let digest = |pixels| {
            let image = Image::of_pixels(pixels);
            kind.digester().digest(Input::Image(&image)).unwrap().0
        };
        images.into_iter().map(digest).collect()
    });
}
