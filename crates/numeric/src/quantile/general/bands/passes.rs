//! Passes over all rows of a level: which are near a fit, what those above add up to, and what they lose.

use std::ops::Range;

use rayon::prelude::*;

use super::band_limits::Limits;
use super::levels::Level;
use super::line::Line;
use crate::quantile::general::arrays::{
    ROWS_AT_A_TIME, Runs, add_in_pairs, add_up, list_flagged, wide,
};
use crate::quantile::general::matrix::{BLOCK, CellMatrix};

/// What is found in a chunk of rows.
pub(crate) trait Pass: Sync {
    type Found: Send;

    fn read(&self, rows: Range<usize>) -> Self::Found;
}

/// What each of several passes finds in each chunk of rows, in their order.
///
/// All read a chunk before the next one is touched: memory is slower than what they do with it.
pub(crate) fn run<P: Pass>(passes: &[P], rows: usize) -> Vec<Vec<P::Found>> {
    let chunks: Vec<Vec<P::Found>> = (0..rows.div_ceil(ROWS_AT_A_TIME))
        .into_par_iter()
        .map(|chunk| {
            let start = chunk * ROWS_AT_A_TIME;
            let rows = start..(start + ROWS_AT_A_TIME).min(rows);
            let read = |pass: &P| read_pass(pass, rows.clone());
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

wide! {
    fn read_pass<P: Pass>(pass: &P, rows: Range<usize>) -> P::Found {
        pass.read(rows)
    }
}

pub(crate) fn blocks(rows: Range<usize>) -> impl Iterator<Item = Range<usize>> {
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
    /// Whether the rows between the limits are wanted too.
    listed: bool,
}

impl<'p> Cut<'p> {
    fn new(level: &'p Level<'p>, folded: &'p [f64], limits: Vec<(f64, f64)>, listed: bool) -> Self {
        let matrix = &level.matrix;
        let small = matrix.has_small_table();
        let size = matrix.cells() * matrix.slots();
        Self {
            level,
            folded,
            limits,
            size: if small { size } else { 0 },
            listed,
        }
    }

    /// Flags the rows of a block that are between the limits, and adds up those above them.
    #[inline(always)]
    fn read_block(&self, block: Range<usize>, flags: &mut [u8], sums: &mut [f64]) {
        let (level, matrix) = (self.level, &self.level.matrix);
        let mut fitted = [0.0; BLOCK];
        let fitted = &mut fitted[..block.len()];
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
        if self.size > 0 {
            matrix.add_to_cells(block.start, fitted, sums);
        }
    }

    /// Lists the rows of a block that are between the limits, and adds up those above them, cell by cell: of rows
    /// in the order of their cells, with one covariate and no weights.
    #[inline(always)]
    fn read_lines(
        &self,
        starts: &[usize],
        block: Range<usize>,
        inside: &mut Vec<u32>,
        sums: &mut [f64],
    ) {
        let (level, matrix) = (self.level, &self.level.matrix);
        for (cell, run) in Runs::new(starts, &block) {
            let rows = block.start + run.start..block.start + run.end;
            let line = Line {
                origin: level.origin,
                centre: matrix.centres[0],
                constant: self.folded[cell * 2],
                slope: self.folded[cell * 2 + 1],
                limits: self.limits[cell],
            };
            let (values, covariate) = (
                &level.values[rows.clone()],
                &matrix.products[0][rows.clone()],
            );
            let near = |at| {
                if self.listed {
                    inside.push((rows.start + at) as u32);
                }
            };
            let (count, sum) = line.cut(values, covariate, near);
            sums[cell * 2] += count;
            sums[cell * 2 + 1] += sum;
        }
    }
}

impl Pass for Cut<'_> {
    type Found = (Vec<u32>, Vec<f64>);

    #[inline(always)]
    fn read(&self, rows: Range<usize>) -> Self::Found {
        let (mut inside, mut sums) = (Vec::new(), vec![0.0; self.size]);
        let (matrix, weights) = (&self.level.matrix, &self.level.weights);
        if let Some(starts) = matrix.starts()
            && self.size > 0
            && matrix.slots() == 2
            && weights.is_none()
        {
            blocks(rows).for_each(|block| self.read_lines(starts, block, &mut inside, &mut sums));
            return (inside, sums);
        }
        let mut flags = [0u8; BLOCK];
        for block in blocks(rows) {
            let flags = &mut flags[..block.len()];
            self.read_block(block.clone(), flags, &mut sums);
            if self.listed {
                list_flagged(flags, block.start, &mut inside);
            }
        }
        (inside, sums)
    }
}

/// The band about a fit: folded coefficients, and limits of the residuals.
pub(crate) type Band<'b> = (&'b [f64], &'b Limits);

/// For each band the rows between its limits, in order, and the sum of `w x` over the rows above them, here and
/// elsewhere.
pub(crate) fn cut_bands(level: &Level<'_>, bands: &[Band<'_>]) -> Vec<(Vec<u32>, Vec<f64>)> {
    let cells = level.matrix.cells();
    let passes: Vec<Cut<'_>> = bands
        .iter()
        .map(|&(folded, limits)| Cut::new(level, folded, limits.by_cell(cells), true))
        .collect();
    run(&passes, level.rows())
        .into_iter()
        .zip(&passes)
        .map(|(found, pass)| {
            let (inside, sums): (Vec<Vec<u32>>, Vec<Vec<f64>>) = found.into_iter().unzip();
            (inside.concat(), add_above(pass, sums))
        })
        .collect()
}

/// Sum of `w x` over the rows above a fit, here and elsewhere.
pub(crate) fn sum_above(level: &Level<'_>, folded: &[f64]) -> Vec<f64> {
    let limits = vec![(0.0, 0.0); level.matrix.cells()];
    let pass = Cut::new(level, folded, limits, false);
    let found = if pass.size > 0 {
        run(std::slice::from_ref(&pass), level.rows()).remove(0)
    } else {
        Vec::new()
    };
    add_above(&pass, found.into_iter().map(|(_, sums)| sums).collect())
}

/// What a pass found in the chunks, and what is above elsewhere.
fn add_above(cut: &Cut<'_>, sums: Vec<Vec<f64>>) -> Vec<f64> {
    let level = cut.level;
    let here = if cut.size > 0 {
        level.matrix.unfold(&add_in_pairs(sums, cut.size))
    } else {
        let residuals = level.residuals_of(cut.folded);
        level.matrix.sum_rows(|row, cell| {
            let above = residuals[row] > cut.limits[cell].1;
            if above { level.weight(row) } else { 0.0 }
        })
    };
    level.above.iter().zip(&here).map(|(a, b)| a + b).collect()
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
pub(crate) fn sum_losses(level: &Level<'_>, fits: &[(&[f64], f64)]) -> Vec<f64> {
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
pub(crate) fn for_each_run(
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
