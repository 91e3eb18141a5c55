//! The words of a window of text, as bitmaps of its bytes.
//!
//! A kernel classifies many characters of a block at once ([`Known`]): letters, characters that are
//! words by themselves, separators. Other characters are looked up one by one. A few remain unclear:
//! marks, invisible characters, those that normalisation may change, and those whose lower case has
//! another length. A run with such a character, from one separator to the next, takes the slow path.
//!
//! A separator always ends a word: not even a mark turns it into a letter. No neighbour changes the
//! class of any other known character either. So it does not matter where a window ends.

use super::character::{Character, Kind};
use super::window::{SHORT, WINDOW, Window};

/// What a kernel knows about the characters that begin in a block of 64 bytes, one bit per byte. All
/// others are looked up.
#[derive(Default)]
pub(super) struct Known {
    /// Letters and digits of ASCII.
    pub(super) ascii: u64,
    /// All bytes that are not ASCII.
    pub(super) wide: u64,
    /// First bytes of known letters whose lower case has as many bytes.
    pub(super) letters: u64,
    /// First bytes of known three-byte characters that are words by themselves.
    pub(super) alone: u64,
    /// First bytes of known separators that are not ASCII.
    pub(super) separators: u64,
    /// First bytes of those among them that have three bytes; the others have two.
    pub(super) three: u64,
}

const BLOCKS: usize = WINDOW / 64;

/// One bit for each byte of a window, with space for the end of its last character.
type Bits = [u64; BLOCKS + 1];

/// The words of a window.
pub(super) struct Classes {
    /// The number of blocks that have text.
    blocks: usize,
    /// Bytes of words of letters, and of runs for the slow path.
    words: Bits,
    /// First bytes of characters that are words by themselves.
    alone: Bits,
    /// First bytes of runs for the slow path.
    careful: Bits,
    any_careful: bool,
}

impl Classes {
    /// Finds the words of a window at the start of `text`, and writes them in lower case.
    #[inline(always)]
    pub(super) fn find(
        text: &str,
        window: &Window,
        lower: &mut Window,
        known: &impl Fn(&[u8; 67], &mut [u8; 64]) -> Known,
    ) -> Self {
        let mut around = [b' '; 1 + WINDOW + SHORT];
        around[1..].copy_from_slice(window);
        let mut classes = Self {
            blocks: BLOCKS.min(text.len() / 64 + 1),
            words: [0; _],
            alone: [0; _],
            careful: [0; _],
            any_careful: false,
        };
        let (mut others, mut any_other, mut before) = ([0; _], 0, Leads::default());
        for block in 0..classes.blocks {
            let around = around[64 * block..].first_chunk().expect("two bytes are behind");
            let lower = lower[64 * block..].first_chunk_mut().expect("the window has the block");
            let known = known(around, lower);
            let leads = Leads::of(&known);
            classes.words[block] = known.ascii | leads.letter_bytes(&before);
            classes.alone[block] = known.alone;
            others[block] = known.wide & !leads.bytes(&before);
            any_other |= others[block];
            before = leads;
        }
        if any_other != 0 {
            classes.look_up_others(text, &others, lower);
        }
        classes
    }

    /// Whether any character is a word by itself, so one word may end where the next begins.
    #[inline(always)]
    pub(super) fn any_alone(&self) -> bool {
        self.alone.iter().fold(0, |any, alone| any | alone) != 0
    }

    /// Bytes of words by block, if no character is a word by itself.
    #[inline(always)]
    pub(super) fn words(&self) -> &[u64] {
        &self.words[..self.blocks]
    }

    /// The beginnings and ends of words, by block.
    #[inline(always)]
    pub(super) fn starts_and_ends(&self) -> impl Iterator<Item = [u64; 2]> {
        let (mut words_before, mut alone_before) = (0, 0);
        self.words.iter().zip(&self.alone).take(self.blocks).map(move |(&words, &alone)| {
            let behind = moved(words, words_before, 1);
            let ends = behind & !words | moved(alone, alone_before, 3);
            (words_before, alone_before) = (words, alone);
            [words & !behind | alone, ends]
        })
    }

    /// Whether any run takes the slow path.
    #[inline(always)]
    pub(super) fn any_careful(&self) -> bool {
        self.any_careful
    }

    /// Whether a run for the slow path begins here.
    #[inline(always)]
    pub(super) fn is_careful(&self, start: usize) -> bool {
        self.careful[start / 64] >> (start % 64) & 1 == 1
    }

