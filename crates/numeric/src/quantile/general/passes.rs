//! Passes over all rows of a level: which are near a fit, which are on its wrong side, and what they lose.

use std::ops::Range;

use rayon::prelude::*;

use super::arrays::{ROWS_AT_A_TIME, Runs, add_in_pairs, add_up};
use super::levels::{Level, Limits};
use super::matrix::{BLOCK, CellMatrix};

/// What is found in a chunk of rows.
trait Pass: Sync {
    type Found: Send;

    fn read(&self, rows: Range<usize>) -> Self::Found;
}

/// What a pass finds in each chunk of rows, in their order.
fn run<P: Pass>(pass: &P, rows: usize) -> Vec<P::Found> {
    #[cfg(target_arch = "x86_64")]
    let wide = is_x86_feature_detected!("avx2");
    (0..rows.div_ceil(ROWS_AT_A_TIME))
        .into_par_iter()
        .map(|chunk| {
            let start = chunk * ROWS_AT_A_TIME;
            let rows = start..(start + ROWS_AT_A_TIME).min(rows);
            #[cfg(target_arch = "x86_64")]
            if wide {
                // SAFETY: the processor was asked whether it can.
                return unsafe { read_wide(pass, rows) };
            }
            pass.read(rows)
        })
        .collect()
}

/// The same with registers for four numbers, which changes no bit of the result.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn read_wide<P: Pass>(pass: &P, rows: Range<usize>) -> P::Found {
    pass.read(rows)
}

fn blocks(rows: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let end = rows.end;
    rows.step_by(BLOCK)
        .map(move |start| start..(start + BLOCK).min(end))
}

struct Cut<'p> {
    level: &'p Level<'p>,
    folded: &'p [f64],
    limits: &'p [(f64, f64)],
    /// Numbers in a table of sums by cell and slot; 0 where it would be too large.
    size: usize,
}

impl Pass for Cut<'_> {
    type Found = (Vec<u32>, Vec<f64>);

    #[inline(always)]
    fn read(&self, rows: Range<usize>) -> Self::Found {
        let (level, matrix) = (self.level, &self.level.matrix);
        let (mut inside, mut sums) = (Vec::new(), vec![0.0; self.size]);
        let (mut fitted, mut flags) = ([0.0; BLOCK], [0u8; BLOCK]);
        let mut ends = [[0.0; BLOCK]; 2];
        for block in blocks(rows) {
            let count = block.len();
            let (fitted, flags) = (&mut fitted[..count], &mut flags[..count]);
            matrix.evaluate(self.folded, block.clone(), fitted);
            spread_limits(self.limits, matrix, block.clone(), &mut ends);
            let (lows, highs) = (&ends[0][..count], &ends[1][..count]);
            let values = &level.values[block.clone()];
            for at in 0..count {
                let residual = (values[at] - level.origin) - fitted[at];
                flags[at] = u8::from((residual <= highs[at]) & (residual >= lows[at]));
                fitted[at] = if residual > highs[at] { 1.0 } else { 0.0 };
            }
            if let Some(weights) = &level.weights {
                for (above, weight) in fitted.iter_mut().zip(&weights[block.clone()]) {
                    *above *= weight;
                }
            }
            list_flagged(flags, block.start, &mut inside);
            if self.size > 0 {
                matrix.add_to_cells(block.start, fitted, &mut sums);
            }
        }
        (inside, sums)
    }
}

/// Rows between the limits, in order, and the sum of `w x` over the rows above them, here and elsewhere.
pub(super) fn cut_band(level: &Level<'_>, folded: &[f64], limits: &Limits) -> (Vec<u32>, Vec<f64>) {
    let matrix = &level.matrix;
    let limits = &limits.by_cell(matrix.cells())[..];
    let small = matrix.has_small_table();
    let size = if small {
        matrix.cells() * matrix.slots()
    } else {
        0
    };
    let pass = Cut {
        level,
        folded,
        limits,
        size,
    };
    let (inside, sums): (Vec<Vec<u32>>, Vec<Vec<f64>>) =
        run(&pass, level.rows()).into_iter().unzip();
    let here = if small {
        matrix.unfold(&add_in_pairs(sums, size))
    } else {
        let residuals = level.residuals_of(folded);
        matrix.sum_rows(|row, cell| {
            let above = residuals[row] > limits[cell].1;
            if above { level.weight(row) } else { 0.0 }
        })
    };
    (
        inside.concat(),
        level.above.iter().zip(&here).map(|(a, b)| a + b).collect(),
    )
}

struct Check<'p> {
    level: &'p Level<'p>,
    old: &'p [f64],
    new: &'p [f64],
    limits: &'p [(f64, f64)],
    magnitude: f64,
}

