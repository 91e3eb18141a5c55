//! How does an item become the bytes of a record?
//!
//! A record is a checksum and a body. The checksum covers the sequence number, too, so a record
//! cannot pass for another one. Everything is little-endian.
//!
//! ```text
//! checksum  u64   XXH3 of the body, seeded with the sequence number
//! inserted  u64   milliseconds since 1970
//! id        u16 length, then UTF-8
//! prints    u32 count, then 8 bytes a word
//! payload   the rest: JSON, or nothing
//! ```

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::{StoredItem, item::NewItem};
use crate::Fingerprint;

/// The longest id, in bytes: 65,536 of them stay below 4 GiB, which the table of ids relies on.
const MOST_ID: usize = i16::MAX as usize;

/// The longest payload.
const MOST_PAYLOAD: usize = 64 << 10;

/// Bytes before the body.
pub const CHECKSUM: usize = 8;

/// Where the id starts.
pub const ID: usize = CHECKSUM + 8 + 2;

/// What is wrong with an item of this width, if anything.
pub fn check(item: &NewItem<'_>, bits: u32) -> Result<(), String> {
    if item.id.is_empty() {
        return Err("the id is empty".to_owned());
    }
    if item.id.len() > MOST_ID {
        return Err(format!("an id has at most {MOST_ID} bytes, this one {}", item.id.len()));
    }
    if item.fingerprints.is_empty() {
        return Err("it has no fingerprint".to_owned());
    }
    if item.fingerprints.iter().any(|print| is_wider(print, bits)) {
        return Err(format!("a fingerprint has more than {bits} bits"));
    }
    let Some(payload) = item.payload else { return Ok(()) };
    if payload.len() > MOST_PAYLOAD {
        return Err(format!(
            "a payload has at most {MOST_PAYLOAD} bytes, this one {}",
            payload.len()
        ));
    }
    serde_json::from_str::<serde_json::Value>(payload)
        .map(|_| ())
        .map_err(|error| format!("the payload is not JSON: {error}"))
}

/// Whether any bit beyond the width is set.
pub fn is_wider(print: &Fingerprint<4>, bits: u32) -> bool {
    (0..4).any(|word| {
        let kept = bits.saturating_sub(64 * word).min(64);
        kept < 64 && print.0[word as usize] >> kept != 0
    })
}

/// Appends a record without its checksum, which waits for the sequence number.
pub fn encode(item: &NewItem<'_>, words: usize, inserted: u64, bytes: &mut Vec<u8>) {
    bytes.extend([0; CHECKSUM]);
    bytes.extend(inserted.to_le_bytes());
    bytes.extend((item.id.len() as u16).to_le_bytes());
    bytes.extend(item.id.as_bytes());
    bytes.extend((item.fingerprints.len() as u32).to_le_bytes());
    for print in item.fingerprints {
        bytes.extend(print.0[..words].iter().flat_map(|word| word.to_le_bytes()));
    }
    bytes.extend(item.payload.unwrap_or_default().as_bytes());
}

/// Fills in the checksum and says it.
pub fn seal(record: &mut [u8], sequence: u64) -> u64 {
    let checksum = xxh3_64_with_seed(&record[CHECKSUM..], sequence);
    record[..CHECKSUM].copy_from_slice(&checksum.to_le_bytes());
    checksum
}

/// The checksum of a record; `None` if it is not what was written under this sequence number.
pub fn checksum(record: &[u8], sequence: u64) -> Option<u64> {
    let (checksum, body) = record.split_first_chunk()?;
    let checksum = u64::from_le_bytes(*checksum);
    (xxh3_64_with_seed(body, sequence) == checksum).then_some(checksum)
}

/// The id in a record that is damaged, as far as it can be read.
pub fn probable_id(record: &[u8]) -> String {
    let length = record.get(ID - 2..).and_then(|rest| rest.first_chunk());
    let length = length.map_or(0, |&length| u16::from_le_bytes(length).into());
    let id = record.get(ID..).unwrap_or_default();
    String::from_utf8_lossy(&id[..id.len().min(length)]).chars().take(80).collect()
}

