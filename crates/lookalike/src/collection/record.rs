//! The byte form of an item.
//!
//! A record consists of its checksum, the time of insertion, the id, the length of the digest, the
//! digest, a hash of the content if there is one, and the payload. Numbers are little-endian; the
//! length of the digest is LEB128. The checksum is seeded with the sequence number, so that a record
//! stored under another sequence number is detected.

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::{NewItem, StoredItem};
use crate::{
    Digest,
    digest::{Identity, Shape, read_count, write_count},
};

/// The longest id in bytes.
const MAX_ID: usize = i16::MAX as usize;

/// The bit in the length of an id that marks an item with a hash of its content.
const HAS_CONTENT: u16 = 1 << 15;

/// The longest digest and the longest payload in bytes.
const MAX_DIGEST: usize = 16 << 20;
const MAX_PAYLOAD: usize = 64 << 10;

/// The size of the checksum before the body.
pub const CHECKSUM: usize = 8;

/// The offset of the id.
pub const ID: usize = CHECKSUM + 8 + 2;

/// Whether an item can be stored; if not, why.
pub fn check(item: &NewItem<'_>, shape: Shape) -> Result<(), String> {
    let NewItem { id, digest, payload, .. } = item;
    if id.is_empty() {
        return Err("the id is empty".to_owned());
    }
    if id.len() > MAX_ID {
        return Err(format!("an id has at most {MAX_ID} bytes, this one {}", id.len()));
    }
    check_digest(digest, shape)?;
    let Some(payload) = payload else { return Ok(()) };
    if payload.len() > MAX_PAYLOAD {
        let length = payload.len();
        return Err(format!("a payload has at most {MAX_PAYLOAD} bytes, this one {length}"));
    }
    serde_json::from_str::<serde_json::Value>(payload)
        .map(|_| ())
        .map_err(|error| format!("the payload is not JSON: {error}"))
}

/// Whether a digest can be stored; if not, why.
pub fn check_digest(digest: &Digest, shape: Shape) -> Result<(), String> {
    if digest.is_empty() {
        return Err("it is empty, and empty items never match".to_owned());
    }
    check_shape(digest, shape)?;
    if shape.is_bare && !digest.is_bare() {
        return Err("only a fingerprint is kept here, and it has more".to_owned());
    }
    let bytes = digest.max_bytes();
    if bytes > MAX_DIGEST {
        return Err(format!("a digest has at most {MAX_DIGEST} bytes, this one about {bytes}"));
    }
    Ok(())
}

/// Whether a digest can be searched for; if not, why.
pub fn check_shape(digest: &Digest, shape: Shape) -> Result<(), String> {
    let bits = shape.width.bits();
    if digest.prints.len() > shape.prints {
        let (max, has) = (shape.prints, digest.prints.len());
        return Err(format!("an item has at most {max} fingerprints here, this one {has}"));
    }
    let is_wider = |print: &crate::Fingerprint<4>| {
        (0..4).any(|word| {
            let kept = bits.saturating_sub(64 * word).min(64);
            kept < 64 && print.0[word as usize] >> kept != 0
        })
    };
    if digest.prints.iter().any(is_wider) {
        return Err(format!("a fingerprint has more than {bits} bits"));
    }
    Ok(())
}

/// Appends a record without its checksum, which depends on the sequence number.
pub fn encode(item: &NewItem<'_>, shape: Shape, inserted: u64, bytes: &mut Vec<u8>) {
    let has_content = if item.content.is_some() { HAS_CONTENT } else { 0 };
    bytes.extend([0; CHECKSUM]);
    bytes.extend(inserted.to_le_bytes());
    bytes.extend((item.id.len() as u16 | has_content).to_le_bytes());
    bytes.extend(item.id.as_bytes());
    let start = bytes.len();
    item.digest.write(shape.width, bytes);
    let end = bytes.len();
    write_count(bytes, end - start);
    // The length is known only now, but comes before the digest.
    let length = bytes.len() - end;
    bytes[start..].rotate_right(length);
    bytes.extend(item.content.iter().flatten());
    bytes.extend(item.payload.unwrap_or_default().as_bytes());
}

