//! What is kept of an image, once its pixels are gone?

use super::{ImageParts, ImageSearch, partial, whole};
use crate::{
    Fingerprint,
    extract::image::{DecodeError, Frames, Image, ImageFormat, Orientation},
    hash,
    recipe::ImagePrints,
};

/// All that a search needs of one image, and what people want to know of it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ImageDigest {
    /// Pixels of a row, as shown.
    pub width: u32,
    /// Rows, as shown.
    pub height: u32,
    /// What the file is, by its content.
    pub format: ImageFormat,
    /// The [identity](hash::content) of the bytes of the file: equal files are equal images.
    pub content: [u64; 2],
    /// Its further frames or pages.
    pub frames: Frames,
    /// Its fingerprints; `None` if it is too flat or too small to have any.
    pub prints: Option<ImagePrints>,
    /// Its parts, if they were asked for.
    pub parts: Option<ImageParts>,
}

/// Raised whenever a digest of the same file may hold something else, though the recipe is the same:
/// another decoder, another form of [`ImageDigest::to_bytes`].
pub(super) const DIGEST_VERSION: u32 = 6;

impl ImageDigest {
    /// The digest as bytes, for whoever keeps digests. They go by
    /// [`ImageSearch::digest_name`]: under another name they mean nothing.
    ///
    /// ```
    /// # use lookalike::{ImageDigest, ImagePreset, ImageSearch};
    /// # use lookalike::extract::image::{Image, Pixels};
    /// # let search = ImageSearch::new(&ImagePreset::ALL[0].recipe, ImagePreset::ALL[0].radius());
    /// # let image = Image::of_pixels(Pixels::gray(64, 64, vec![7; 64 * 64]).unwrap());
    /// let digest = search.digest_image(&image, b"the bytes of its file");
    /// assert_eq!(ImageDigest::from_bytes(&digest.to_bytes()), Some(digest));
    /// ```
    pub fn to_bytes(&self) -> Vec<u8> {
        let Self { width, height, format, content, frames, prints, parts } = self;
        let format = ImageFormat::ALL.iter().position(|one| one == format);
        let mut bytes = vec![format.map_or(u8::MAX, |place| place as u8)];
        bytes.extend([width, height].iter().flat_map(|number| number.to_le_bytes()));
        bytes.extend(content.iter().flat_map(|word| word.to_le_bytes()));
        let turned = prints.as_ref().and_then(|prints| prints.turned.as_deref());
        // Once there were fingerprints of another kind: the third flag.
        let has = [prints.is_some(), turned.is_some(), false, parts.is_some()];
        let mut has = has.map(u8::from);
        // Whatever has no further frames is written as it was before there were any.
        has[0] |= u8::from(frames.more > 0) << 1;
        bytes.extend(has);
        let upright = prints.iter().map(|prints| &prints.upright);
        let all = upright.chain(turned.into_iter().flatten());
        bytes.extend(all.flat_map(|print| print.to_le_bytes()));
        if frames.more > 0 {
            frames.write(&mut bytes);
        }
        parts.iter().for_each(|parts| parts.write(&mut bytes));
        bytes
    }

    /// The digest that was written as these bytes; `None` if there is none.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (head, rest) = bytes.split_first_chunk::<25>()?;
        let number = |at: usize| Some(u32::from_le_bytes(head.get(at..at + 4)?.try_into().ok()?));
        let word = |at: usize| Some(u64::from_le_bytes(head.get(at..at + 8)?.try_into().ok()?));
        let format = match head[0] {
            u8::MAX => ImageFormat::Raw,
            place => *ImageFormat::ALL.get(usize::from(place))?,
        };
        let (&has, mut rest) = rest.split_first_chunk::<4>()?;
        let has_frames = has[0] & 2 != 0;
        let [has_prints, has_turned, has_others, has_parts] = has.map(|flag| flag & 1 != 0);
        let mut print = || {
            let (print, after) = rest.split_first_chunk::<32>()?;
            rest = after;
            Fingerprint::<4>::from_le_bytes(print)
        };
        let prints = if has_prints {
            let upright = print()?;
            let turned = if has_turned {
                let all: Option<Vec<_>> = (0..8).map(|_| print()).collect();
                Some(Box::new(<[Fingerprint<4>; 8]>::try_from(all?).ok()?))
            } else {
                None
            };
            if has_others {
                print()?;
            }
            Some(ImagePrints { upright, turned })
        } else {
            None
        };
        let (frames, rest) =
            if has_frames { Frames::read(rest)? } else { (Frames::default(), rest) };
        let parts = if has_parts { Some(ImageParts::read(rest)?) } else { None };
        let content = [word(9)?, word(17)?];
        let (width, height) = (number(1)?, number(5)?);
        Some(Self { width, height, format, content, frames, prints, parts })
    }
}

