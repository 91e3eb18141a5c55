//! The resources of a search: memory, temporary files, kernel, progress and cancellation.

use std::{
    ops::ControlFlow,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    path::{Path, PathBuf},
};

use crate::{hamming::Kernel, pairs::PairsError, sorted::MemoryBudget};

/// What a search may use: memory, a folder for temporary files, and a kernel; and a callback for
/// progress and cancellation. Nothing of this changes a result.
///
/// ```
/// use std::ops::ControlFlow;
/// use lookalike::Resources;
///
/// let watch = |done: f64| if done < 0.5 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) };
/// let resources = Resources::new().memory(1 << 30, std::env::temp_dir()).watch(&watch);
/// ```
#[derive(Clone)]
pub struct Resources<'a> {
    limit: Option<(u64, PathBuf)>,
    kernel: Kernel,
    watch: &'a (dyn Fn(f64) -> ControlFlow<()> + Sync),
}

impl Default for Resources<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl<'a> Resources<'a> {
    /// Unlimited memory, the fastest kernel, and no callback.
    pub fn new() -> Self {
        Self { limit: None, kernel: Kernel::detect(), watch: &|_| ControlFlow::Continue(()) }
    }

    /// Limits memory to about this many bytes; the rest goes to temporary files in `folder`.
    #[must_use]
    pub fn memory(mut self, bytes: u64, folder: impl Into<PathBuf>) -> Self {
        self.limit = Some((bytes, folder.into()));
        self
    }

    /// Uses this kernel instead of the fastest one.
    #[must_use]
    pub fn kernel(mut self, kernel: Kernel) -> Self {
        self.kernel = kernel;
        self
    }

    /// Calls back regularly, from any thread, with the share of the work done (0 to 1). On
    /// [`ControlFlow::Break`], the search stops soon and fails with [`PairsError::Cancelled`].
    #[must_use]
    pub fn watch<'b>(self, watch: &'b (dyn Fn(f64) -> ControlFlow<()> + Sync)) -> Resources<'b>
    where
        'a: 'b,
    {
        Resources { limit: self.limit, kernel: self.kernel, watch }
    }

    pub(crate) fn kernel_to_use(&self) -> Kernel {
        self.kernel
    }

    /// The memory limit, if any.
    pub(crate) fn limit(&self) -> Option<u64> {
        self.limit.as_ref().map(|(bytes, _)| *bytes)
    }

    /// The folder for temporary files, which exist only if there is a memory limit.
    pub(crate) fn folder(&self) -> &Path {
        self.limit.as_ref().map_or(Path::new(""), |(_, folder)| folder)
    }

    /// Some eighths of the memory limit, if any.
    pub(crate) fn share(&self, eighths: u64) -> Option<u64> {
        self.limit().map(|bytes| bytes / 8 * eighths)
    }

    /// A memory budget of some eighths of the limit.
    pub(crate) fn budget(&self, eighths: u64) -> MemoryBudget {
        let budget = |bytes| MemoryBudget::new(bytes, self.folder().to_owned());
        self.share(eighths).map_or_else(MemoryBudget::unlimited, budget)
    }

    /// Reports progress. Unwinds if the search is to stop, which [`stoppable`] turns into an error.
    pub(crate) fn report(&self, done: f64) {
        if (self.watch)(done).is_break() {
            resume_unwind(Box::new(Stopped));
        }
    }
}

/// The payload with which [`Resources::report`] unwinds.
struct Stopped;

/// Runs work that reports progress. Returns an error if it was stopped; any other panic continues.
pub(crate) fn stoppable<T>(work: impl FnOnce() -> Result<T, PairsError>) -> Result<T, PairsError> {
    // Unwinding drops everything that is half done, so nothing inconsistent remains.
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(result) => result,
        Err(panic) if panic.is::<Stopped>() => Err(PairsError::Cancelled),
        Err(panic) => resume_unwind(panic),
    }
}