/// Fills in the checksum and returns it.
pub fn seal(record: &mut [u8], sequence: u64) -> u64 {
    let checksum = xxh3_64_with_seed(&record[CHECKSUM..], sequence);
    record[..CHECKSUM].copy_from_slice(&checksum.to_le_bytes());
    checksum
}

/// The checksum of a record; `None` if the record is not the one written under this sequence number.
pub fn checksum(record: &[u8], sequence: u64) -> Option<u64> {
    let (checksum, body) = record.split_first_chunk()?;
    let checksum = u64::from_le_bytes(*checksum);
    (xxh3_64_with_seed(body, sequence) == checksum).then_some(checksum)
}

/// The id in a damaged record, as far as it can be read.
pub fn probable_id(record: &[u8]) -> String {
    let length = record.get(ID - 2..).and_then(|rest| rest.first_chunk());
    let length = length.map_or(0, |&length| usize::from(u16::from_le_bytes(length) & !HAS_CONTENT));
    let id = record.get(ID..).unwrap_or_default();
    String::from_utf8_lossy(&id[..id.len().min(length)]).chars().take(80).collect()
}

/// A parsed record.
pub struct Record<'a> {
    pub checksum: u64,
    pub inserted: u64,
    pub id: &'a str,
    digest: &'a [u8],
    content: Option<&'a Identity>,
    payload: &'a str,
}

impl<'a> Record<'a> {
    /// Reads a record; `None` if it is not the one written under this sequence number.
    pub fn read(bytes: &'a [u8], sequence: u64) -> Option<Self> {
        checksum(bytes, sequence)?;
        Self::parse(bytes)
    }

    /// Parses a record without checking its checksum: it is not sealed yet, or known to be intact.
    pub fn parse(bytes: &'a [u8]) -> Option<Self> {
        let (checksum, rest) = bytes.split_first_chunk()?;
        let (inserted, rest) = rest.split_first_chunk()?;
        let (length, rest) = rest.split_first_chunk()?;
        let length = u16::from_le_bytes(*length);
        let (id, mut rest) = rest.split_at_checked((length & !HAS_CONTENT).into())?;
        let digest = take_digest(&mut rest)?;
        let mut content = None;
        if length & HAS_CONTENT != 0 {
            let (hash, after) = rest.split_first_chunk()?;
            (content, rest) = (Some(hash), after);
        }
        Some(Self {
            checksum: u64::from_le_bytes(*checksum),
            inserted: u64::from_le_bytes(*inserted),
            id: str::from_utf8(id).ok()?,
            digest,
            content,
            payload: str::from_utf8(rest).ok()?,
        })
    }

    /// The digest in the record of an item, given the bytes after its id.
    pub fn digest_after_id(mut rest: &[u8]) -> Option<Digest> {
        Digest::from_bytes(take_digest(&mut rest)?)
    }

    /// The digest of the item; `None` if the bytes are not a digest.
    pub fn digest(&self) -> Option<Digest> {
        Digest::from_bytes(self.digest)
    }

    /// Whether two items have the same content: by its hash if both have one, else by the digest.
    pub fn has_content_of(&self, other: &Record<'_>) -> bool {
        match (self.content, other.content) {
            (Some(one), Some(other)) => one == other,
            _ => self.digest == other.digest,
        }
    }

    /// Whether two items with the same id differ at most in the time of insertion.
    pub fn equals(&self, other: &Record<'_>) -> bool {
        (self.digest, self.content, self.payload) == (other.digest, other.content, other.payload)
    }

    /// The item of this record; `None` if its digest cannot be read.
    pub fn to_item(&self, sequence: u64) -> Option<StoredItem> {
        Some(StoredItem {
            id: self.id.to_owned(),
            sequence,
            inserted: self.inserted,
            digest: self.digest()?,
            content: self.content.copied(),
            payload: (!self.payload.is_empty()).then(|| self.payload.to_owned()),
        })
    }
}

