//! Which rows are on the wrong side of a fit: a pass that looks only where a row can have changed its side.

use std::ops::Range;

use rayon::prelude::*;

use super::levels::Level;
use super::passes::{Band, Pass, blocks, for_each_run, run};
use crate::quantile::general::arrays::{Runs, list_flagged, wide};
use crate::quantile::general::matrix::{BLOCK, CellMatrix};

struct Check<'p> {
    level: &'p Level<'p>,
    old: &'p [f64],
    new: &'p [f64],
    limits: Vec<(f64, f64)>,
    magnitude: f64,
    extents: &'p Extents,
}

impl Check<'_> {
    /// Whether the fits of a cell are so near each other that no row of a block can have changed its side.
    ///
    /// Where the residual is beyond a limit, it stays on that side if the fit moves by less than the limit. What
    /// rounding does to the residuals and to the moves is some units of what was added up for them.
    #[inline(always)]
    fn is_settled(&self, cell: usize, extent: &[(f64, f64)], (low, high): (f64, f64)) -> bool {
        let slots = extent.len() + 1;
        let (old, new) = (
            &self.old[cell * slots..][..slots],
            &self.new[cell * slots..][..slots],
        );
        let shift = new[0] - old[0];
        let (mut down, mut up, mut size) = (shift, shift, self.magnitude + shift.abs());
        for ((old, new), &(least, most)) in old.iter().zip(new).skip(1).zip(extent) {
            let (one, other) = ((new - old) * least, (new - old) * most);
            down += one.min(other);
            up += one.max(other);
            size += one.abs().max(other.abs());
        }
        let within = |limit: f64, moved: f64| {
            limit == f64::INFINITY || limit - moved > 64.0 * f64::EPSILON * (size + limit)
        };
        within(high, up) && within(-low, -down)
    }

    /// Flags the rows of a run that are outside the limits of the old fit and not on the same side of the new one.
    #[inline(always)]
    fn flag_wrong(
        &self,
        rows: (&[f64], &[f64], &[f64]),
        (low, high): (f64, f64),
        flags: &mut [u8],
    ) {
        let (values, before, after) = rows;
        let rows = values.iter().zip(before).zip(after);
        for (((value, before), after), flag) in rows.zip(flags) {
            let value = value - self.level.origin;
            let (before, after) = (value - before, value - after);
            let zero = 32.0 * f64::EPSILON * (value.abs() + self.magnitude);
            let fell = (before > high) & (after <= zero);
            let rose = (before < low) & (after >= -zero);
            *flag = u8::from(fell | rose);
        }
    }
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
            if let (Some(starts), Some(extent)) = (matrix.starts(), self.extents.of(block.start))
                && Runs::new(starts, &block)
                    .all(|(cell, _)| self.is_settled(cell, extent, self.limits[cell]))
            {
                continue;
            }
            let count = block.len();
            let (before, after) = (&mut before[..count], &mut after[..count]);
            let flags = &mut flags[..count];
            matrix.evaluate(self.old, block.clone(), before);
            matrix.evaluate(self.new, block.clone(), after);
            let values = &level.values[block.clone()];
            for_each_run(matrix, &self.limits, block.clone(), |run, low, high| {
                let rows = (
                    &values[run.clone()],
                    &before[run.clone()],
                    &after[run.clone()],
                );
                self.flag_wrong(rows, (low, high), &mut flags[run]);
            });
            list_flagged(flags, block.start, &mut wrong);
        }
        wrong
    }
}

/// Between which values the covariates lie in each block of rows; nothing where rows are not in the order of cells.
struct Extents {
    /// Pairs for each block and covariate.
    by_block: Vec<(f64, f64)>,
    covariates: usize,
}

impl Extents {
    fn new(matrix: &CellMatrix<'_>) -> Self {
        let covariates = matrix.slots() - 1;
        let count = if matrix.starts().is_some() {
            matrix.rows().div_ceil(BLOCK)
        } else {
            0
        };
        let mut by_block = vec![(0.0, 0.0); count * covariates];
        if covariates > 0 {
            by_block
                .par_chunks_mut(covariates)
                .enumerate()
                .for_each(|(block, own)| {
                    let rows = block * BLOCK..((block + 1) * BLOCK).min(matrix.rows());
                    for (at, own) in own.iter_mut().enumerate() {
                        let (values, centre) =
                            (&matrix.products[at][rows.clone()], matrix.centres[at]);
                        let (least, most) = find_extent(values);
                        *own = (least - centre, most - centre);
                    }
                });
        }
        Self {
            by_block,
            covariates,
        }
    }

    /// For the covariates, in the block that begins at a row.
    fn of(&self, start: usize) -> Option<&[(f64, f64)]> {
        let first = start / BLOCK * self.covariates;
        self.by_block.get(first..first + self.covariates)
    }
}

