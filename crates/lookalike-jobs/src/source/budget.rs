//! How many images may be decoded at once, if memory is limited?

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Memory that threads take shares of, and give back. Who asks for more than is left waits.
#[derive(Default)]
pub struct Budget {
    limit: Option<u64>,
    used: Mutex<u64>,
    freed: Condvar,
}

/// Memory in use; given back when it is dropped.
pub struct Share<'a> {
    budget: &'a Budget,
    bytes: u64,
}

impl Budget {
    /// Images are not read with less than this.
    pub const LEAST: u64 = 16 << 20;

    /// Any amount, if there is no limit.
    pub fn new(limit: Option<u64>) -> Self {
        Self { limit, ..Self::default() }
    }

    /// The limit, if it is too small for anything.
    pub fn too_small(&self) -> Option<u64> {
        self.limit.filter(|&limit| limit < Self::LEAST)
    }

    /// Waits until there is room. What never fits is an error that names the limit.
    pub fn take(&self, bytes: u64) -> Result<Share<'_>, u64> {
        let Some(limit) = self.limit else { return Ok(Share { budget: self, bytes: 0 }) };
        if bytes > limit {
            return Err(limit);
        }
        let mut used = self.used();
        while *used + bytes > limit {
            used = self.freed.wait(used).unwrap_or_else(PoisonError::into_inner);
        }
        *used += bytes;
        Ok(Share { budget: self, bytes })
    }

    fn used(&self) -> MutexGuard<'_, u64> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        *self.budget.used() -= self.bytes;
        self.budget.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    #[test]
    fn no_more_is_taken_at_once_than_there_is_and_everyone_gets_a_turn() {
        let budget = Budget::new(Some(10));
        let (used, most, turns) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for bytes in [1, 4, 6, 10, 3, 7] {
                let (budget, used, most, turns) = (&budget, &used, &most, &turns);
                scope.spawn(move || {
                    for _ in 0..200 {
                        let share = budget.take(bytes).ok().unwrap();
                        let now = used.fetch_add(bytes, Ordering::SeqCst) + bytes;
                        most.fetch_max(now, Ordering::SeqCst);
                        turns.fetch_add(1, Ordering::SeqCst);
                        used.fetch_sub(bytes, Ordering::SeqCst);
                        drop(share);
                    }
                });
            }
        });
        assert_eq!(turns.into_inner(), 6 * 200);
        assert!((7..=10).contains(&most.into_inner()));
        assert_eq!(budget.take(11).err(), Some(10));
        assert!(Budget::new(None).take(u64::MAX).is_ok());
    }
}
