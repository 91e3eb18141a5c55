//! What was asked for, checked: choices that only make sense together.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use lookalike::{AllPairs, Kernel, Radius, Recipe, Width};

use crate::args::{RecipeArgs, SearchArgs};

/// How to search fingerprints of one width.
pub struct Search {
    pub width: Width,
    pub radius: Radius,
    blocks: Option<u32>,
    threads: Option<usize>,
    pub memory: Option<u64>,
    temp: Option<PathBuf>,
    kernel: Option<Kernel>,
}

impl Search {
    pub fn new(args: SearchArgs, width: Width) -> Result<Self> {
        let SearchArgs { distance: radius, blocks, threads, memory, temp, kernel } = args;
        check_radius(radius, width)?;
        if let Some(blocks) = blocks {
            ensure!(
                blocks > radius.bits(),
                "--blocks {blocks} cannot find pairs within {radius} bits; \
                 use at least {} blocks, or leave --blocks out",
                radius.bits() + 1
            );
            ensure!(
                blocks <= width.bits(),
                "--blocks {blocks}: {} bits cannot be cut into so many; use at most {}",
                width.bits(),
                width.bits()
            );
        }
        if let Some(folder) = &temp {
            ensure!(folder.is_dir(), "--temp {}: no such folder", folder.display());
        }
        Ok(Self { width, radius, blocks, threads, memory, temp, kernel })
    }

    /// The library's options for this search.
    pub fn all_pairs<'a>(&self, progress: &'a (dyn Fn(f64) + Sync)) -> AllPairs<'a> {
        let mut pairs = AllPairs::new(self.radius).progress(progress);
        if let Some(blocks) = self.blocks {
            pairs = pairs.blocks(blocks);
        }
        if let Some(bytes) = self.memory {
            pairs = pairs.memory(bytes);
        }
        if let Some(folder) = &self.temp {
            pairs = pairs.spill_folder(folder);
        }
        if let Some(kernel) = self.kernel {
            pairs = pairs.kernel(kernel);
        }
        pairs
    }

    /// Runs `work` on as many threads as were asked for.
    pub fn on_threads<T: Send>(&self, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
        on_threads(self.threads, work)
    }
}

/// Runs `work` on this many threads; on all cores if nothing was said.
pub fn on_threads<T: Send>(
    threads: Option<usize>,
    work: impl FnOnce() -> Result<T> + Send,
) -> Result<T> {
    ensure!(threads != Some(0), "--threads 0: use at least 1, or leave it out for all cores");
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads.unwrap_or(0))
        .build()
        .context("cannot start the threads; try a smaller --threads")?
        .install(work)
}

/// How texts become fingerprints, and how near two of them must be.
pub struct Making {
    pub recipe: Recipe,
    pub radius: Radius,
}

impl Making {
    pub fn new(args: &RecipeArgs, distance: Option<Radius>) -> Result<Self> {
        let preset = args.recipe;
        let base = &preset.recipe;
        let mut recipe = Recipe {
            features: args.features.unwrap_or(base.features),
            weights: args.weights.unwrap_or(base.weights),
            hash: args.hash.unwrap_or(base.hash),
            seed: args.seed.unwrap_or(base.seed),
            width: args.bits.unwrap_or(base.width),
            ..base.clone()
        };
        recipe.hash.check_seed(recipe.seed).context("--seed")?;
        if recipe != *base {
            recipe.name = "own".into();
        }
        // A preset's radius is a share of its bits.
        let share = preset.radius.bits() * recipe.width.bits() / base.width.bits();
        let radius = distance.unwrap_or(Radius::new(share));
        check_radius(radius, recipe.width)?;
        Ok(Self { recipe, radius })
    }
}

/// A radius wider than the fingerprints is a mistake, not a wish for all pairs.
pub fn check_radius(radius: Radius, width: Width) -> Result<()> {
    ensure!(
        radius.bits() <= width.bits(),
        "--distance {radius} is more than the {} bits of a fingerprint; use {} or less",
        width.bits(),
        width.bits()
    );
    Ok(())
}
