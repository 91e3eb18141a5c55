//! Items with equal fingerprints.
//!
//! Equal items form a ring, so that joining and leaving take constant time however many there are.

/// Rings of equal items.
#[derive(Default)]
pub(super) struct Equals {
    /// By id. Empty as long as all items are different.
    links: Vec<Ring>,
}

/// The neighbours of an item in its ring.
#[derive(Clone, Copy)]
struct Ring {
    next: u32,
    previous: u32,
}

impl Ring {
    fn alone(id: u32) -> Self {
        Self { next: id, previous: id }
    }
}

impl Equals {
    /// Bytes in use.
    pub fn memory_bytes(&self) -> usize {
        size_of_val(&*self.links)
    }

    /// Adds an item that is in a ring of its own.
    pub fn add(&mut self, id: u32) {
        if self.links.is_empty() {
            return;
        }
        if id as usize >= self.links.len() {
            let first = self.links.len() as u32;
            self.links.extend((first..=id).map(Ring::alone));
        }
        self.links[id as usize] = Ring::alone(id);
    }

    /// Appends an item to the ring of another. There are `ids` ids.
    pub fn join(&mut self, id: u32, equal: u32, ids: usize) {
        if self.links.is_empty() {
            self.links.extend((0..ids as u32).map(Ring::alone));
        }
        let last = self.links[equal as usize].previous;
        self.links[id as usize] = Ring { next: equal, previous: last };
        self.links[last as usize].next = id;
        self.links[equal as usize].previous = id;
    }

    /// Takes an item out of its ring, and returns the next one there.
    pub fn leave(&mut self, id: u32) -> Option<u32> {
        let Ring { next, previous } = *self.links.get(id as usize)?;
        self.links[previous as usize].next = next;
        self.links[next as usize].previous = previous;
        self.links[id as usize] = Ring::alone(id);
        (next != id).then_some(next)
    }

    /// An item and those that equal it.
    pub fn ring(&self, first: u32) -> impl Iterator<Item = u32> {
        let next = move |&id: &u32| {
            let next = self.links.get(id as usize)?.next;
            (next != first).then_some(next)
        };
        std::iter::successors(Some(first), next)
    }
}
