//! What may a search use, and who watches it?

use std::{
    ops::ControlFlow,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    path::{Path, PathBuf},
};

use crate::{Kernel, PairsError, sorted::MemoryBudget};

/// What a search may use: memory, a folder for what does not fit, instructions; and who is told how
/// far it is. None of it changes an answer.
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
    /// Any amount of memory, the fastest kernel, and nobody who watches.
    pub fn new() -> Self {
        Self { limit: None, kernel: Kernel::detect(), watch: &|_| ControlFlow::Continue(()) }
    }

    /// Limits memory to about this many bytes; what does not fit goes to temporary files in `folder`.
    #[must_use]
    pub fn memory(mut self, bytes: u64, folder: impl Into<PathBuf>) -> Self {
        self.limit = Some((bytes, folder.into()));
        self
    }

    /// Forces a kernel.
    #[must_use]
    pub fn kernel(mut self, kernel: Kernel) -> Self {
        self.kernel = kernel;
        self
    }

    /// Called now and then, from any thread, with the part of the work that is done (0 to 1). On
    /// [`ControlFlow::Break`] the search stops soon and fails with [`PairsError::Cancelled`].
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

    /// The memory limit, if there is one.
    pub(crate) fn limit(&self) -> Option<u64> {
        self.limit.as_ref().map(|(bytes, _)| *bytes)
    }

    /// Where what does not fit goes. Nothing does unless there is a limit.
    pub(crate) fn folder(&self) -> &Path {
        self.limit.as_ref().map_or(Path::new(""), |(_, folder)| folder)
    }

    /// Some eighths of the memory limit, if there is one.
    pub(crate) fn share(&self, eighths: u64) -> Option<u64> {
        self.limit().map(|bytes| bytes / 8 * eighths)
    }

    /// Room for as much.
    pub(crate) fn budget(&self, eighths: u64) -> MemoryBudget {
        let budget = |bytes| MemoryBudget::new(bytes, self.folder().to_owned());
        self.share(eighths).map_or_else(MemoryBudget::unlimited, budget)
    }

    /// Tells how much is done. Unwinds if the search is to stop: [`stoppable`] turns that into an
    /// error.
    pub(crate) fn report(&self, done: f64) {
        if (self.watch)(done).is_break() {
            resume_unwind(Box::new(Stopped));
        }
    }
}

/// What [`Resources::report`] unwinds with.
struct Stopped;

/// Runs work that reports. A search that is stopped is an error; any other panic goes on.
pub(crate) fn stoppable<T>(work: impl FnOnce() -> Result<T, PairsError>) -> Result<T, PairsError> {
    // Nothing of what was half done is seen again: its owner is gone with the unwinding.
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(result) => result,
        Err(panic) if panic.is::<Stopped>() => Err(PairsError::Cancelled),
        Err(panic) => resume_unwind(panic),
    }
}
