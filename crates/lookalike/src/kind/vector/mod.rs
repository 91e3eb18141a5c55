//! Dense vectors supplied by the caller, such as embeddings. They match if their cosine is large enough.
//!
//! The recipe `cosine` stores a vector as 16-bit integers. The cosine of these integers, computed in
//! integer arithmetic, defines a match; see `docs/algorithm.md` for its error. The recipe `hyperplanes`
//! stores only 256 bits: on which side of random hyperplanes the vector lies.
//!
//! | file | contents |
//! |---|---|
//! | `digest.rs` | the digester |
//! | `planes.rs` | the hyperplanes |
//! | `stored.rs` | the stored form of the kind |

mod digest;
mod planes;
#[cfg(feature = "collection")]
mod stored;
#[cfg(test)]
mod tests;

use super::{
    Asked, Criteria, Digester, Kind, Lookup, Purpose, Reads, Registration, Scale, Settings,
    UsageError, hash::check_distance,
};
use crate::{
    Closeness, Level, Radius, Width,
    cosine::{ONE, Vector, least, shown},
    digest::{DigestRef, Shape},
    hamming::Kernel,
    spelling::nearest,
    verify::Similarity,
};
pub use digest::check;
use planes::Planes;

/// The largest number of dimensions.
pub const MAX_DIMENSIONS: usize = crate::cosine::MAX_DIMENSIONS;

/// Dense vectors, compared by one recipe.
///
/// ```
/// use lookalike::{
///     Kind, Resources, Search,
///     digest::Digests,
///     kind::{Asked, Input, Purpose, vector::VectorKind},
/// };
///
/// let (kind, resources) = (VectorKind::cosine(), Resources::new());
/// let mut digests = Digests::new(kind.shape(), &resources);
/// for vector in [[1.0, 2.0, 3.0], [3.0, -1.0, 0.5], [1.1, 2.1, 2.9]] {
///     digests.push(&kind.digester().digest(Input::Vector(&vector))?.0)?;
/// }
/// digests.seal()?;
///
/// let by = kind.criteria(&Asked::default(), Purpose::List)?;
/// let pairs = Search::new(&kind, &by, &resources).pairs(&digests)?.pairs.to_vec()?;
/// assert_eq!(pairs.iter().map(|pair| (pair.a, pair.b)).collect::<Vec<_>>(), [(0, 2)]);
/// assert_eq!(pairs[0].closeness.similarity, Some(0.99893));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct VectorKind {
    method: Method,
    /// `None` allows any number; vectors of different dimensions never match.
    dimensions: Option<u32>,
}

/// What the digest of a vector contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    Cosine,
    Hyperplanes,
}

impl Method {
    const ALL: [Self; 2] = [Self::Cosine, Self::Hyperplanes];

    const fn name(self) -> &'static str {
        match self {
            Self::Cosine => "cosine",
            Self::Hyperplanes => "hyperplanes",
        }
    }
}

/// The smallest cosine of each level: typical of embeddings of equal, edited and similar contents.
/// Models differ.
const LEVELS: [(Level, f32); 3] = [(Level::Copy, 0.99), (Level::Near, 0.95), (Level::Similar, 0.9)];

/// Less similar vectors are listed, but not removed unless the caller asks for it.
const ACTING: Level = Level::Near;

/// Finds all but one in a thousand pairs with a cosine of 0.9: on average, 36.8 of their bits differ,
/// with a standard deviation of 5.6.
const USUAL: Radius = Radius::new(55);

impl VectorKind {
    /// The registration of the kind.
    pub const REGISTRATION: Registration = Registration {
        name: "vector",
        items: "vectors",
        reads: Reads::Vectors,
        options: &[
            "recipe",
            "level",
            "similarity",
            "distance",
            "field",
            "id",
            "format",
            "report",
            "count",
        ],
        keep: "first",
        open: |settings| Ok(Box::new(Self::open(settings)?)),
        #[cfg(feature = "collection")]
        reopen: |text| Some(std::sync::Arc::new(Self::from_stored(text)?)),
    };

    /// Vectors of any number of dimensions, compared by cosine.
    pub fn cosine() -> Self {
        Self { method: Method::Cosine, dimensions: None }
    }

    /// Vectors of any number of dimensions, compared by the signs of 256 hyperplanes.
    pub fn hyperplanes() -> Self {
        Self { method: Method::Hyperplanes, dimensions: None }
    }

    /// Accepts only vectors with this number of dimensions.
    #[must_use]
    pub fn with_dimensions(self, dimensions: u32) -> Self {
        Self { dimensions: Some(dimensions), ..self }
    }

    /// Opens the kind with a caller's settings.
    pub fn open(settings: &Settings) -> Result<Self, UsageError> {
        let name = settings.recipe.as_deref().unwrap_or(Method::Cosine.name());
        let method = Method::ALL.into_iter().find(|method| method.name() == name);
        let method = method.ok_or_else(|| {
            let near = nearest(name, Method::ALL.map(Method::name)).unwrap_or_default();
            let names = Method::ALL.map(Method::name).join(", ");
            let message = format!(" {name}: did you mean {near}? Recipes of vectors: {names}");
            UsageError::new("recipe", message)
        })?;
        Ok(Self { method, dimensions: settings.dimensions })
    }

    fn similarity(&self, asked: &Asked, purpose: Purpose) -> Similarity {
        let requested = asked.level.map(similarity_of).or(asked.similarity);
        let usual = similarity_of(Level::Similar);
        match (purpose, requested) {
            (Purpose::Look, Some(requested)) if requested < usual => requested,
            (Purpose::Look, _) => usual,
            (_, Some(requested)) => requested,
            (Purpose::List, None) => usual,
            (Purpose::Act, None) => similarity_of(ACTING),
        }
    }
}

