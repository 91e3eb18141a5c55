//! The ids in use.

/// A bit for each id that is in use.
#[derive(Default)]
pub(super) struct Live {
    words: Vec<u64>,
    count: usize,
}

impl Live {
    /// The number of ids in use.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Bytes in use.
    pub fn memory_bytes(&self) -> usize {
        size_of_val(&*self.words)
    }

    pub fn contains(&self, id: u32) -> bool {
        self.words.get(id as usize / 64).is_some_and(|word| word >> (id % 64) & 1 == 1)
    }

    pub fn insert(&mut self, id: u32) {
        let word = id as usize / 64;
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        self.count += usize::from(!self.contains(id));
        self.words[word] |= 1 << (id % 64);
    }

    pub fn remove(&mut self, id: u32) {
        if self.contains(id) {
            self.words[id as usize / 64] &= !(1 << (id % 64));
            self.count -= 1;
        }
    }

    /// The ids in use, ascending.
    pub fn ids(&self) -> impl Iterator<Item = u32> {
        let words = (0u32..).zip(&self.words);
        words.flat_map(|(at, &word)| {
            (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| 64 * at + bit)
        })
    }

    /// One bit for each of `ids` ids, as whole words.
    pub fn padded(&self, ids: usize) -> Vec<u64> {
        let mut words = self.words.clone();
        words.resize(ids.div_ceil(64), 0);
        words
    }
}
