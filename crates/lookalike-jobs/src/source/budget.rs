//! A memory budget that limits how many images are decoded at once.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Memory shared by threads. A thread that asks for more than is free waits.
#[derive(Default)]
pub struct Budget {
    limit: Option<u64>,
    used: Mutex<u64>,
    freed: Condvar,
}

/// Memory in use; released when dropped.
pub struct Share<'a> {
    budget: &'a Budget,
    bytes: u64,
}

impl Budget {
    /// The smallest limit with which images can be decoded.
    pub const MIN: u64 = 16 << 20;

    /// Unlimited without a limit.
    pub fn new(limit: Option<u64>) -> Self {
        Self { limit, ..Self::default() }
    }

    /// The limit, if it is below [`MIN`](Self::MIN).
    pub fn too_small(&self) -> Option<u64> {
        self.limit.filter(|&limit| limit < Self::MIN)
    }

    /// Waits until enough memory is free. A request above the limit fails, with the limit as error.
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
    fn never_exceeds_the_limit_and_serves_every_thread() {
        let budget = Budget::new(Some(10));
        let (used, max, turns) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for bytes in [1, 4, 6, 10, 3, 7] {
                let (budget, used, max, turns) = (&budget, &used, &max, &turns);
                scope.spawn(move || {
                    for _ in 0..200 {
                        let share = budget.take(bytes).ok().unwrap();
                        let now = used.fetch_add(bytes, Ordering::SeqCst) + bytes;
                        max.fetch_max(now, Ordering::SeqCst);
                        turns.fetch_add(1, Ordering::SeqCst);
                        used.fetch_sub(bytes, Ordering::SeqCst);
                        drop(share);
                    }
                });
            }
        });
        assert_eq!(turns.into_inner(), 6 * 200);
        assert!((7..=10).contains(&max.into_inner()));
        assert_eq!(budget.take(11).err(), Some(10));
        assert!(Budget::new(None).take(u64::MAX).is_ok());
    }
}
