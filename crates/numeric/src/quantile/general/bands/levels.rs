//! Nested subsets of the rows, from a few thousand to all.

use std::borrow::Cow;

use rayon::prelude::*;

use crate::draws::scramble;
use crate::quantile::general::arrays::{ROWS_AT_A_TIME, wide};
use crate::quantile::general::matrix::CellMatrix;

/// Each subset has about one in eight rows of the next.
const BITS_A_LEVEL: u32 = 3;
/// Rows of every cell that are in all subsets.
const KEPT_OF_CELL: u32 = 4;

/// A subset of the rows, and what the others add up to.
pub(crate) struct Level<'a> {
    pub matrix: CellMatrix<'a>,
    pub values: Cow<'a, [f64]>,
    /// Taken off the values.
    pub origin: f64,
    pub weights: Option<Cow<'a, [f64]>>,
    /// Sum of `w x` over the rows, here and elsewhere.
    pub total: Vec<f64>,
    /// Sum of `w x` over rows elsewhere that are above the fit.
    pub above: Vec<f64>,
    /// Whether there are rows elsewhere, so that the loss may seem to have no minimum.
    pub partial: bool,
    /// The rows in the next larger subset; empty for all rows.
    pub in_next: Vec<u32>,
}

impl<'a> Level<'a> {
    pub fn new(
        matrix: CellMatrix<'a>,
        values: Cow<'a, [f64]>,
        weights: Option<Cow<'a, [f64]>>,
    ) -> Self {
        let total = match &weights {
            Some(weights) => matrix.sum_rows(|row, _| weights[row]),
            None => matrix.sum_rows(|_, _| 1.0),
        };
        let above = vec![0.0; matrix.columns()];
        Self {
            matrix,
            values,
            origin: 0.0,
            weights,
            total,
            above,
            partial: false,
            in_next: Vec::new(),
        }
    }

    /// Some of the rows, with the sum of `w x` over the others that are above the fit.
    pub fn take_band(&self, rows: &[u32], above: Vec<f64>) -> Level<'a> {
        Level {
            matrix: self.matrix.select(rows),
            values: rows.iter().map(|&row| self.value(row as usize)).collect(),
            origin: 0.0,
            weights: self
                .weights
                .as_ref()
                .map(|weights| rows.iter().map(|&row| weights[row as usize]).collect()),
            total: self.total.clone(),
            above,
            partial: self.partial || rows.len() < self.rows(),
            in_next: Vec::new(),
        }
    }

    /// An observation less the origin.
    pub fn value(&self, row: usize) -> f64 {
        self.values[row] - self.origin
    }

    pub fn rows(&self) -> usize {
        self.matrix.rows()
    }

    pub fn weight(&self, row: usize) -> f64 {
        self.weights.as_ref().map_or(1.0, |weights| weights[row])
    }

    /// Values less the origin and less the fit, for every row.
    pub fn residuals(&self, coefficients: &[f64]) -> Vec<f64> {
        self.residuals_of(&self.matrix.fold(coefficients))
    }

    pub(crate) fn residuals_of(&self, folded: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.rows()];
        out.par_chunks_mut(ROWS_AT_A_TIME)
            .enumerate()
            .for_each(|(chunk, out)| self.fill_residuals(folded, chunk * ROWS_AT_A_TIME, out));
        out
    }

    /// Residuals of the rows from `start` on.
    pub(crate) fn fill_residuals(&self, folded: &[f64], start: usize, out: &mut [f64]) {
        fill_residuals(self, folded, start, out);
    }
}

wide! {
    fn fill_residuals(level: &Level<'_>, folded: &[f64], start: usize, out: &mut [f64]) {
        level.matrix.evaluate(folded, start..start + out.len(), out);
        for (out, value) in out.iter_mut().zip(&level.values[start..]) {
            *out = (value - level.origin) - *out;
        }
    }
}

/// Rows that are in every subset: some by chance, and the first of every cell, so that no cell is lost.
pub(crate) fn choose_lasting(matrix: &CellMatrix<'_>) -> Vec<u32> {
    let rows = matrix.rows();
    let wanted = (8 * matrix.columns() + 256).min(rows);
    let mut chosen: Vec<u32> = if wanted == rows {
        (0..rows as u32).collect()
    } else {
        (0..wanted as u64)
            .map(|number| (scramble(number) % rows as u64) as u32)
            .collect()
    };
    if matrix.cells() * 32 <= rows {
        if let Some(starts) = matrix.starts() {
            for own in starts.windows(2) {
                chosen.extend(
                    (own[0]..own[1])
                        .take(KEPT_OF_CELL as usize)
                        .map(|row| row as u32),
                );
            }
            chosen.sort_unstable();
            chosen.dedup();
            return chosen;
        }
        let mut seen = vec![0u32; matrix.cells()];
        let mut full = 0;
        for row in 0..rows {
            let seen = &mut seen[matrix.cell_of(row)];
            if *seen < KEPT_OF_CELL {
                *seen += 1;
                full += usize::from(*seen == KEPT_OF_CELL);
                chosen.push(row as u32);
                if full == matrix.cells() {
                    break;
                }
            }
        }
    }
    chosen.sort_unstable();
    chosen.dedup();
    chosen
}

/// All rows and ever smaller subsets of them, down to about `coarse` rows, each with all rows of `lasting`.
pub(crate) fn build_levels<'a>(
    all: Level<'a>,
    coarse: usize,
    mut lasting: Vec<u32>,
) -> Vec<Level<'a>> {
    lasting.sort_unstable();
    let mut levels = vec![all];
    let mut number: Vec<u32> = Vec::new();
    for depth in 1.. {
        let last = &levels[levels.len() - 1];
        let rows = last.rows();
        if rows <= 2 * coarse {
            break;
        }
        let mut next = lasting.iter().copied().peekable();
        // With room to spare, so that chance does not double it; what is not used takes no memory.
        let mut chosen: Vec<u32> = Vec::with_capacity(rows / 7 + lasting.len());
        for row in 0..rows as u32 {
            let original = if depth == 1 {
                row
            } else {
                number[row as usize]
            };
            let lasts = next.next_if_eq(&original).is_some();
            if lasts || scramble(u64::from(original)).trailing_zeros() >= depth * BITS_A_LEVEL {
                chosen.push(row);
            }
        }
        if chosen.len() < coarse / 2 || chosen.len() * 2 > rows {
            break;
        }
        let values = chosen
            .iter()
            .map(|&row| last.values[row as usize])
            .collect();
        let weights = last
            .weights
            .as_ref()
            .map(|weights| Cow::Owned(chosen.iter().map(|&row| weights[row as usize]).collect()));
        number = if depth == 1 {
            chosen.clone()
        } else {
            chosen.iter().map(|&row| number[row as usize]).collect()
        };
        let mut level = Level::new(last.matrix.select(&chosen), Cow::Owned(values), weights);
        level.in_next = chosen;
        levels.push(level);
    }
    levels
}
