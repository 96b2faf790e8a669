//! Sums over the rows of a matrix, by cell and slot.

use std::ops::Range;

use rayon::prelude::*;

use super::cell_matrix::{BLOCK, CellMatrix, SMALL_TABLE};
use crate::quantile::general::arrays::{ROWS_AT_A_TIME, Runs, add_in_pairs, add_up, wide};

impl CellMatrix<'_> {
    /// Adds `weight` times what a row of a cell holds in each slot to the sums of the cell.
    fn add_to_cell(&self, (row, cell): (usize, usize), weight: f64, sums: &mut [f64]) {
        let slots = self.slots();
        let own = &mut sums[cell * slots..][..slots];
        own[0] += weight;
        for (slot, own) in own.iter_mut().enumerate().skip(1) {
            *own += weight * self.covariate(slot, row);
        }
    }

    /// Whether sums by cell and slot are few enough to be kept for every chunk of rows.
    pub(crate) fn has_small_table(&self) -> bool {
        self.cells * self.slots() <= SMALL_TABLE
    }

    /// Adds the rows from `start` on, each times its weight, to the sums of their cells (K x slots).
    #[inline(always)]
    pub(crate) fn add_to_cells(&self, start: usize, weights: &[f64], sums: &mut [f64]) {
        let slots = self.slots();
        if let Some(starts) = self.starts() {
            let range = start..start + weights.len();
            for (cell, run) in Runs::new(starts, &range) {
                let (first, weights) = (start + run.start, &weights[run]);
                sums[cell * slots] += add_up(weights, |weight, _| weight, weights);
                for slot in 1..slots {
                    let centre = self.centres[slot - 1];
                    sums[cell * slots + slot] += add_up(
                        weights,
                        |weight, value| weight * (value - centre),
                        &self.products[slot - 1][first..first + weights.len()],
                    );
                }
            }
            return;
        }
        let cells = &self.cell_of_row[start..start + weights.len()];
        if slots == 2 {
            let (values, centre) = (&self.products[0][start..], self.centres[0]);
            for ((&cell, &weight), &value) in cells.iter().zip(weights).zip(values) {
                let own = &mut sums[cell as usize * 2..][..2];
                own[0] += weight;
                own[1] += weight * (value - centre);
            }
            return;
        }
        for (at, (&weight, &cell)) in weights.iter().zip(cells).enumerate() {
            self.add_to_cell((start + at, cell as usize), weight, sums);
        }
    }

    /// Folds sums by cell and slot (K x slots) into one number for each column.
    pub(crate) fn unfold(&self, sums: &[f64]) -> Vec<f64> {
        let slots = self.slots();
        let mut out = vec![0.0; self.columns];
        for (sums, cell) in sums.chunks(slots).zip(self.by_cell.chunks(self.columns)) {
            if sums.iter().all(|&sum| sum == 0.0) {
                continue;
            }
            for ((out, &value), &slot) in out.iter_mut().zip(cell).zip(&self.slot_of_column) {
                *out += value * sums[slot];
            }
        }
        out
    }

    /// Sum of the rows, each times the weight that `weigh` gives it and its cell; weight zero costs nothing.
    pub(crate) fn sum_rows(&self, weigh: impl Fn(usize, usize) -> f64 + Sync) -> Vec<f64> {
        let size = self.cells * self.slots();
        let add_rows = |rows: Range<usize>, sums: &mut [f64]| {
            self.for_each_row(rows, |row, cell| {
                let weight = weigh(row, cell);
                if weight != 0.0 {
                    self.add_to_cell((row, cell), weight, sums);
                }
            });
        };
        if size > SMALL_TABLE {
            let mut sums = vec![0.0; size];
            add_rows(0..self.rows, &mut sums);
            return self.unfold(&sums);
        }
        let parts: Vec<Vec<f64>> = (0..self.rows.div_ceil(ROWS_AT_A_TIME))
            .into_par_iter()
            .map(|chunk| {
                let start = chunk * ROWS_AT_A_TIME;
                let end = (start + ROWS_AT_A_TIME).min(self.rows);
                let mut sums = vec![0.0; size];
                if self.starts.is_some() {
                    let mut weights = [0.0; BLOCK];
                    for start in (start..end).step_by(BLOCK) {
                        let weights = &mut weights[..BLOCK.min(end - start)];
                        self.for_each_row(start..start + weights.len(), |row, cell| {
                            weights[row - start] = weigh(row, cell);
                        });
                        add_rows_to_cells(self, start, weights, &mut sums);
                    }
                    return sums;
                }
                add_rows(start..end, &mut sums);
                sums
            })
            .collect();
        self.unfold(&add_in_pairs(parts, size))
    }
}

wide! {
    fn add_rows_to_cells(matrix: &CellMatrix<'_>, start: usize, weights: &[f64], sums: &mut [f64]) {
        matrix.add_to_cells(start, weights, sums);
    }
}