/// Takes the bytes of a digest, which follow their length.
fn take_digest<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = read_count(rest)?;
    let (digest, after) = rest.split_at_checked(length)?;
    *rest = after;
    Some(digest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Fingerprint, Width, verify::FeatureSet};

    const SHAPE: Shape = Shape { width: Width::Bits128, prints: 2, is_bare: false };

    fn digest() -> Digest {
        let prints = vec![Fingerprint([1, 2, 0, 0]), Fingerprint([3, 4, 0, 0])];
        Digest { prints, set: FeatureSet::new(vec![2, 4]), ..Digest::default() }
    }

    fn record(sequence: u64) -> Vec<u8> {
        let digest = digest();
        let content = Some([7; 16]);
        let item = NewItem { payload: Some("[1]"), content, ..NewItem::new("früh", &digest) };
        let mut bytes = Vec::new();
        encode(&item, SHAPE, 77, &mut bytes);
        seal(&mut bytes, sequence);
        bytes
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let bytes = record(5);
        let item = Record::read(&bytes, 5).unwrap().to_item(5).unwrap();
        assert_eq!((item.id.as_str(), item.inserted), ("früh", 77));
        assert_eq!((item.digest, item.content), (digest(), Some([7; 16])));
        assert_eq!(item.payload.as_deref(), Some("[1]"));
    }

    #[test]
    fn a_changed_cut_or_displaced_record_is_refused() {
        let bytes = record(5);
        assert!(Record::read(&bytes, 6).is_none());
        for length in 0..bytes.len() {
            assert!(Record::read(&bytes[..length], 5).is_none(), "cut at {length}");
        }
        for place in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[place] ^= 4;
            assert!(Record::read(&changed, 5).is_none(), "changed at {place}");
        }
    }

    #[test]
    fn a_fingerprint_of_64_bits_takes_29_bytes_beside_the_id() {
        let shape = Shape { width: Width::Bits64, prints: 1, is_bare: true };
        let mut bytes = Vec::new();
        let digest = Digest::of_print(Fingerprint([7, 0, 0, 0]));
        encode(&NewItem::new("a", &digest), shape, 77, &mut bytes);
        assert_eq!(bytes.len(), 30);
    }

    #[test]
    fn an_item_that_cannot_be_stored_is_refused_with_the_reason() {
        let bare = |width| Shape { width, prints: 1, is_bare: true };
        let print = Digest::of_print(Fingerprint([1, 0, 0, 0]));
        let long = "x".repeat(MAX_ID + 1);
        let refused = |item: NewItem<'_>, shape| check(&item, shape).unwrap_err();
        assert_eq!(check(&NewItem::new("a", &print), bare(Width::Bits32)), Ok(()));
        assert_eq!(refused(NewItem::new("", &print), bare(Width::Bits64)), "the id is empty");
        let long = refused(NewItem::new(&long, &print), bare(Width::Bits64));
        assert!(long.contains("at most 32767 bytes"), "{long}");
        let empty = Digest::default();
        let empty = refused(NewItem::new("a", &empty), bare(Width::Bits64));
        assert_eq!(empty, "it is empty, and empty items never match");
        let wide = Digest::of_print(Fingerprint([1 << 32, 0, 0, 0]));
        assert_eq!(check(&NewItem::new("a", &wide), bare(Width::Bits64)), Ok(()));
        let wide = refused(NewItem::new("a", &wide), bare(Width::Bits32));
        assert_eq!(wide, "a fingerprint has more than 32 bits");
        let several = digest();
        assert_eq!(check(&NewItem::new("a", &several), SHAPE), Ok(()));
        let several = refused(NewItem::new("a", &several), bare(Width::Bits128));
        assert_eq!(several, "an item has at most 1 fingerprints here, this one 2");
        let payload = NewItem { payload: Some("{"), ..NewItem::new("a", &print) };
        assert!(refused(payload, bare(Width::Bits64)).starts_with("the payload is not JSON"));
    }
}
