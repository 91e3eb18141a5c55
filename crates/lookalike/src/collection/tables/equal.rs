//! Items of which there is too little to compare: alike those with the same key only.

use super::super::array::{Array, MappedFile};
use crate::{
    digest::Identity,
    index::{IndexError, file::Content},
};

/// Items by their keys; those without one are not here.
pub struct EqualKeys {
    /// Ascending.
    keys: Array<Identity>,
    items: Array<u32>,
}

impl EqualKeys {
    /// The items with this key, ascending.
    pub fn find(&self, key: &Identity) -> &[u32] {
        let start = self.keys.partition_point(|one| one < key);
        let count = self.keys[start..].partition_point(|one| one == key);
        &self.items[start..start + count]
    }

    pub fn iter(&self) -> impl Iterator<Item = (Identity, u32)> {
        self.keys.iter().copied().zip(self.items.iter().copied())
    }

    pub fn sections(&self) -> [(Content, &[u8]); 2] {
        [(Content::EqualKeys, self.keys.bytes()), (Content::EqualItems, self.items.bytes())]
    }

    pub fn open(file: &MappedFile<'_>, items: usize) -> Result<Self, IndexError> {
        let keys: Array<Identity> = file.array(Content::EqualKeys)?;
        let of: Array<u32> = file.array(Content::EqualItems)?;
        if keys.len() != of.len() || of.iter().any(|&item| item as usize >= items) {
            return Err(file.damaged("the equal items are not those of the run"));
        }
        Ok(Self { keys, items: of })
    }
}

/// Keys and the items that have them.
#[derive(Default)]
pub struct EqualRows(Vec<(Identity, u32)>);

impl EqualRows {
    pub fn extend(&mut self, rows: impl IntoIterator<Item = (Identity, u32)>) {
        self.0.extend(rows);
    }

    pub fn finish(mut self) -> EqualKeys {
        self.0.sort_unstable();
        let (keys, items) = self.0.into_iter().unzip();
        EqualKeys { keys: Array::Made(keys), items: Array::Made(items) }
    }
}
