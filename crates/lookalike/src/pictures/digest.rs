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