/// A record that was found whole.
pub struct Record<'a> {
    pub checksum: u64,
    inserted: u64,
    pub id: &'a str,
    prints: &'a [u8],
    payload: &'a str,
    words: usize,
}

impl<'a> Record<'a> {
    /// Reads a record; `None` if it is not what was written under this sequence number.
    pub fn read(bytes: &'a [u8], sequence: u64, words: usize) -> Option<Self> {
        let checksum = checksum(bytes, sequence)?;
        let (inserted, rest) = bytes[CHECKSUM..].split_first_chunk()?;
        let (length, rest) = rest.split_first_chunk()?;
        let (id, rest) = rest.split_at_checked(u16::from_le_bytes(*length).into())?;
        let (count, rest) = rest.split_first_chunk()?;
        let prints = (u32::from_le_bytes(*count) as usize).checked_mul(8 * words)?;
        let (prints, payload) = rest.split_at_checked(prints)?;
        Some(Self {
            checksum,
            inserted: u64::from_le_bytes(*inserted),
            id: str::from_utf8(id).ok()?,
            prints,
            payload: str::from_utf8(payload).ok()?,
            words,
        })
    }

    /// The fingerprints, in a type of the collection's width or a wider one.
    pub fn prints<const WORDS: usize>(&self) -> impl Iterator<Item = Fingerprint<WORDS>> {
        let words = self.prints.as_chunks::<8>().0;
        words.chunks_exact(self.words).map(|words| {
            let word = |at| words.get(at).map_or(0, |bytes: &[u8; 8]| u64::from_le_bytes(*bytes));
            Fingerprint(std::array::from_fn(word))
        })
    }

    /// The item it stands for.
    pub fn to_item(&self, sequence: u64) -> StoredItem {
        StoredItem {
            id: self.id.to_owned(),
            sequence,
            inserted: self.inserted,
            fingerprints: self.prints().collect(),
            payload: (!self.payload.is_empty()).then(|| self.payload.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(sequence: u64) -> Vec<u8> {
        let prints = [Fingerprint([1, 2, 0, 0]), Fingerprint([3, 4, 0, 0])];
        let item = NewItem { payload: Some("[1]"), ..NewItem::new("früh", &prints) };
        let mut bytes = Vec::new();
        encode(&item, 2, 77, &mut bytes);
        seal(&mut bytes, sequence);
        bytes
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let bytes = record(5);
        let item = Record::read(&bytes, 5, 2).unwrap().to_item(5);
        assert_eq!((item.id.as_str(), item.inserted), ("früh", 77));
        assert_eq!(item.fingerprints, [Fingerprint([1, 2, 0, 0]), Fingerprint([3, 4, 0, 0])]);
        assert_eq!(item.payload.as_deref(), Some("[1]"));
    }

    #[test]
    fn a_changed_cut_or_displaced_record_is_refused() {
        let bytes = record(5);
        assert!(Record::read(&bytes, 6, 2).is_none());
        for length in 0..bytes.len() {
            assert!(Record::read(&bytes[..length], 5, 2).is_none(), "cut at {length}");
        }
        for place in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[place] ^= 4;
            assert!(Record::read(&changed, 5, 2).is_none(), "changed at {place}");
        }
    }

    #[test]
    fn an_item_that_cannot_be_stored_is_told_why() {
        let print = [Fingerprint([1, 0, 0, 0])];
        let long = "x".repeat(MOST_ID + 1);
        let refused = |item: NewItem<'_>, bits| check(&item, bits).unwrap_err();
        assert_eq!(check(&NewItem::new("a", &print), 32), Ok(()));
        assert_eq!(refused(NewItem::new("", &print), 64), "the id is empty");
        assert!(refused(NewItem::new(&long, &print), 64).contains("at most 32767 bytes"));
        assert_eq!(refused(NewItem::new("a", &[]), 64), "it has no fingerprint");
        let wide = [Fingerprint([1 << 32, 0, 0, 0])];
        assert_eq!(check(&NewItem::new("a", &wide), 64), Ok(()));
        assert!(refused(NewItem::new("a", &wide), 32).contains("more than 32 bits"));
        let payload = NewItem { payload: Some("{"), ..NewItem::new("a", &print) };
        assert!(refused(payload, 64).starts_with("the payload is not JSON"));
    }
}
