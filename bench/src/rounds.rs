//! Runs contenders in turns and keeps the best turn of each.
//!
//! Taking turns spreads noise evenly. The answer must be the same in every turn.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use lookalike_bench::turn::Turn;

/// How many rounds to run: at least `least`, then more up to `most` until the time is over.
#[derive(Clone, Copy)]
pub struct Rounds {
    pub least: usize,
    pub most: usize,
    pub time: Duration,
}

impl Rounds {
    /// For work that takes seconds at most.
    pub const WARM: Self = Self { least: 3, most: 15, time: Duration::from_secs(8) };

    /// For peers so slow that noise does not matter.
    pub const ONCE: Self = Self { least: 1, most: 1, time: Duration::ZERO };

    /// No further round starts after this.
    const PATIENCE: Duration = Duration::from_secs(90);

    /// Runs all contenders in turns; returns the best turn of each.
    pub fn run<const N: usize>(self, mut contenders: [Contender<'_>; N]) -> Result<[Turn; N]> {
        let start = Instant::now();
        let mut best = [None; N];
        for round in 0..self.most {
            let spent = start.elapsed();
            if round >= self.least && spent > self.time || round > 0 && spent > Self::PATIENCE {
                break;
            }
            for (best, contender) in best.iter_mut().zip(&mut contenders) {
                let turn = contender()?;
                *best = Some(better(*best, turn)?);
            }
        }
        Ok(best.map(|turn| turn.expect("there is at least one round")))
    }
}

/// A contender, which runs once per turn.
pub type Contender<'a> = &'a mut dyn FnMut() -> Result<Turn>;

fn better(best: Option<Turn>, turn: Turn) -> Result<Turn> {
    let Some(best) = best else { return Ok(turn) };
    ensure!(best.answer == turn.answer, "two runs, two answers: {best:?} and {turn:?}");
    Ok(if turn.seconds < best.seconds { turn } else { best })
}
