//! Mutates a seed: a few changes that depend only on the number of the run.

/// Marsaglia's xorshift64*, so that every run can be repeated on any machine.
pub struct Random(u64);

impl Random {
    /// The generator of one run. Consecutive runs are unrelated.
    pub fn of_run(seed: u64, target: &str, run: u64) -> Self {
        let named = target.bytes().fold(seed ^ 0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        // The finalizer of SplitMix64; xorshift never leaves the state zero.
        let mut mixed = named.wrapping_add(run.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        Self((mixed ^ mixed >> 31).max(1))
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `end`; 0 if `end` is 0.
    pub fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.next()) * end as u128) >> 64) as usize
    }

    fn byte(&mut self) -> u8 {
        self.below(256) as u8
    }

    fn one_in(&mut self, of: usize) -> bool {
        self.below(of) == 0
    }

    fn choose<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}

/// Mutated inputs are cut to this length, or to that of their seed if it is longer.
const MAX_LENGTH: usize = 1 << 16;

/// The maximum length of inserted, repeated or removed chunks, which are mostly shorter.
const CHUNK: usize = 1 << 10;

/// Values at which arithmetic overflows.
const BOUNDARY_VALUES: [u64; 20] = [
    0,
    1,
    2,
    7,
    16,
    0x7f,
    0x80,
    0xff,
    0x100,
    0x7fff,
    0x8000,
    0xffff,
    0x1_0000,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x1_0000_0000,
    i64::MAX as u64,
    1 << 63,
    u64::MAX,
];

/// Tokens with a meaning in text formats.
const TOKENS: [&str; 24] = [
    "\"",
    "\"\"",
    ",",
    ";",
    "\t",
    "\n",
    "\r\n",
    "\0",
    "{",
    "}",
    "[",
    "\\",
    "\\u",
    "\\ud800",
    "-",
    "1e999",
    ":",
    "<",
    "&#",
    "\u{feff}",
    "\u{fffd}",
    "null",
    "0x",
    "99999999999999999999",
];

/// A mutated copy of one of the seeds, none of which is empty.
pub fn mutated(seeds: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut bytes = seeds[random.below(seeds.len())].clone();
    let max_length = MAX_LENGTH.max(bytes.len());
    // Mostly one to four changes, sometimes very many.
    let changes = if random.one_in(16) { 1 + random.below(64) } else { 1 + random.below(4) };
    for _ in 0..changes {
        change(&mut bytes, seeds, random);
    }
    bytes.truncate(max_length);
    bytes
}

fn change(bytes: &mut Vec<u8>, seeds: &[Vec<u8>], random: &mut Random) {
    let at = random.below(bytes.len());
    match random.below(24) {
        0..=4 => flip_bit(bytes, at, random),
        5..=7 => overwrite(bytes, at, &[random.byte()]),
        8..=11 => overwrite_number(bytes, at, random),
        12 | 13 => add_to_byte(bytes, at, random),
        14 => bytes.truncate(at),
        15 | 16 => drop(bytes.drain(at..at + chunk_length(bytes, at, random))),
        17 => insert_random(bytes, at, random),
        18 => insert(bytes, at, random.choose(&TOKENS).as_bytes()),
        19 | 20 => repeat(bytes, at, random),
        21 => copy_within(bytes, at, random),
        22 => change_digits(bytes, at, random),
        _ => splice(bytes, &seeds[random.below(seeds.len())], random),
    }
}

fn flip_bit(bytes: &mut [u8], at: usize, random: &mut Random) {
    if let Some(byte) = bytes.get_mut(at) {
        *byte ^= 1 << random.below(8);
    }
}

/// Overwrites the bytes from `at` on, up to the end.
fn overwrite(bytes: &mut [u8], at: usize, value: &[u8]) {
    bytes[at..].iter_mut().zip(value).for_each(|(byte, &value)| *byte = value);
}

fn overwrite_number(bytes: &mut [u8], at: usize, random: &mut Random) {
    let number = random.choose(&BOUNDARY_VALUES);
    let width = random.choose(&[1, 2, 4, 8]);
    match random.one_in(2) {
        true => overwrite(bytes, at, &number.to_le_bytes()[..width]),
        false => overwrite(bytes, at, &number.to_be_bytes()[8 - width..]),
    }
}

fn add_to_byte(bytes: &mut [u8], at: usize, random: &mut Random) {
    let more = random.choose(&[1, 2, 4, 16, 0xf0, 0xfc, 0xfe, 0xff]);
    if let Some(byte) = bytes.get_mut(at) {
        *byte = byte.wrapping_add(more);
    }
}

/// A random chunk length from `at` on, within the input.
fn chunk_length(bytes: &[u8], at: usize, random: &mut Random) -> usize {
    let max_length = random.choose(&[4, 32, CHUNK]);
    random.below(max_length.min(bytes.len() - at) + 1)
}

fn insert(bytes: &mut Vec<u8>, at: usize, more: &[u8]) {
    bytes.splice(at..at, more.iter().copied());
}

fn insert_random(bytes: &mut Vec<u8>, at: usize, random: &mut Random) {
    let more: Vec<_> = (0..1 + random.below(16)).map(|_| random.byte()).collect();
    insert(bytes, at, &more);
}

/// Repeats a chunk once or many times.
fn repeat(bytes: &mut Vec<u8>, at: usize, random: &mut Random) {
    let chunk = bytes[at..at + chunk_length(bytes, at, random)].to_vec();
    let times = if random.one_in(4) { 1 + random.below(64) } else { 1 };
    insert(bytes, at, &chunk.repeat(times));
}

fn copy_within(bytes: &mut [u8], at: usize, random: &mut Random) {
    let chunk = bytes[at..at + chunk_length(bytes, at, random)].to_vec();
    let to = random.below(bytes.len());
    overwrite(bytes, to, &chunk);
}

/// Replaces a number written in digits.
fn change_digits(bytes: &mut Vec<u8>, at: usize, random: &mut Random) {
    let Some(offset) = bytes[at..].iter().position(u8::is_ascii_digit) else { return };
    let start = at + offset;
    let digits = bytes[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let number = random.choose(&BOUNDARY_VALUES).to_string();
    bytes.splice(start..start + digits, number.bytes());
}

/// Joins the beginning of this input and the end of another seed.
fn splice(bytes: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    let (keep, from) = (random.below(bytes.len()), random.below(other.len()));
    bytes.truncate(keep);
    bytes.extend_from_slice(&other[from..]);
}
