//! Arrays of numbers, either owned or in a mapped file.

use std::{ops::Range, path::Path, sync::Arc};

use bytemuck::Pod;
use memmap2::Mmap;

use crate::index::{
    IndexError,
    file::{Content, Header},
};

pub enum Array<T> {
    Owned(Vec<T>),
    Mapped(Arc<Mmap>, Range<usize>),
}

impl<T: Pod> std::ops::Deref for Array<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match self {
            Self::Owned(numbers) => numbers,
            Self::Mapped(map, range) => bytemuck::cast_slice(&map[range.clone()]),
        }
    }
}

impl<T: Pod> Array<T> {
    pub fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(self)
    }
}

/// A mapped file whose checksums were verified.
pub struct MappedFile<'a> {
    pub path: &'a Path,
    pub map: Arc<Mmap>,
    pub header: Header,
}

impl MappedFile<'_> {
    /// The numbers of a section.
    pub fn array<T: Pod>(&self, content: Content) -> Result<Array<T>, IndexError> {
        let section = self.header.section(self.path, content)?;
        let bytes = section.of(self.path, &self.map)?;
        if bytemuck::try_cast_slice::<u8, T>(bytes).is_err() {
            return Err(self.damaged(format!("{content} has no whole number of entries")));
        }
        let start = section.start as usize;
        Ok(Array::Mapped(self.map.clone(), start..start + bytes.len()))
    }

    pub fn damaged(&self, what: impl Into<String>) -> IndexError {
        IndexError::Damaged { path: self.path.into(), what: what.into() }
    }
}
