//! What is open: any collection, or one of images, which are judged by their digests?

use std::path::Path;

use anyhow::{Result, bail};
use lookalike::{Collection, CollectionError, ImageCollection};

use super::{image_preset, tell};

/// A collection, by what it keeps of its items.
pub enum Held {
    Whole(Collection),
    /// Images that can be found in any orientation, and by their parts if it keeps them.
    Images(ImageCollection),
}

impl Held {
    /// A collection that is open, with its tables if it is of images.
    pub fn of(collection: Collection) -> Result<Self, CollectionError> {
        Ok(if image_preset(&collection.about().maker).is_ok() {
            Self::Images(ImageCollection::of(collection)?)
        } else {
            Self::Whole(collection)
        })
    }

    /// Opens a collection to change it, and says what was noticed.
    pub fn open(folder: &Path, quiet: bool) -> Result<Self> {
        let held = Self::of(Collection::open(folder)?)?;
        tell(held.notes(), quiet);
        Ok(held)
    }

    /// Opens a collection to search it; for writing only if it must be set right first.
    pub fn open_to_read(folder: &Path, quiet: bool) -> Result<Self> {
        let held = match Collection::open_read_only(folder).and_then(Self::of) {
            Err(CollectionError::NotClosed { .. }) => Self::of(Collection::open(folder)?)?,
            Err(CollectionError::PartsIncomplete { path }) => {
                let name = path.display();
                bail!("{name}: its search tables are not complete; index compact makes them again")
            }
            held => held?,
        };
        tell(held.notes(), quiet);
        Ok(held)
    }

    /// Its items, without their tables.
    pub fn whole(&self) -> &Collection {
        match self {
            Self::Whole(collection) => collection,
            Self::Images(collection) => collection.whole(),
        }
    }

    fn notes(&self) -> &[String] {
        match self {
            Self::Whole(collection) => collection.notes(),
            Self::Images(collection) => collection.notes(),
        }
    }

    pub fn remove_many(&self, ids: &[&str]) -> Result<Vec<bool>, CollectionError> {
        match self {
            Self::Whole(collection) => collection.remove_many(ids),
            Self::Images(collection) => collection.remove_many(ids),
        }
    }

    pub fn compact(&self) -> Result<(), CollectionError> {
        match self {
            Self::Whole(collection) => collection.compact(),
            Self::Images(collection) => collection.compact(),
        }
    }

    pub fn verify(&self) -> Result<(), CollectionError> {
        match self {
            Self::Whole(collection) => collection.verify(),
            Self::Images(collection) => collection.verify(),
        }
    }

    pub fn backup(&self, folder: &Path) -> Result<(), CollectionError> {
        match self {
            Self::Whole(collection) => collection.backup(folder),
            Self::Images(collection) => collection.backup(folder),
        }
    }
}
