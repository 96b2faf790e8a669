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

/// What each of several passes finds in each chunk of rows, in their order.
///
/// All read a chunk before the next one is touched: memory is slower than what they do with it.
fn run<P: Pass>(passes: &[P], rows: usize) -> Vec<Vec<P::Found>> {
    #[cfg(target_arch = "x86_64")]
    let wide = is_x86_feature_detected!("avx2");
    let chunks: Vec<Vec<P::Found>> = (0..rows.div_ceil(ROWS_AT_A_TIME))
        .into_par_iter()
        .map(|chunk| {
            let start = chunk * ROWS_AT_A_TIME;
            let rows = start..(start + ROWS_AT_A_TIME).min(rows);
            let read = |pass: &P| {
                #[cfg(target_arch = "x86_64")]
                if wide {
                    // SAFETY: the processor was asked whether it can.
                    return unsafe { read_wide(pass, rows.clone()) };
                }
                pass.read(rows.clone())
            };
            passes.iter().map(read).collect()
        })
        .collect();
    let mut found: Vec<Vec<P::Found>> = passes
        .iter()
        .map(|_| Vec::with_capacity(chunks.len()))
        .collect();
    for chunk in chunks {
        for (found, part) in found.iter_mut().zip(chunk) {
            found.push(part);
        }
    }
    found
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
    limits: Vec<(f64, f64)>,
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
        for block in blocks(rows) {
            let count = block.len();
            let (fitted, flags) = (&mut fitted[..count], &mut flags[..count]);
            matrix.evaluate(self.folded, block.clone(), fitted);
            let values = &level.values[block.clone()];
            for_each_run(matrix, &self.limits, block.clone(), |run, low, high| {
                let values = &values[run.clone()];
                let (fitted, flags) = (&mut fitted[run.clone()], &mut flags[run]);
                for ((value, fitted), flag) in values.iter().zip(fitted).zip(flags) {
                    let residual = (value - level.origin) - *fitted;
                    *flag = u8::from((residual <= high) & (residual >= low));
                    *fitted = if residual > high { 1.0 } else { 0.0 };
                }
            });
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

/// The band about a fit: folded coefficients, and limits of the residuals.
pub(super) type Band<'b> = (&'b [f64], &'b Limits);

/// For each band the rows between its limits, in order, and the sum of `w x` over the rows above them, here and
/// elsewhere.
pub(super) fn cut_bands(level: &Level<'_>, bands: &[Band<'_>]) -> Vec<(Vec<u32>, Vec<f64>)> {
    let matrix = &level.matrix;
    let small = matrix.has_small_table();
    let size = if small {
        matrix.cells() * matrix.slots()
    } else {
        0
    };
    let passes: Vec<Cut<'_>> = bands
        .iter()
        .map(|&(folded, limits)| Cut {
            level,
            folded,
            limits: limits.by_cell(matrix.cells()),
            size,
        })
        .collect();
    run(&passes, level.rows())
        .into_iter()
        .zip(&passes)
        .map(|(found, pass)| {
            let (inside, sums): (Vec<Vec<u32>>, Vec<Vec<f64>>) = found.into_iter().unzip();
            let here = if small {
                matrix.unfold(&add_in_pairs(sums, size))
            } else {
                sum_above(pass)
            };
            let above = level.above.iter().zip(&here).map(|(a, b)| a + b).collect();
            (inside.concat(), above)
        })
        .collect()
}

/// Sum of `w x` over the rows above a band.
fn sum_above(cut: &Cut<'_>) -> Vec<f64> {
    let level = cut.level;
    let residuals = level.residuals_of(cut.folded);
    level.matrix.sum_rows(|row, cell| {
        let above = residuals[row] > cut.limits[cell].1;
        if above { level.weight(row) } else { 0.0 }
    })
}

struct Check<'p> {
    level: &'p Level<'p>,
    old: &'p [f64],
    new: &'p [f64],
    limits: Vec<(f64, f64)>,
    magnitude: f64,
}

