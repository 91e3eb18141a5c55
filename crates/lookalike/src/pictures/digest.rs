//! What is kept of a picture, once its pixels are gone?

use super::PictureSearch;
use crate::{
    Fingerprint,
    extract::image::{DecodeError, Orientation, Picture, PictureFormat},
    hash::FeatureHash,
    recipe::PicturePrints,
};

/// All that a search needs of one picture, and what people want to know of it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PictureDigest {
    /// Pixels of a row, as shown.
    pub width: u32,
    /// Rows, as shown.
    pub height: u32,
    /// What the file is, by its content.
    pub format: PictureFormat,
    /// A hash of the bytes of the file: equal files are equal pictures.
    pub content: [u64; 2],
    /// Its fingerprints; `None` if it is too flat or too small to have any.
    pub prints: Option<PicturePrints>,
}

/// Raised whenever a digest of the same file may hold something else, though the recipe is the same:
/// another decoder, another form of [`PictureDigest::to_bytes`].
pub(super) const DIGEST_VERSION: u32 = 1;

impl PictureDigest {
    /// The digest as bytes, for whoever keeps digests. They go by
    /// [`PictureSearch::digest_name`]: under another name they mean nothing.
    ///
    /// ```
    /// # use lookalike::{PictureDigest, PicturePreset, PictureSearch};
    /// # use lookalike::extract::image::{Picture, Pixels};
    /// # let search = PictureSearch::new(&PicturePreset::ALL[0].recipe, PicturePreset::ALL[0].radius());
    /// # let picture = Picture::of_pixels(Pixels::gray(64, 64, vec![7; 64 * 64]).unwrap());
    /// let digest = search.digest_picture(&picture, b"the bytes of its file");
    /// assert_eq!(PictureDigest::from_bytes(&digest.to_bytes()), Some(digest));
    /// ```
    pub fn to_bytes(&self) -> Vec<u8> {
        let Self { width, height, format, content, prints } = self;
        let format = PictureFormat::ALL.iter().position(|one| one == format);
        let mut bytes = vec![format.map_or(u8::MAX, |place| place as u8)];
        bytes.extend([width, height].iter().flat_map(|number| number.to_le_bytes()));
        bytes.extend(content.iter().flat_map(|word| word.to_le_bytes()));
        let words = prints.iter().flat_map(|PicturePrints { upright, turned }| {
            let turned = turned.iter().flat_map(|turned| turned.iter());
            [upright].into_iter().chain(turned).flat_map(|print| print.0)
        });
        bytes.extend(words.flat_map(u64::to_le_bytes));
        bytes
    }

    /// The digest that was written as these bytes; `None` if there is none.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        const HEAD: usize = 1 + 2 * 4 + 2 * 8;
        let (head, rest) = bytes.split_at_checked(HEAD)?;
        let number = |at: usize| Some(u32::from_le_bytes(head.get(at..at + 4)?.try_into().ok()?));
        let word = |bytes: &[u8]| Some(u64::from_le_bytes(bytes.try_into().ok()?));
        let format = match head[0] {
            u8::MAX => PictureFormat::Raw,
            place => *PictureFormat::ALL.get(usize::from(place))?,
        };
        let print = |bytes: &[u8]| {
            let words: Option<Vec<u64>> = bytes.chunks(8).map(word).collect();
            Some(Fingerprint(words?.try_into().ok()?))
        };
        let prints: Option<Vec<Fingerprint<4>>> = rest.chunks(32).map(print).collect();
        let prints = match prints?.as_slice() {
            [] => None,
            [upright] => Some(PicturePrints { upright: *upright, turned: None }),
            [upright, turned @ ..] => {
                let turned = Some(Box::new(turned.try_into().ok()?));
                Some(PicturePrints { upright: *upright, turned })
            }
        };
        let content = [word(&head[9..17])?, word(&head[17..25])?];
        Some(Self { width: number(1)?, height: number(5)?, format, content, prints })
    }
}

/// How near two pictures are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PictureCloseness {
    /// Bits in which their fingerprints differ, in the orientation in which they differ least.
    pub distance: u32,
    /// How the second one lies, compared with the first.
    pub orientation: Orientation,
}

impl PictureSearch<'_> {
    /// How near two pictures are; `None` if one has no fingerprint, and they are not the same file.
    pub fn compare(&self, one: &PictureDigest, two: &PictureDigest) -> Option<PictureCloseness> {
        if one.content == two.content {
            return Some(PictureCloseness { distance: 0, orientation: Orientation::UPRIGHT });
        }
        let (one, two) = (one.prints.as_ref()?, two.prints.as_ref()?);
        let upright = [two.upright];
        let turned = two.turned.as_deref().map_or(&upright[..], |turned| turned);
        let near = |(print, orientation): (&Fingerprint<4>, Orientation)| PictureCloseness {
            distance: one.upright.distance(print),
            orientation,
        };
        turned.iter().zip(Orientation::ALL).map(near).min_by_key(|near| near.distance)
    }

    /// Decodes a file and keeps what the search needs. Takes memory for the pixels of this one
    /// picture; call it on as many threads as there may be pictures in memory.
    pub fn digest(&self, bytes: &[u8]) -> Result<PictureDigest, DecodeError> {
        Ok(self.digest_picture(&self.decoder().decode(bytes)?, bytes))
    }

    /// What is kept of a picture that was decoded before. `content` tells it from others: the bytes
    /// of its file.
    pub fn digest_picture(&self, picture: &Picture, content: &[u8]) -> PictureDigest {
        PictureDigest {
            width: picture.width,
            height: picture.height,
            format: picture.format,
            content: [0, 1].map(|seed| FeatureHash::Xxh3.hash(seed, content)),
            prints: self.recipe.prints(picture, self.orientations),
        }
    }
}
