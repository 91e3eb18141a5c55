//! The digest of an image.
//!
//! Fingerprints and parts have their own columns. Everything else that decides is in `extra`: the other
//! frames, and the small copy on which overlaps are compared.

use super::{
    super::{Digester, Input, ReadSeek, Unfit},
    ImageKind,
};
use crate::{
    Digest, Facts,
    digest::{Identity, identity_of},
    extract::image::{
        DecodeError, Decoder, Frames, Gray, Image, ImageFormat, LOCAL_SIDE, Part, Small, facts,
        fragments,
    },
};

/// Raised whenever the digest of the same image changes.
pub const PARTS_VERSION: u32 = 2;

/// Makes digests of images.
pub(super) struct ImageDigester<'a> {
    pub kind: &'a ImageKind,
}

impl Digester for ImageDigester<'_> {
    fn digest(&mut self, input: Input<'_>) -> Result<(Digest, Facts), Unfit> {
        match input {
            Input::File { bytes, extension } => {
                let image = self.decoder().decode_named(bytes, extension).map_err(unfit)?;
                let key = || identity_of(blake3::Hasher::new().update(bytes));
                let facts = facts(bytes, image.format, (image.width, image.height));
                Ok((self.of_image(&image, key), facts))
            }
            Input::Image(image) => {
                let key = || identity_of(blake3::Hasher::new().update(image.pixels.as_bytes()));
                let pixels = Some((image.width, image.height));
                let format = Some(image.format.name().to_owned());
                let facts = Facts { pixels, format, ..Facts::default() };
                Ok((self.of_image(image, key), facts))
            }
            _ => Err(Unfit { reason: "of another type", message: "not an image".to_owned() }),
        }
    }

    fn recognise(&self, start: &[u8]) -> Result<(), Unfit> {
        if start.is_empty() || ImageFormat::of_content(start).is_some() {
            return Ok(());
        }
        self.decoder().decode(start).map(drop).map_err(unfit)
    }

    fn memory(&self, mut file: &mut dyn ReadSeek) -> u64 {
        let decoder = self.decoder();
        let needed = decoder.memory(&mut file).unwrap_or(0);
        // Files that decoders reject anyway need no memory.
        if needed > 8 * decoder.limits.bytes { 0 } else { needed }
    }
}

impl ImageDigester<'_> {
    fn decoder(&self) -> Decoder {
        let colour = self.kind.recipe.method.needs_colour();
        Decoder { limits: self.kind.limits, colour, frames: true }
    }

    /// `key` is that of an image that matches only files with the same bytes.
    fn of_image(&self, image: &Image, key: impl Fn() -> Identity) -> Digest {
        let ImageKind { recipe, orientations, partial, .. } = self.kind;
        let frames = &image.frames;
        let Some(prints) = recipe.prints(image, *orientations) else {
            return Digest { key: Some(key()), ..Digest::default() };
        };
        let all = match prints.turned {
            Some(turned) => {
                let others = turned.iter().skip(1).copied();
                [prints.upright].into_iter().chain(others).collect()
            }
            None => vec![prints.upright],
        };
        let mut digest = Digest { prints: all, ..Digest::default() };
        let mut small = None;
        if *partial {
            let pixels = &image.pixels;
            let whole = Part { x: 0, y: 0, width: pixels.width(), height: pixels.height() };
            let gray = Gray::shrunk(pixels, whole, LOCAL_SIDE);
            digest.parts = fragments(&gray);
            small = Some(Small::of(&gray));
        }
        let content = (!frames.are_described()).then(key);
        let is_raw = image.format.is_raw();
        Extra { content, frames: frames.clone(), small, is_raw }.write(&mut digest.extra);
        digest
    }
}

/// What decides besides fingerprints and parts.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Extra {
    /// Identifies a file of which not all frames are described.
    pub content: Option<Identity>,
    pub frames: Frames,
    pub small: Option<Small>,
    /// Decides nothing, but keeps a RAW file and the JPEG in it separate entries of
    /// [`Digests`](crate::digest::Digests), so that grouping can distinguish them.
    pub is_raw: bool,
}

const FRAMES: u8 = 1;
const SMALL: u8 = 2;
const CONTENT: u8 = 4;
const RAW: u8 = 8;

impl Extra {
    /// Appends it as bytes; none if it is empty.
    pub fn write(&self, bytes: &mut Vec<u8>) {
        let Self { content, frames, small, is_raw } = self;
        let flag = |is_there: bool, flag: u8| if is_there { flag } else { 0 };
        let flags = flag(frames.more > 0, FRAMES)
            | flag(small.is_some(), SMALL)
            | flag(content.is_some(), CONTENT)
            | flag(*is_raw, RAW);
        if flags == 0 {
            return;
        }
        bytes.push(flags);
        bytes.extend(content.iter().flatten());
        if frames.more > 0 {
            frames.write(bytes);
        }
        small.iter().for_each(|small| small.write(bytes));
    }

    /// Whether the other frames allow two files to be copies.
    pub fn frames_agree(&self, other: &Self) -> bool {
        let is_same_file = self.content.is_some() && self.content == other.content;
        is_same_file || self.frames.agree(&other.frames)
    }

    /// Reads what was written; `None` if it is something else.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        let Some((flags, mut rest)) = bytes.split_first() else { return Some(Self::default()) };
        let mut content = None;
        if flags & CONTENT != 0 {
            let (bytes, after) = rest.split_first_chunk()?;
            (content, rest) = (Some(*bytes), after);
        }
        let mut frames = Frames::default();
        if flags & FRAMES != 0 {
            (frames, rest) = Frames::read(rest)?;
        }
        let small = if flags & SMALL != 0 { Some(Small::read(rest)?) } else { None };
        Some(Self { content, frames, small, is_raw: flags & RAW != 0 })
    }
}

fn unfit(error: DecodeError) -> Unfit {
    let reason = match error {
        DecodeError::Empty => "empty",
        DecodeError::NotAnImage { .. } => "not an image",
        DecodeError::NotRead { .. } | DecodeError::Unsupported { .. } => {
            "of a format that is not read"
        }
        DecodeError::TooManyPixels { .. } | DecodeError::TooMuchMemory { .. } => "too large",
        _ => "broken",
    };
    Unfit { reason, message: error.to_string() }
}
