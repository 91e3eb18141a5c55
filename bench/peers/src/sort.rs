//! Sorting the fingerprints: the cost of any method that reads each of them a few times.

use std::path::Path;

use anyhow::{Result, bail};
use lookalike_bench::{
    answer::Answer,
    npy,
    turn::{Ready, measure, serve},
};

const PASSES: usize = 8;
const BUCKETS: usize = 256;

pub fn serve_sort(file: &Path, how: &str) -> Result<()> {
    let prints: Vec<u64> = npy::read::<1>(file)?.iter().map(|print| print.0[0]).collect();
    let mut scratch = vec![0; prints.len()];
    match how {
        "radix" => serve_with(&prints, |array| radix_sort(array, &mut scratch)),
        "radix-fresh" => serve_with(&prints, |array| radix_sort(array, &mut vec![0; array.len()])),
        "std" => serve_with(&prints, <[u64]>::sort_unstable),
        _ => bail!("{how}: not radix, radix-fresh or std"),
    }
    Ok(())
}

fn serve_with(prints: &[u64], mut sort: impl FnMut(&mut [u64])) {
    let mut array = prints.to_vec();
    serve(&Ready::default(), || {
        array.copy_from_slice(prints);
        let turn = measure(|| sort(&mut array), |()| Answer::default());
        assert!(array.is_sorted(), "this does not sort");
        turn
    });
}

/// Least significant byte first; all histograms come from one pass over the array.
fn radix_sort(array: &mut [u64], scratch: &mut [u64]) {
    let mut buckets = histograms(array);
    for (pass, starts) in buckets.iter_mut().enumerate() {
        let mut total = 0;
        for start in starts.iter_mut() {
            (*start, total) = (total, total + *start);
        }
        match pass % 2 {
            0 => scatter(array, scratch, starts, pass),
            _ => scatter(scratch, array, starts, pass),
        }
    }
}

fn histograms(array: &[u64]) -> [[usize; BUCKETS]; PASSES] {
    let mut counts = [[0; BUCKETS]; PASSES];
    for &value in array {
        for (counts, byte) in counts.iter_mut().zip(value.to_le_bytes()) {
            counts[usize::from(byte)] += 1;
        }
    }
    counts
}

fn scatter(from: &[u64], to: &mut [u64], starts: &mut [usize; BUCKETS], pass: usize) {
    for &value in from {
        let start = &mut starts[usize::from((value >> (8 * pass)) as u8)];
        to[*start] = value;
        *start += 1;
    }
}
