//! Where do records lie while they are scattered?
//!
//! One large allocation for all passes. It asks for huge pages: a scatter writes to a thousand
//! places in turn, and with small pages each of them would miss in the TLB.

use memmap2::MmapMut;

/// Room for one record per item.
pub(super) enum RecordBuffer {
    Mapped(MmapMut),
    Owned(Vec<u64>),
}

impl RecordBuffer {
    pub fn new(records: usize) -> Self {
        // Up to here the allocator keeps what was freed, and the next call finds it warm.
        const WORTH_MAPPING: usize = 1 << 22;
        if records < WORTH_MAPPING {
            return Self::Owned(vec![0; records]);
        }
        match MmapMut::map_anon(records * size_of::<u64>()) {
            Ok(map) => {
                #[cfg(target_os = "linux")]
                // Advice only: without huge pages the answer is the same, only slower.
                let _ = map.advise(memmap2::Advice::HugePage);
                Self::Mapped(map)
            }
            Err(_) => Self::Owned(vec![0; records]),
        }
    }

    pub fn records(&mut self) -> &mut [u64] {
        match self {
            Self::Mapped(map) => bytemuck::cast_slice_mut(&mut map[..]),
            Self::Owned(records) => records,
        }
    }
}