    /// Looks up the characters that the kernel did not know.
    #[inline(never)]
    fn look_up_others(&mut self, text: &str, others: &Bits, lower: &mut Window) {
        let (mut unclear, mut done) = ([0; _], 0_usize);
        for block in 0..self.blocks {
            let start = 64 * block;
            let mut others = others[block] & ones_from(done.saturating_sub(start));
            while others != 0 {
                let place = start + others.trailing_zeros() as usize;
                let character = text[place..].chars().next().expect("it begins here");
                let length = character.len_utf8();
                done = place + length;
                others &= ones_from(done - start);
                if is_han(character) {
                    self.alone[block] |= 1 << (place % 64);
                    continue;
                }
                let character = Character::of(character);
                match Class::of(character, length) {
                    Class::Letter => set_few(&mut self.words, place, length),
                    Class::Alone => self.alone[block] |= 1 << (place % 64),
                    Class::Separator => continue,
                    Class::Unclear => {
                        set_few(&mut unclear, place, length);
                        self.any_careful = true;
                        continue;
                    }
                }
                replace(lower, place, character);
            }
        }
        if self.any_careful {
            self.join_runs(&mut unclear);
        }
    }

    /// Joins each run with an unclear character into one word for the slow path.
    fn join_runs(&mut self, unclear: &mut Bits) {
        let mut before = 0;
        let runs: Bits = std::array::from_fn(|block| {
            let alone = self.alone[block];
            let bytes = alone | moved(alone, before, 1) | moved(alone, before, 2);
            before = alone;
            self.words[block] | unclear[block] | bytes
        });
        for block in 0..self.blocks {
            while unclear[block] != 0 {
                let place = 64 * block + unclear[block].trailing_zeros() as usize;
                let [start, end] = run_around(&runs, place);
                set(&mut self.words, start, end - start);
                clear(&mut self.alone, start, end - start);
                clear(unclear, start, end - start);
                set_few(&mut self.careful, start, 1);
            }
        }
    }
}

/// Whether it is in the block of nearly all Chinese characters, which are words by themselves. Looking
/// them up would fill the cache with large tables.
#[inline]
fn is_han(character: char) -> bool {
    ('\u{4e00}'..='\u{9fff}').contains(&character)
}

/// The class of a character in a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// Part of a word.
    Letter,
    /// A word by itself, of three bytes.
    Alone,
    /// Always a separator.
    Separator,
    /// Unclear: it depends on its neighbours, or its lower case has another length.
    Unclear,
}

impl Class {
    /// The class of a character of `length` bytes.
    #[inline]
    pub(super) fn of(character: Character, length: usize) -> Self {
        let fits = character.utf8().1 == length;
        match character.kind() {
            _ if !character.is_plain() => Self::Unclear,
            Kind::Letter if fits => Self::Letter,
            Kind::Alone if fits && length == 3 => Self::Alone,
            Kind::Space | Kind::Other => Self::Separator,
            _ => Self::Unclear,
        }
    }
}

/// First bytes of the known non-ASCII characters of a block.
#[derive(Default)]
struct Leads {
    all: u64,
    three: u64,
    letters: u64,
}

impl Leads {
    #[inline(always)]
    fn of(known: &Known) -> Self {
        let Known { letters, alone, separators, three, .. } = *known;
        Self { all: letters | alone | separators, three, letters }
    }

    /// The bytes of these characters in a block; `before` are those of the previous block.
    #[inline(always)]
    fn bytes(&self, before: &Self) -> u64 {
        self.all | moved(self.all, before.all, 1) | moved(self.three, before.three, 2)
    }

    /// Those that are letters.
    #[inline(always)]
    fn letter_bytes(&self, before: &Self) -> u64 {
        let thirds = moved(self.three & self.letters, before.three & before.letters, 2);
        self.letters | moved(self.letters, before.letters, 1) | thirds
    }
}

/// The bits of a block, shifted up; the highest ones of the previous block come in.
#[inline(always)]
const fn moved(bits: u64, before: u64, by: u32) -> u64 {
    bits << by | before >> (64 - by)
}

/// The run of ones around a place.
fn run_around(runs: &Bits, place: usize) -> [usize; 2] {
    let (mut first, mut last) = (place / 64, place / 64);
    let mut before = !runs[first] & !(u64::MAX << (place % 64));
    while before == 0 && first > 0 {
        first -= 1;
        before = !runs[first];
    }
    let mut behind = !runs[last] & u64::MAX << (place % 64);
    while behind == 0 && last < BLOCKS - 1 {
        last += 1;
        behind = !runs[last];
    }
    [
        64 * (first + 1) - before.leading_zeros() as usize,
        64 * last + behind.trailing_zeros() as usize,
    ]
}

/// Ones from a place on.
#[inline(always)]
fn ones_from(place: usize) -> u64 {
    u64::MAX.checked_shl(place as u32).unwrap_or(0)
}

/// Sets the bits of a character's bytes.
#[inline(always)]
fn set_few(bits: &mut Bits, place: usize, length: usize) {
    let (block, place, few) = (place / 64, place % 64, (1 << length) - 1_u64);
    bits[block] |= few << place;
    bits[block + 1] |= few >> 1 >> (63 - place);
}

/// Writes the lower case of a character over it.
#[inline(always)]
fn replace(lower: &mut Window, place: usize, character: Character) {
    let (utf8, length) = character.utf8();
    let bytes: &mut [u8; 4] = lower[place..].first_chunk_mut().expect("16 bytes are behind");
    let kept = (u32::MAX as u64) << (8 * length);
    let all = u64::from(u32::from_le_bytes(*bytes)) & kept | u64::from(u32::from_le_bytes(utf8));
    *bytes = (all as u32).to_le_bytes();
}