fn similarity_of(level: Level) -> Similarity {
    let share = LEVELS.iter().find(|(one, _)| *one == level).map(|(_, share)| *share);
    share.and_then(Similarity::new).unwrap_or(Similarity::ZERO)
}

/// The closeness of two vectors with this cosine, in millionths.
fn closeness(cosine: u32) -> Closeness {
    let similarity = shown(cosine);
    let level = LEVELS.iter().find(|(_, share)| similarity >= *share).map(|(level, _)| *level);
    Closeness { distance: None, similarity: Some(similarity), level }
}

impl Kind for VectorKind {
    fn name(&self) -> &'static str {
        "vector"
    }

    fn recipe(&self) -> String {
        let dimensions = self.dimensions.map_or_else(String::new, |some| format!(" {some}"));
        format!("vector: {} of{dimensions} dimensions, version 1", self.method.name())
            .replace(" of dimensions", "")
    }

    fn shape(&self) -> Shape {
        let prints = match self.method {
            Method::Cosine => 0,
            Method::Hyperplanes => 1,
        };
        Shape { width: Width::Bits256, prints, is_bare: false }
    }

    fn dimensions(&self) -> Option<u32> {
        self.dimensions
    }

    fn digester(&self) -> Box<dyn Digester + '_> {
        Box::new(digest::VectorDigester::new(self))
    }

    fn criteria(&self, asked: &Asked, purpose: Purpose) -> Result<Criteria, UsageError> {
        if asked.level == Some(Level::Part) {
            let message = " part is for images; use copy, near or similar";
            return Err(UsageError::new("level", message));
        }
        match self.method {
            Method::Cosine if asked.distance.is_some() => {
                let message = " counts bits, but vectors are compared by cosine; use --similarity, \
                               such as 0.9, or --recipe hyperplanes";
                Err(UsageError::new("distance", message))
            }
            Method::Cosine => {
                let similarity = Some(self.similarity(asked, purpose));
                Ok(Criteria { similarity, ..Criteria::default() })
            }
            Method::Hyperplanes if asked.level.is_some() || asked.similarity.is_some() => {
                let option = if asked.level.is_some() { "level" } else { "similarity" };
                let message = " is a cosine, but --recipe hyperplanes compares bits; use --distance, \
                               or leave --recipe out";
                Err(UsageError::new(option, message))
            }
            Method::Hyperplanes => {
                let distance = asked.distance.unwrap_or(USUAL);
                check_distance(distance, Width::Bits256)?;
                Ok(Criteria { distance: Some(distance), ..Criteria::default() })
            }
        }
    }

    fn lookups(&self, by: &Criteria) -> Vec<Lookup> {
        match (self.method, by.similarity, by.distance) {
            (Method::Cosine, Some(similarity), _) if similarity > Similarity::ZERO => {
                vec![Lookup::Cosine { similarity }]
            }
            (Method::Hyperplanes, _, Some(radius)) => {
                vec![Lookup::Near { radius, turned: false, decides: true }]
            }
            _ => vec![Lookup::Every],
        }
    }

    fn judge(&self, by: &Criteria, a: DigestRef<'_>, b: DigestRef<'_>) -> Option<Closeness> {
        match self.method {
            Method::Cosine => {
                let least = by.similarity.map_or(0, |similarity| least(similarity.get()));
                let (a, b) = (Vector::read(a.extra())?, Vector::read(b.extra())?);
                a.cosine(&b, least, by.kernel).map(closeness)
            }
            Method::Hyperplanes => {
                let distance = a.distance(&b)?;
                let is_near = by.distance.is_none_or(|radius| radius.contains(distance));
                is_near.then_some(Closeness::within(distance))
            }
        }
    }

    fn equal(&self, _by: &Criteria) -> Closeness {
        match self.method {
            Method::Cosine => closeness(ONE),
            Method::Hyperplanes => Closeness::within(0),
        }
    }

    fn usual_distance(&self) -> Radius {
        USUAL
    }

    fn scale(&self, acting: &Criteria, _looking: &Criteria) -> Scale {
        match self.method {
            Method::Cosine => Scale::Similarity {
                least: acting.similarity.map_or(0.0, Similarity::get),
                levels: LEVELS.into(),
            },
            Method::Hyperplanes => {
                Scale::Distance { widest: acting.distance.map_or(0, Radius::bits), levels: vec![] }
            }
        }
    }

    fn words(&self, by: &Criteria) -> String {
        match (self.method, by.similarity, by.distance) {
            (Method::Cosine, Some(similarity), _) => format!("cosine >= {similarity}"),
            (_, _, Some(max)) => format!("distance <= {max} of 256 bits"),
            _ => "any cosine".to_owned(),
        }
    }

    fn notes(&self, by: &Criteria) -> Vec<String> {
        let Some(radius) = by.distance.filter(|_| self.method == Method::Hyperplanes) else {
            return Vec::new();
        };
        let shares = [0.95, 0.9, 0.8].map(|cosine| {
            let percent = (1e3 * planes::recall(cosine, radius)).floor() / 10.0;
            format!("{percent} % at {cosine}")
        });
        vec![format!(
            "note: bits stand for vectors; within {radius} of 256 bits are, of all pairs with a cosine, \
             about {}",
            shares.join(", ")
        )]
    }

    #[cfg(feature = "collection")]
    fn stored(&self) -> super::RecipeText {
        self.to_stored()
    }
}
