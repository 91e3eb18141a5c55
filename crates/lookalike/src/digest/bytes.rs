//! The byte form of a digest, for caches and collections.
//!
//! It has a layout byte, a byte of flags for the fields present, then these fields in order, with
//! little-endian numbers and LEB128 counts. A single fingerprint of 64 bits takes 10 bytes.

use super::{Digest, Identity};
use crate::{
    Fingerprint, Width,
    fragments::{Fragment, Place},
    verify::FeatureSet,
};

/// Raised whenever the byte form of the same digest changes.
const LAYOUT: u8 = 1;

/// The width of fingerprints, in the lowest two bits.
const WIDTHS: [Width; 4] = [Width::Bits32, Width::Bits64, Width::Bits128, Width::Bits256];
const ONE_PRINT: u8 = 1 << 2;
const MANY_PRINTS: u8 = 1 << 3;
const SET: u8 = 1 << 4;
const KEY: u8 = 1 << 5;
const PARTS: u8 = 1 << 6;
const EXTRA: u8 = 1 << 7;

impl Digest {
    /// The digest as bytes; `width` is that of its fingerprints.
    pub fn to_bytes(&self, width: Width) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.max_bytes());
        self.write(width, &mut bytes);
        bytes
    }

    /// Appends the bytes of [`to_bytes`](Self::to_bytes).
    pub(crate) fn write(&self, width: Width, bytes: &mut Vec<u8>) {
        let Self { prints, set, key, parts, extra } = self;
        let flag = |is_there: bool, flag: u8| if is_there { flag } else { 0 };
        let code = WIDTHS.iter().position(|one| *one == width).unwrap_or_default() as u8;
        let flags = code
            | flag(prints.len() == 1, ONE_PRINT)
            | flag(prints.len() > 1, MANY_PRINTS)
            | flag(!set.features().is_empty(), SET)
            | flag(key.is_some(), KEY)
            | flag(!parts.is_empty(), PARTS)
            | flag(!extra.is_empty(), EXTRA);
        bytes.extend([LAYOUT, flags]);
        if flags & MANY_PRINTS != 0 {
            write_count(bytes, prints.len());
        }
        let length = width.bits() as usize / 8;
        for print in prints {
            bytes.extend_from_slice(&print.0.map(u64::to_le_bytes).as_flattened()[..length]);
        }
        if flags & SET != 0 {
            write_count(bytes, set.features().len());
            for feature in set.features() {
                bytes.extend_from_slice(&feature.to_le_bytes());
            }
        }
        bytes.extend(key.iter().flatten());
        if flags & PARTS != 0 {
            write_count(bytes, parts.len());
            parts.iter().for_each(|part| write_part(bytes, part));
        }
        bytes.extend(extra);
    }

    /// A little more than the length of the byte form, without writing it.
    pub(crate) fn max_bytes(&self) -> usize {
        let Self { prints, set, parts, extra, .. } = self;
        64 + 32 * prints.len() + 4 * set.features().len() + PART * parts.len() + extra.len()
    }

    /// The digest with this byte form; `None` if there is none.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (&[layout, flags], mut rest) = bytes.split_first_chunk()?;
        if layout != LAYOUT || flags & ONE_PRINT != 0 && flags & MANY_PRINTS != 0 {
            return None;
        }
        let length = WIDTHS[usize::from(flags & 3)].bits() as usize / 8;
        let count = match flags & (ONE_PRINT | MANY_PRINTS) {
            0 => 0,
            ONE_PRINT => 1,
            _ => read_count(&mut rest)?,
        };
        let prints = read_all(&mut rest, count, length, |bytes| {
            let mut whole = [0; 32];
            whole[..length].copy_from_slice(bytes);
            Fingerprint::from_le_bytes(&whole)
        })?;
        let mut set = FeatureSet::default();
        if flags & SET != 0 {
            let count = read_count(&mut rest)?;
            let feature = |bytes: &[u8]| Some(u32::from_le_bytes(bytes.try_into().ok()?));
            set = FeatureSet::from_sorted(read_all(&mut rest, count, 4, feature)?)?;
        }
        let mut key = None;
        if flags & KEY != 0 {
            let (bytes, after) = rest.split_first_chunk::<{ size_of::<Identity>() }>()?;
            (key, rest) = (Some(*bytes), after);
        }
        let mut parts = Vec::new();
        if flags & PARTS != 0 {
            let count = read_count(&mut rest)?;
            parts = read_all(&mut rest, count, PART, read_part)?;
        }
        let extra = if flags & EXTRA != 0 { rest.to_vec() } else { Vec::new() };
        (extra.len() == rest.len()).then_some(Self { prints, set, key, parts, extra })
    }
}