impl Pass for Check<'_> {
    type Found = Vec<u32>;

    #[inline(always)]
    fn read(&self, rows: Range<usize>) -> Vec<u32> {
        let (level, matrix) = (self.level, &self.level.matrix);
        let mut wrong = Vec::new();
        let (mut before, mut after) = ([0.0; BLOCK], [0.0; BLOCK]);
        let mut flags = [0u8; BLOCK];
        for block in blocks(rows) {
            let count = block.len();
            let (before, after) = (&mut before[..count], &mut after[..count]);
            let flags = &mut flags[..count];
            matrix.evaluate(self.old, block.clone(), before);
            matrix.evaluate(self.new, block.clone(), after);
            let values = &level.values[block.clone()];
            for_each_run(matrix, &self.limits, block.clone(), |run, low, high| {
                let (before, after) = (&before[run.clone()], &after[run.clone()]);
                let rows = values[run.clone()].iter().zip(before).zip(after);
                for (((value, before), after), flag) in rows.zip(&mut flags[run]) {
                    let value = value - level.origin;
                    let (before, after) = (value - before, value - after);
                    let zero = 32.0 * f64::EPSILON * (value.abs() + self.magnitude);
                    let fell = (before > high) & (after <= zero);
                    let rose = (before < low) & (after >= -zero);
                    *flag = u8::from(fell | rose);
                }
            });
            list_flagged(flags, block.start, &mut wrong);
        }
        wrong
    }
}

/// A fit within a band, to be checked: folded coefficients, and the largest magnitude of what was added up.
pub(super) struct NewFit<'b> {
    pub band: Band<'b>,
    pub folded: Vec<f64>,
    pub magnitude: f64,
}

/// For each fit the rows outside the limits of its band that are not on the same side of it, in order.
pub(super) fn find_wrong(level: &Level<'_>, fits: &[NewFit<'_>]) -> Vec<Vec<u32>> {
    let passes: Vec<Check<'_>> = fits
        .iter()
        .map(|fit| Check {
            level,
            old: fit.band.0,
            new: &fit.folded,
            limits: fit.band.1.by_cell(level.matrix.cells()),
            magnitude: fit.magnitude,
        })
        .collect();
    run(&passes, level.rows())
        .into_iter()
        .map(|found| found.concat())
        .collect()
}

struct Loss<'p> {
    level: &'p Level<'p>,
    folded: Vec<f64>,
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
            level.matrix.evaluate(&self.folded, block.clone(), losses);
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

/// The check function's loss for each vector of coefficients and its quantile.
pub(super) fn sum_losses(level: &Level<'_>, fits: &[(&[f64], f64)]) -> Vec<f64> {
    let passes: Vec<Loss<'_>> = fits
        .iter()
        .map(|&(coefficients, tau)| Loss {
            level,
            folded: level.matrix.fold(coefficients),
            tau,
        })
        .collect();
    let add = |found: Vec<Vec<f64>>| {
        let mut parts = found.concat();
        while parts.len() > 1 {
            parts = parts.chunks(2).map(|pair| pair.iter().sum()).collect();
        }
        parts[0]
    };
    run(&passes, level.rows()).into_iter().map(add).collect()
}

/// Calls `look` for the parts of a block whose rows share their limits, each counted from the block's start.
#[inline(always)]
fn for_each_run(
    matrix: &CellMatrix<'_>,
    limits: &[(f64, f64)],
    block: Range<usize>,
    mut look: impl FnMut(Range<usize>, f64, f64),
) {
    if let Some(starts) = matrix.starts() {
        for (cell, run) in Runs::new(starts, &block) {
            look(run, limits[cell].0, limits[cell].1);
        }
        return;
    }
    let first = block.start;
    matrix.for_each_row(block, |row, cell| {
        look(row - first..row - first + 1, limits[cell].0, limits[cell].1);
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