impl Pass for Check<'_> {
    type Found = Vec<u32>;

    #[inline(always)]
    fn read(&self, rows: Range<usize>) -> Vec<u32> {
        let (level, matrix) = (self.level, &self.level.matrix);
        let mut wrong = Vec::new();
        let (mut before, mut after) = ([0.0; BLOCK], [0.0; BLOCK]);
        let (mut ends, mut flags) = ([[0.0; BLOCK]; 2], [0u8; BLOCK]);
        for block in blocks(rows) {
            let count = block.len();
            let (before, after) = (&mut before[..count], &mut after[..count]);
            let flags = &mut flags[..count];
            matrix.evaluate(self.old, block.clone(), before);
            matrix.evaluate(self.new, block.clone(), after);
            spread_limits(self.limits, matrix, block.clone(), &mut ends);
            let (lows, highs) = (&ends[0][..count], &ends[1][..count]);
            let values = &level.values[block.clone()];
            for at in 0..count {
                let value = values[at] - level.origin;
                let (before, after) = (value - before[at], value - after[at]);
                let zero = 32.0 * f64::EPSILON * (value.abs() + self.magnitude);
                let fell = (before > highs[at]) & (after <= zero);
                let rose = (before < lows[at]) & (after >= -zero);
                flags[at] = u8::from(fell | rose);
            }
            list_flagged(flags, block.start, &mut wrong);
        }
        wrong
    }
}

/// Rows outside the limits at the old fit that are not on the same side of the new one, in order.
pub(super) fn find_wrong(
    level: &Level<'_>,
    old: &[f64],
    new: &[f64],
    limits: &Limits,
    magnitude: f64,
) -> Vec<u32> {
    let limits = &limits.by_cell(level.matrix.cells())[..];
    let pass = Check {
        level,
        old,
        new,
        limits,
        magnitude,
    };
    run(&pass, level.rows()).concat()
}

struct Loss<'p> {
    level: &'p Level<'p>,
    folded: &'p [f64],
    tau: f64,
}

impl Pass for Loss<'_> {
    /// Sums of blocks.
    type Found = Vec<f64>;

    #[inline(always)]
    fn read(&self, rows: Range<usize>) -> Vec<f64> {
        let (level, tau) = (self.level, self.tau);
        let mut fitted = [0.0; BLOCK];
        let mut sums = Vec::with_capacity(rows.len().div_ceil(BLOCK));
        for block in blocks(rows) {
            let losses = &mut fitted[..block.len()];
            level.matrix.evaluate(self.folded, block.clone(), losses);
            for (loss, value) in losses.iter_mut().zip(&level.values[block.clone()]) {
                let residual = (value - level.origin) - *loss;
                *loss = (residual * tau).max(residual * (tau - 1.0));
            }
            sums.push(match &level.weights {
                Some(weights) => add_up(losses, |loss, weight| loss * weight, &weights[block]),
                None => add_up(losses, |loss, _| loss, losses),
            });
        }
        sums
    }
}

/// The check function's loss at the coefficients.
pub(super) fn sum_loss(level: &Level<'_>, coefficients: &[f64], tau: f64) -> f64 {
    let folded = &level.matrix.fold(coefficients)[..];
    let mut parts = run(&Loss { level, folded, tau }, level.rows()).concat();
    while parts.len() > 1 {
        parts = parts.chunks(2).map(|pair| pair.iter().sum()).collect();
    }
    parts[0]
}

/// The limits of each row of a block.
#[inline(always)]
fn spread_limits(
    limits: &[(f64, f64)],
    matrix: &CellMatrix<'_>,
    block: Range<usize>,
    ends: &mut [[f64; BLOCK]; 2],
) {
    let [lows, highs] = ends;
    if let Some(starts) = matrix.starts() {
        for (cell, run) in Runs::new(starts, &block) {
            lows[run.clone()].fill(limits[cell].0);
            highs[run].fill(limits[cell].1);
        }
        return;
    }
    let first = block.start;
    matrix.for_each_row(block, |row, cell| {
        (lows[row - first], highs[row - first]) = limits[cell];
    });
}

/// Appends the rows that are flagged, of a block that begins at `start`; most are not.
#[inline(always)]
fn list_flagged(flags: &[u8], start: usize, rows: &mut Vec<u32>) {
    for (part, flags) in flags.chunks(8).enumerate() {
        if flags.iter().fold(0, |any, flag| any | flag) != 0 {
            let first = start + part * 8;
            let flagged = (first..).zip(flags).filter(|&(_, &flag)| flag != 0);
            rows.extend(flagged.map(|(row, _)| row as u32));
        }
    }
}