/// The size of a part in bytes: its fingerprint and its place.
const PART: usize = 20;

fn write_part(bytes: &mut Vec<u8>, part: &Fragment) {
    let Fragment { print, place } = part;
    bytes.extend(print.to_le_bytes());
    bytes.extend([place.x, place.y, place.scale].iter().flat_map(|at| at.to_le_bytes()));
}

fn read_part(bytes: &[u8]) -> Option<Fragment> {
    let (print, place) = bytes.split_first_chunk::<8>()?;
    let mut places = place.as_chunks::<4>().0.iter().map(|at| f32::from_le_bytes(*at));
    let place = Place { x: places.next()?, y: places.next()?, scale: places.next()? };
    Some(Fragment { print: Fingerprint([u64::from_le_bytes(*print)]), place })
}

/// Values of a fixed size in bytes, preceded by their number.
fn read_all<T>(
    rest: &mut &[u8],
    count: usize,
    length: usize,
    read: impl Fn(&[u8]) -> Option<T>,
) -> Option<Vec<T>> {
    let (bytes, after) = rest.split_at_checked(count.checked_mul(length)?)?;
    *rest = after;
    let mut values = Vec::with_capacity(count);
    for bytes in bytes.chunks_exact(length) {
        values.push(read(bytes)?);
    }
    Some(values)
}

pub(crate) fn write_count(bytes: &mut Vec<u8>, count: usize) {
    let mut rest = count;
    while rest >= 0x80 {
        bytes.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    bytes.push(rest as u8);
}

pub(crate) fn read_count(rest: &mut &[u8]) -> Option<usize> {
    let mut count = 0_usize;
    for shift in (0..usize::BITS).step_by(7) {
        let (&byte, after) = rest.split_first()?;
        *rest = after;
        count |= usize::from(byte & 0x7f).checked_shl(shift)?;
        if byte & 0x80 == 0 {
            return Some(count);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn digests() -> impl Strategy<Value = (Digest, Width)> {
        let width = prop::sample::select(WIDTHS.to_vec());
        let prints = prop::collection::vec(any::<[u64; 4]>(), 0..9);
        let features = prop::collection::vec(any::<u32>(), 0..200);
        let part = (any::<u64>(), any::<[i16; 3]>());
        let parts = prop::collection::vec(part, 0..9);
        let extra = prop::collection::vec(any::<u8>(), 0..9);
        (width, prints, features, any::<Option<Identity>>(), parts, extra).prop_map(
            |(width, prints, features, key, parts, extra)| {
                let cut = |words: [u64; 4]| {
                    let kept = (width.bits() as usize).div_ceil(64);
                    let mut words = words;
                    words[kept..].fill(0);
                    if width == Width::Bits32 {
                        words[0] &= u64::from(u32::MAX);
                    }
                    Fingerprint(words)
                };
                let part = |(print, [x, y, scale]): (u64, [i16; 3])| Fragment {
                    print: Fingerprint([print]),
                    place: Place { x: x.into(), y: y.into(), scale: scale.into() },
                };
                let digest = Digest {
                    prints: prints.into_iter().map(cut).collect(),
                    set: FeatureSet::new(features),
                    key,
                    parts: parts.into_iter().map(part).collect(),
                    extra,
                };
                (digest, width)
            },
        )
    }

    proptest! {
        #[test]
        fn what_is_written_is_read((digest, width) in digests()) {
            prop_assert_eq!(Digest::from_bytes(&digest.to_bytes(width)), Some(digest));
        }

        #[test]
        fn any_bytes_are_a_digest_or_none(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            if let Some(digest) = Digest::from_bytes(&bytes) {
                let width = WIDTHS[usize::from(bytes[1] & 3)];
                prop_assert_eq!(Digest::from_bytes(&digest.to_bytes(width)), Some(digest));
            }
        }
    }

    #[test]
    fn digests_are_written_in_the_same_way_for_ever() {
        let digest = Digest {
            prints: vec![Fingerprint([0x0807_0605_0403_0201, 0, 0, 0])],
            set: FeatureSet::new(vec![2, 0x0102_0304]),
            key: None,
            parts: vec![Fragment {
                print: Fingerprint([9]),
                place: Place { x: 1.0, y: 0.0, scale: -2.0 },
            }],
            extra: vec![0xee],
        };
        let bytes = [
            &[1, 0b1101_0101][..],
            &[1, 2, 3, 4, 5, 6, 7, 8],
            &[2, 2, 0, 0, 0, 4, 3, 2, 1],
            &[1, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x3f, 0, 0, 0, 0, 0, 0, 0, 0xc0],
            &[0xee],
        ];
        assert_eq!(digest.to_bytes(Width::Bits64), bytes.concat());
    }
}