/// How near two images are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ImageCloseness {
    /// Bits in which their fingerprints differ, in the orientation in which they differ least. The
    /// same whichever image is the first. Files whose further frames or pages do not
    /// [agree](Frames::agree) are never nearer than similar, whatever their first ones look like.
    pub distance: u32,
    /// How the second one must be turned to lie as the first does.
    pub orientation: Orientation,
}

impl ImageSearch {
    /// How near two images are; `None` if one has no fingerprint, and they are not the same file.
    /// Orientations count only if the search looks for them.
    pub fn compare(&self, one: &ImageDigest, two: &ImageDigest) -> Option<ImageCloseness> {
        let upright = |distance| ImageCloseness { distance, orientation: Orientation::UPRIGHT };
        if one.content == two.content {
            return Some(upright(0));
        }
        let least = if one.frames.agree(&two.frames) { 0 } else { self.recipe.beyond_near() };
        let near = self.compare_first(one, two)?;
        Some(ImageCloseness { distance: near.distance.max(least), ..near })
    }

    /// How near their first frames are.
    fn compare_first(&self, one: &ImageDigest, two: &ImageDigest) -> Option<ImageCloseness> {
        let upright = |distance| ImageCloseness { distance, orientation: Orientation::UPRIGHT };
        let (one, two) = (one.prints.as_ref()?, two.prints.as_ref()?);
        let upright = upright(one.upright.distance(&two.upright));
        if !self.orientations {
            return Some(upright);
        }
        // Turning one image is not the same as turning the other back: bits depend on a median,
        // which moves when frequencies change their sign.
        let turned = |still: &ImagePrints, turned: &ImagePrints| {
            let prints = turned.turned.as_deref().into_iter().flatten();
            let distances = prints.map(|print| still.upright.distance(print));
            distances.zip(Orientation::ALL).min()
        };
        let second = turned(one, two);
        let first = turned(two, one).map(|(distance, turned)| (distance, turned.inverse()));
        let nearest = second.into_iter().chain(first).min();
        let nearest =
            nearest.map(|(distance, orientation)| ImageCloseness { distance, orientation });
        nearest.into_iter().chain([upright]).min_by_key(|near| near.distance)
    }

    /// Whether two images are alike: what [`Images`](super::Images) says of them, whatever
    /// other images there are, and whichever is the first.
    pub fn are_alike(&self, one: &ImageDigest, two: &ImageDigest) -> bool {
        one.content == two.content
            || whole::are_alike(self, one, two)
            || self.partial && partial::overlap(self, one, two).is_some()
    }

    /// Decodes a file and keeps what the search needs. Takes memory for the pixels of this one
    /// image; call it on as many threads as there may be images in memory.
    pub fn digest(&self, bytes: &[u8]) -> Result<ImageDigest, DecodeError> {
        self.digest_named(bytes, None)
    }

    /// As [`digest`](Self::digest), of a file whose name has this extension: it decides what a file
    /// that starts like a TIFF is, if its content does not.
    pub fn digest_named(
        &self,
        bytes: &[u8],
        extension: Option<&str>,
    ) -> Result<ImageDigest, DecodeError> {
        Ok(self.digest_image(&self.decoder().decode_named(bytes, extension)?, bytes))
    }

    /// What is kept of an image that was decoded before. `content` tells it from others: the bytes
    /// of its file.
    pub fn digest_image(&self, image: &Image, content: &[u8]) -> ImageDigest {
        ImageDigest {
            width: image.width,
            height: image.height,
            format: image.format,
            content: hash::content(content),
            frames: image.frames.clone(),
            prints: self.recipe.prints(image, self.orientations),
            parts: self.partial.then(|| ImageParts::of(image)),
        }
    }
}
