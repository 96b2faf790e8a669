//! Arrays of numbers: their sums in a fixed order, runs of rows of one cell, lists of rows with a flag.

use std::ops::Range;

use rayon::prelude::*;

/// Rows that one thread takes at a time. Fixed, so that sums are the same for any number of threads.
pub(super) const ROWS_AT_A_TIME: usize = 1 << 15;

/// The cells in turn with the part of a range that is theirs, counted from the range's start.
pub(super) struct Runs<'s> {
    starts: &'s [usize],
    cell: usize,
    first: usize,
    at: usize,
    end: usize,
}

impl<'s> Runs<'s> {
    /// Of rows in the order of their cells; `starts` says where those of each cell begin, and the end.
    #[inline(always)]
    pub fn new(starts: &'s [usize], range: &Range<usize>) -> Self {
        Self {
            starts,
            cell: starts.partition_point(|&start| start <= range.start),
            first: range.start,
            at: range.start,
            end: range.end,
        }
    }
}

impl Iterator for Runs<'_> {
    type Item = (usize, Range<usize>);

    // Inlined, so that what is done with a run uses all that the processor has.
    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        while self.at < self.end {
            let (cell, from) = (self.cell - 1, self.at);
            self.at = self.starts[self.cell].min(self.end);
            self.cell += 1;
            if from < self.at {
                return Some((cell, from - self.first..self.at - self.first));
            }
        }
        None
    }
}

/// Sum of `term` over pairs of numbers, in eight sums that fit wide registers.
#[inline(always)]
pub(super) fn add_up(one: &[f64], term: impl Fn(f64, f64) -> f64, other: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let ((left, left_rest), (right, right_rest)) = (one.as_chunks::<8>(), other.as_chunks::<8>());
    for (left, right) in left.iter().zip(right) {
        for lane in 0..8 {
            sums[lane] += term(left[lane], right[lane]);
        }
    }
    let rest = left_rest.iter().zip(right_rest);
    let rest: f64 = rest.map(|(&one, &other)| term(one, other)).sum();
    join_lanes(sums) + rest
}

/// Eight sums in one, in the order that wide registers add up theirs.
#[inline(always)]
pub(super) fn join_lanes(sums: [f64; 8]) -> f64 {
    let half: [f64; 4] = std::array::from_fn(|lane| sums[lane] + sums[lane + 4]);
    (half[0] + half[1]) + (half[2] + half[3])
}

/// Adds tables of equal size, neighbours first, so that rounding grows with the logarithm of their number.
pub(super) fn add_in_pairs(mut parts: Vec<Vec<f64>>, size: usize) -> Vec<f64> {
    while parts.len() > 1 {
        parts = parts
            .chunks(2)
            .map(|pair| match pair {
                [one, other] => one.iter().zip(other).map(|(a, b)| a + b).collect(),
                _ => pair[0].clone(),
            })
            .collect();
    }
    parts.pop().unwrap_or_else(|| vec![0.0; size])
}

/// Whether no entry is infinite or not a number.
pub(super) fn all_finite(values: &[f64]) -> bool {
    !values.par_chunks(ROWS_AT_A_TIME).any(has_not_finite)
}

/// Defines a function that has registers for four numbers where the processor does, which changes no bit of what
/// it returns. What it calls has them too if it is always inlined; closures are not.
macro_rules! wide {
    ($(#[$note:meta])* $seen:vis fn $name:ident$(<$kind:ident: $bound:path>)?(
        $($argument:ident: $type:ty),* $(,)?
    ) $(-> $found:ty)? $body:block) => {
        $(#[$note])*
        $seen fn $name$(<$kind: $bound>)?($($argument: $type),*) $(-> $found)? {
            #[inline(always)]
            fn work$(<$kind: $bound>)?($($argument: $type),*) $(-> $found)? $body

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2")]
            fn work_with_avx2$(<$kind: $bound>)?($($argument: $type),*) $(-> $found)? {
                work($($argument),*)
            }

            #[cfg(target_arch = "x86_64")]
            if is_x86_feature_detected!("avx2") {
                // SAFETY: the processor was asked whether it can.
                return unsafe { work_with_avx2($($argument),*) };
            }
            work($($argument),*)
        }
    };
}
pub(super) use wide;

/// Inner product with four sums, which the compiler can keep in one register.
pub(super) fn dot(one: &[f64], other: &[f64]) -> f64 {
    let mut sums = [0.0; 4];
    let (left, right) = (one.chunks_exact(4), other.chunks_exact(4));
    let rest: f64 = left
        .remainder()
        .iter()
        .zip(right.remainder())
        .map(|(a, b)| a * b)
        .sum();
    for (a, b) in left.zip(right) {
        for lane in 0..4 {
            sums[lane] += a[lane] * b[lane];
        }
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}

/// Appends the rows whose flag is 1 and not 0, of a block that begins at `start`; most are not flagged.
#[inline(always)]
pub(super) fn list_flagged(flags: &[u8], start: usize, rows: &mut Vec<u32>) {
    for (part, flags) in flags.chunks(64).enumerate() {
        let first = (start + part * 64) as u32;
        let (eights, rest) = flags.as_chunks::<8>();
        let mut bits = 0;
        for (at, &eight) in eights.iter().enumerate() {
            bits |= gather_bits(eight) << (8 * at);
        }
        while bits != 0 {
            rows.push(first + bits.trailing_zeros());
            bits &= bits - 1;
        }
        let flagged = (first + 8 * eights.len() as u32..).zip(rest);
        rows.extend(flagged.filter(|&(_, &flag)| flag != 0).map(|(row, _)| row));
    }
}

/// The lowest bits of eight bytes as those of one: the product has each of them once in its highest byte.
#[inline(always)]
fn gather_bits(bytes: [u8; 8]) -> u64 {
    u64::from_le_bytes(bytes).wrapping_mul(0x0102_0408_1020_4080) >> 56
}

wide! {
    fn has_not_finite(values: &[f64]) -> bool {
        let mut bad = false;
        for value in values {
            bad |= !value.is_finite();
        }
        bad
    }
}
