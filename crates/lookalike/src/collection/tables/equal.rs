//! Items with too little content to compare: they match only items with the same key.

use super::super::array::{Array, MappedFile};
use crate::{
    digest::Identity,
    index::{IndexError, file::Content},
};

/// The items that have a key, sorted by it.
pub struct EqualKeys {
    /// In ascending order.
    keys: Array<Identity>,
    items: Array<u32>,
}

impl EqualKeys {
    /// The items with this key, in ascending order.
    pub fn find(&self, key: &Identity) -> &[u32] {
        let start = self.keys.partition_point(|other| other < key);
        let count = self.keys[start..].partition_point(|other| other == key);
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
        let owners: Array<u32> = file.array(Content::EqualItems)?;
        if keys.len() != owners.len() || owners.iter().any(|&item| item as usize >= items) {
            return Err(file.damaged("the equal items are not those of the run"));
        }
        Ok(Self { keys, items: owners })
    }
}

/// Collects keys and the items that have them.
#[derive(Default)]
pub struct EqualRows(Vec<(Identity, u32)>);

impl EqualRows {
    pub fn extend(&mut self, rows: impl IntoIterator<Item = (Identity, u32)>) {
        self.0.extend(rows);
    }

    pub fn finish(mut self) -> EqualKeys {
        self.0.sort_unstable();
        let (keys, items) = self.0.into_iter().unzip();
        EqualKeys { keys: Array::Owned(keys), items: Array::Owned(items) }
    }
}