wide! {
    /// The smallest and the largest number.
    fn find_extent(values: &[f64]) -> (f64, f64) {
        let (mut least, mut most) = ([f64::INFINITY; 8], [f64::NEG_INFINITY; 8]);
        let (eights, rest) = values.as_chunks::<8>();
        for eight in eights {
            for lane in 0..8 {
                least[lane] = if eight[lane] < least[lane] {
                    eight[lane]
                } else {
                    least[lane]
                };
                most[lane] = if eight[lane] > most[lane] {
                    eight[lane]
                } else {
                    most[lane]
                };
            }
        }
        (
            rest.iter()
                .chain(&least)
                .copied()
                .fold(f64::INFINITY, f64::min),
            rest.iter()
                .chain(&most)
                .copied()
                .fold(f64::NEG_INFINITY, f64::max),
        )
    }
}

/// A fit within a band, to be checked: folded coefficients, and the largest magnitude of what was added up.
pub(crate) struct NewFit<'b> {
    pub band: Band<'b>,
    pub folded: Vec<f64>,
    pub magnitude: f64,
}

/// For each fit the rows outside the limits of its band that are not on the same side of it, in order.
pub(crate) fn find_wrong(level: &Level<'_>, fits: &[NewFit<'_>]) -> Vec<Vec<u32>> {
    if fits.is_empty() {
        return Vec::new();
    }
    let extents = Extents::new(&level.matrix);
    let passes: Vec<Check<'_>> = fits
        .iter()
        .map(|fit| Check {
            level,
            old: fit.band.0,
            new: &fit.folded,
            limits: fit.band.1.by_cell(level.matrix.cells()),
            magnitude: fit.magnitude,
            extents: &extents,
        })
        .collect();
    run(&passes, level.rows())
        .into_iter()
        .map(|found| found.concat())
        .collect()
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::super::band_limits::Limits;
    use super::*;
    use crate::draws::scramble;

    const ROWS: usize = 40_000;
    const CELLS: usize = 3;

    fn draw(seed: u64) -> f64 {
        (scramble(seed) >> 11) as f64 / (1u64 << 53) as f64 - 0.5
    }

    /// For fits that move a little, much and differently by cell: rows that changed their side, one by one.
    #[test]
    fn blocks_left_out_have_no_row_on_the_wrong_side() {
        let by_cell = [1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0];
        let cells: Vec<u32> = (0..ROWS as u64)
            .map(|row| (scramble(row) % 3) as u32)
            .collect();
        let covariate: Vec<f64> = (0..ROWS as u64).map(|row| draw(row + 70_000)).collect();
        let values: Vec<f64> = (0..ROWS as u64).map(|row| draw(row + 200_000)).collect();
        let matrix = CellMatrix::new(&by_cell, 4, &cells, &covariate, &[-1, -1, -1, 0])
            .expect("the parts fit");
        let (matrix, order) = matrix.sort_by_cell();
        let order = order.expect("cells are large");
        let level = Level::new(matrix, Cow::Owned(order.sort(&values)), None);
        let old = level.matrix.fold(&[0.0, 0.0, 0.0, 0.0]);
        let limits = Limits::around(&[0.01; CELLS], 1.0);
        let mut found = Vec::new();
        for move_by in [
            [0.001, 0.0, 0.0, 0.001],
            [0.02, 0.0, 0.0, 0.0],
            [0.0, 0.004, 0.0, 0.03],
            [0.0, 0.0, 0.0, 0.03],
            [-0.0099, 0.0099, 0.5, 0.0],
        ] {
            let fit = NewFit {
                band: (&old, &limits),
                folded: level.matrix.fold(&move_by),
                magnitude: 1.0,
            };
            let new = fit.folded.clone();
            let wrong = find_wrong(&level, &[fit]).remove(0);
            let (before, after) = (level.residuals_of(&old), level.residuals_of(&new));
            let expected: Vec<u32> = (0..ROWS)
                .filter(|&row| {
                    let (before, after) = (before[row], after[row]);
                    (before > 0.01 && after <= 0.0) || (before < -0.01 && after >= 0.0)
                })
                .map(|row| row as u32)
                .collect();
            assert_eq!(wrong, expected);
            found.push(wrong.len());
        }
        assert!(
            found[0] == 0 && found[1..4].iter().all(|&count| count > 0),
            "{found:?}"
        );
    }

    #[test]
    fn a_block_is_left_out_only_when_the_fit_moves_less_than_the_limit() {
        let matrix = CellMatrix::new(&[1.0, 1.0], 2, &[0], &[0.0], &[-1, 0]).expect("it fits");
        let level = Level::new(matrix, Cow::Owned(vec![0.0]), None);
        let extents = Extents::new(&level.matrix);
        let settled = |new: [f64; 2]| {
            let check = Check {
                level: &level,
                old: &[0.0, 0.0],
                new: &new,
                limits: vec![(-1.0, 2.0)],
                magnitude: 3.0,
                extents: &extents,
            };
            check.is_settled(0, &[(-0.5, 4.0)], (-1.0, 2.0))
        };
        assert!(settled([0.0, 0.0]) && settled([1.9, 0.0]) && settled([-0.9, 0.0]));
        assert!(settled([0.0, 0.49]) && !settled([0.0, 0.51]));
        assert!(settled([0.0, -0.24]) && !settled([0.0, -0.26]));
        assert!(!settled([2.0, 0.0]) && !settled([-1.0, 0.0]) && !settled([f64::NAN, 0.0]));
    }
}
