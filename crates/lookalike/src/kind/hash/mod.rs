//! Fingerprints that the caller brings. They match if their distance is within a radius.

use super::{
    Asked, Criteria, Digester, Input, Kind, Lookup, Purpose, Reads, Registration, Scale, Unfit,
    UsageError,
};
use crate::{
    Closeness, Digest, Facts, Radius, Width,
    digest::{DigestRef, Shape},
};

/// Fingerprints of one width.
#[derive(Clone, Copy, Debug)]
pub struct HashKind {
    width: Width,
}

/// The default radius within which fingerprints match.
const USUAL: Radius = Radius::new(3);

impl HashKind {
    /// The registration of the kind.
    pub const REGISTRATION: Registration = Registration {
        name: "hash",
        items: "fingerprints",
        reads: Reads::Prints,
        options: &["bits", "distance", "blocks", "plan"],
        keep: "first",
        open: |settings| Ok(Box::new(Self::new(settings.bits.unwrap_or(Width::Bits64)))),
        #[cfg(feature = "collection")]
        reopen: |text| Some(std::sync::Arc::new(Self::from_stored(text)?)),
    };

    /// Fingerprints of this width.
    pub fn new(width: Width) -> Self {
        Self { width }
    }

    /// Opens the stored form; `None` if it is something else.
    #[cfg(feature = "collection")]
    fn from_stored(text: &super::RecipeText) -> Option<Self> {
        let bits = text.digest.get("bits")?.as_u64()?;
        Some(Self { width: Width::from_bits(bits.try_into().ok()?).ok()? })
    }
}

impl Kind for HashKind {
    fn name(&self) -> &'static str {
        "hash"
    }

    fn recipe(&self) -> String {
        format!("hash: {} bits", self.width.bits())
    }

    fn shape(&self) -> Shape {
        Shape { width: self.width, prints: 1, is_bare: true }
    }

    fn digester(&self) -> Box<dyn Digester + '_> {
        Box::new(HashDigester)
    }

    fn criteria(&self, asked: &Asked, _purpose: Purpose) -> Result<Criteria, UsageError> {
        let distance = asked.distance.unwrap_or(USUAL);
        check_distance(distance, self.width)?;
        if let Some(blocks) = asked.blocks {
            check_blocks(blocks, distance, self.width)?;
        }
        let distance = Some(distance);
        Ok(Criteria { distance, blocks: asked.blocks, ..Criteria::default() })
    }

    fn lookups(&self, by: &Criteria) -> Vec<Lookup> {
        let widest = Radius::new(self.width.bits());
        vec![Lookup::Near { radius: by.distance.unwrap_or(widest), turned: false, decides: true }]
    }

    fn judge(&self, by: &Criteria, a: DigestRef<'_>, b: DigestRef<'_>) -> Option<Closeness> {
        let distance = a.distance(&b)?;
        let is_near = by.distance.is_none_or(|radius| radius.contains(distance));
        is_near.then_some(Closeness::within(distance))
    }

    fn equal(&self, _by: &Criteria) -> Closeness {
        Closeness::within(0)
    }

    fn usual_distance(&self) -> Radius {
        USUAL
    }

    fn scale(&self, acting: &Criteria, _looking: &Criteria) -> Scale {
        Scale::Distance { widest: acting.distance.map_or(0, Radius::bits), levels: Vec::new() }
    }

    fn words(&self, by: &Criteria) -> String {
        let bits = self.width.bits();
        by.distance
            .map_or("any distance".into(), |most| format!("distance <= {most} of {bits} bits"))
    }

    #[cfg(feature = "collection")]
    fn stored(&self) -> super::RecipeText {
        super::RecipeText {
            kind: self.name().to_owned(),
            digest: serde_json::json!({ "bits": self.width.bits() }),
            usual: serde_json::json!({}),
            model: None,
        }
    }
}

struct HashDigester;

impl Digester for HashDigester {
    fn digest(&mut self, input: Input<'_>) -> Result<(Digest, Facts), Unfit> {
        match input {
            Input::Print(print) => Ok((Digest::of_print(print), Facts::default())),
            _ => Err(Unfit { reason: "of another type", message: "not a fingerprint".to_owned() }),
        }
    }
}

/// An error if the distance exceeds the width, which is a mistake, not a request for all pairs.
pub(super) fn check_distance(distance: Radius, width: Width) -> Result<(), UsageError> {
    let bits = width.bits();
    if distance.bits() <= bits {
        return Ok(());
    }
    let message =
        format!(" {distance} is more than the {bits} bits of a fingerprint; use {bits} or less");
    Err(UsageError::new("distance", message))
}

fn check_blocks(blocks: u32, distance: Radius, width: Width) -> Result<(), UsageError> {
    let (least, most) = (distance.bits() + 1, width.bits());
    let message = if blocks < least {
        format!(
            " {blocks} cannot find pairs within {distance} bits; use at least {least} blocks, or \
             leave it out"
        )
    } else if blocks > most {
        format!(": {most} bits cannot be cut into {blocks} blocks; use at most {most}")
    } else {
        return Ok(());
    };
    Err(UsageError::new("blocks", message))
}