/// Sets the bits of some bytes.
#[inline(always)]
fn set(bits: &mut Bits, start: usize, length: usize) {
    each_mask(start, length, |block, mask| bits[block] |= mask);
}

#[inline(always)]
fn clear(bits: &mut Bits, start: usize, length: usize) {
    each_mask(start, length, |block, mask| bits[block] &= !mask);
}

/// Calls back with each block of a non-empty range, and the bits of the range in it.
#[inline(always)]
fn each_mask(start: usize, length: usize, mut on_mask: impl FnMut(usize, u64)) {
    let last = start + length - 1;
    let (low, high) = (u64::MAX << (start % 64), u64::MAX >> (63 - last % 64));
    let (first_block, last_block) = (start / 64, last / 64);
    if first_block == last_block {
        return on_mask(first_block, low & high);
    }
    on_mask(first_block, low);
    (first_block + 1..last_block).for_each(|block| on_mask(block, u64::MAX));
    on_mask(last_block, high);
}

/// The bytes of a block that are ASCII letters or digits, eight bytes at a time.
#[inline(always)]
pub(super) fn ascii(block: &[u8; 64]) -> u64 {
    gather_each(block, |bytes| letters_and_digits(bytes & !TOP) & !bytes)
}

/// The portable kernel, which knows no non-ASCII character.
#[inline(always)]
pub(super) fn known(around: &[u8; 67], lower: &mut [u8; 64]) -> Known {
    let block = around[1..].first_chunk().expect("64 bytes and two behind them");
    *lower = block.map(|byte| if byte.is_ascii() { byte | 0x20 } else { byte });
    Known { ascii: ascii(block), wide: gather_each(block, |bytes| bytes), ..Known::default() }
}

const EACH: u64 = 0x0101_0101_0101_0101;
const TOP: u64 = 0x80 * EACH;

/// One bit for each byte of a block, from the top bits that `f` makes of eight bytes.
#[inline(always)]
fn gather_each(block: &[u8; 64], top_bits: impl Fn(u64) -> u64) -> u64 {
    let eights = block.as_chunks::<8>().0.iter().enumerate();
    eights.fold(0, |bits, (eight, &bytes)| {
        bits | gather(top_bits(u64::from_le_bytes(bytes)) & TOP) << (8 * eight)
    })
}

/// The top bit of each byte below 128 that is an ASCII letter or digit.
#[inline(always)]
fn letters_and_digits(bytes: u64) -> u64 {
    // Adding to a byte below 128 carries into its top bit from a limit on, and never further.
    let at_least = |bytes: u64, limit: u8| bytes + u64::from(0x80 - limit) * EACH;
    let small = bytes | (0x20 * EACH);
    let letter = at_least(small, b'a') & !at_least(small, b'z' + 1);
    let digit = at_least(bytes, b'0') & !at_least(bytes, b'9' + 1);
    letter | digit
}

/// The top bits of eight bytes as eight bits.
#[inline(always)]
const fn gather(top_bits: u64) -> u64 {
    (top_bits >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
}

#[cfg(test)]
mod tests {
    use super::*;
    use unicode_normalization::char::decompose_canonical;

    #[test]
    fn every_byte_is_seen_at_every_place() {
        for byte in 0..=255u8 {
            for place in 0..64 {
                let (mut around, mut lower) = ([b' '; 67], [0; 64]);
                around[1 + place] = byte;
                let found = known(&around, &mut lower);
                assert_eq!(found.ascii, u64::from(byte.is_ascii_alphanumeric()) << place, "{byte}");
                assert_eq!(found.wide, u64::from(!byte.is_ascii()) << place, "{byte}");
                if found.ascii != 0 {
                    assert_eq!(lower[place], byte.to_ascii_lowercase());
                }
            }
        }
    }

    #[test]
    fn no_mark_makes_a_letter_of_a_separator() {
        for joined in '\0'..=char::MAX {
            let mut parts = Vec::new();
            decompose_canonical(joined, |part| parts.push(part));
            let is_separator = |part: char| {
                part.is_ascii() && !part.is_ascii_alphanumeric()
                    || Class::of(Character::of(part), part.len_utf8()) == Class::Separator
            };
            if parts.len() > 1 && is_separator(parts[0]) {
                let kind = Character::of(joined).kind();
                assert!(matches!(kind, Kind::Space | Kind::Other), "{joined:?}");
            }
        }
    }

    #[test]
    fn chinese_characters_are_words_by_themselves_and_have_no_lower_case() {
        for character in ('\u{4e00}'..='\u{9fff}').filter(|&character| is_han(character)) {
            let known = Character::of(character);
            assert_eq!(Class::of(known, 3), Class::Alone, "{character}");
            assert_eq!(known.utf8().0[..3], *character.encode_utf8(&mut [0; 4]).as_bytes());
        }
        assert!(is_han('\u{9fff}') && !is_han('\u{4dff}') && !is_han('\u{a000}'));
    }
}
