//! The definition of SimHash as a plain loop: one vote per bit and feature.

use lookalike::simhash::naive;
use lookalike_bench::{
    answer::Answer,
    data,
    turn::{Ready, measure, serve},
};

pub fn serve_votes(passes: usize, items: u64, each: u64, weighted: bool) {
    let items = data::features(items, each, weighted);
    let all = || Answer::of_passes(passes, &items, naive);
    serve(&Ready::default(), || measure(all, |answer| answer));
}
