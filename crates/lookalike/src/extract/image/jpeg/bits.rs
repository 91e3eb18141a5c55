//! The bits of a scan as numbers: Huffman codes and the values after them.

use super::{Stop, broken, cut_off};

/// What is wrong with a block. There are many blocks, so it fits a register.
#[derive(Clone, Copy)]
pub(super) enum Fault {
    UnknownCode,
    RunsOver,
    Difference,
}

/// The number of bits of a code that are looked up at once.
pub(super) const LOOKED_UP: u32 = 11;

/// A table of Huffman codes.
pub(super) struct Codes {
    /// By the next bits: the length and the symbol of the code that starts with them; 0 for longer ones.
    pub short: [u16; 1 << LOOKED_UP],
    /// By length: one more than the largest code, left-aligned in 16 bits.
    ends: [u32; 17],
    /// By length: the difference between a code and its place among the symbols.
    offsets: [i32; 17],
    symbols: Vec<u8>,
}

impl Codes {
    pub fn none() -> Self {
        Self { short: [0; 1 << LOOKED_UP], ends: [0; 17], offsets: [0; 17], symbols: Vec::new() }
    }

    /// `None` if there are more codes of a length than can exist.
    pub fn new(counts: &[u8; 16], symbols: &[u8]) -> Option<Self> {
        let mut codes = Self::none();
        codes.symbols = symbols.to_vec();
        let (mut code, mut place) = (0_u32, 0_usize);
        for (length, &count) in (1_u32..).zip(counts) {
            codes.offsets[length as usize] = place as i32 - code as i32;
            for _ in 0..count {
                if code >> length != 0 {
                    return None;
                }
                if length <= LOOKED_UP {
                    let first = (code << (LOOKED_UP - length)) as usize;
                    let entry = (length as u16) << 8 | u16::from(symbols[place]);
                    codes.short[first..first + (1 << (LOOKED_UP - length))].fill(entry);
                }
                code += 1;
                place += 1;
            }
            codes.ends[length as usize] = code << (16 - length);
            code <<= 1;
        }
        Some(codes)
    }

    /// The next symbol. At least 16 bits must be available.
    #[inline]
    pub fn symbol(&self, bits: &mut Bits<'_>) -> Result<u8, Fault> {
        let entry = self.short[bits.peek(LOOKED_UP) as usize];
        if entry != 0 {
            bits.drop(u32::from(entry >> 8));
            return Ok(entry as u8);
        }
        self.long_symbol(bits)
    }

    #[cold]
    fn long_symbol(&self, bits: &mut Bits<'_>) -> Result<u8, Fault> {
        let next = bits.peek(16) as u32;
        let length = (1..=16_u32).find(|&length| next < self.ends[length as usize]);
        let length = length.ok_or(Fault::UnknownCode)?;
        let place = (next >> (16 - length)) as i32 + self.offsets[length as usize];
        bits.drop(length);
        let symbol = usize::try_from(place).ok().and_then(|place| self.symbols.get(place));
        symbol.copied().ok_or(Fault::UnknownCode)
    }
}

/// The bits of a scan up to the next marker, followed by zeros.
pub(super) struct Bits<'a> {
    pub bytes: &'a [u8],
    pub at: usize,
    /// The next bits, most significant first.
    bits: u64,
    /// The number of bits.
    count: u32,
    /// The number of zeros added after the end of the scan.
    added: u32,
    /// Restarts so far.
    restarts: u8,
}

impl<'a> Bits<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, bits: 0, count: 0, added: 0, restarts: 0 }
    }

    /// Makes at least 32 bits available: a code and its value have at most 31.
    #[inline]
    pub fn fill(&mut self) {
        if self.count >= 32 {
            return;
        }
        if let Some(&next) = self.bytes.get(self.at..).and_then(|rest| rest.first_chunk::<8>()) {
            let next = u64::from_be_bytes(next);
            // A byte of all ones starts a marker, or stands for itself if a zero follows.
            let inverted = !next;
            let zeros =
                inverted.wrapping_sub(0x0101_0101_0101_0101) & !inverted & 0x8080_8080_8080_8080;
            if zeros == 0 {
                // Bits beyond the whole bytes are harmless: the same bits are added next.
                self.bits |= next >> self.count;
                let whole = (64 - self.count) / 8;
                self.at += whole as usize;
                self.count += 8 * whole;
                return;
            }
        }
        self.fill_slowly();
    }

    fn fill_slowly(&mut self) {
        // Bits beyond the whole bytes must not be added again in another place.
        self.bits &= !(u64::MAX.checked_shr(self.count).unwrap_or(0));
        while self.count <= 56 {
            let byte = match self.bytes.get(self.at) {
                Some(0xFF) if self.bytes.get(self.at + 1) == Some(&0) => {
                    self.at += 2;
                    0xFF
                }
                Some(&byte) if byte != 0xFF => {
                    self.at += 1;
                    byte
                }
                _ => {
                    self.added += 8;
                    0
                }
            };
            self.bits |= u64::from(byte) << (56 - self.count);
            self.count += 8;
        }
    }

    #[inline]
    pub fn peek(&self, count: u32) -> u64 {
        self.bits >> (64 - count)
    }

    #[inline]
    pub fn drop(&mut self, count: u32) {
        self.bits <<= count;
        self.count -= count;
    }

    #[inline]
    pub fn take(&mut self, count: u32) -> u64 {
        let bits = self.peek(count);
        self.drop(count);
        bits
    }

    /// A signed value of `size` bits, 1 to 15: the upper half of the codes are positive.
    #[inline]
    pub fn signed(&mut self, size: u32) -> i32 {
        let value = self.take(size) as i32;
        if value < 1 << (size - 1) { value - (1 << size) + 1 } else { value }
    }

    /// The difference between a constant and the previous one.
    #[inline]
    pub fn difference(&mut self, codes: &Codes) -> Result<i32, Fault> {
        self.fill();
        match u32::from(codes.symbol(self)?) {
            0 => Ok(0),
            size @ 1..=15 => Ok(self.signed(size)),
            _ => Err(Fault::Difference),
        }
    }

    /// The number of blocks that end here, including this one. A code has given the length of the number.
    #[inline]
    pub fn blocks_ended(&mut self, length: u32) -> u32 {
        let more = if length == 0 { 0 } else { self.take(length) as u32 };
        (1 << length) + more
    }

    /// Whether bits beyond the end of the scan were used.
    pub fn is_over(&self) -> bool {
        self.added > self.count
    }

    /// Continues after the next restart marker.
    pub fn restart(&mut self) -> Result<(), Stop> {
        if self.is_over() {
            return Err(cut_off());
        }
        (self.bits, self.count, self.added) = (0, 0, 0);
        let rest = self.bytes.get(self.at..).unwrap_or(&[]);
        let marker = rest
            .windows(2)
            .take(16)
            .position(|two| two[0] == 0xFF && matches!(two[1], 0xD0..=0xD7));
        match marker {
            // Markers are numbered, which reveals a missing one.
            Some(offset) if rest[offset + 1] & 7 != self.restarts & 7 => {
                return Err(broken("a restart is out of order"));
            }
            Some(offset) => self.at += offset + 2,
            None if rest.len() < 2 => return Err(cut_off()),
            None => return Err(broken("a restart is missing")),
        }
        self.restarts = self.restarts.wrapping_add(1);
        Ok(())
    }
}
