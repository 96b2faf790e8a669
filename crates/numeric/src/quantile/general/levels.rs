//! Nested subsets of the rows, from a few thousand to all, and how wide the band of rows near a fit is.

use std::borrow::Cow;
use std::ops::Range;

use rayon::prelude::*;

use super::arrays::ROWS_AT_A_TIME;
use super::matrix::CellMatrix;
use crate::draws::scramble;

/// Each subset has about one in eight rows of the next.
const BITS_A_LEVEL: u32 = 3;
/// Rows of every cell that are in all subsets.
const KEPT_OF_CELL: u32 = 4;
/// Cells are told apart in the width of the band when they have at least this many rows on average.
const ROWS_FOR_OWN_BAND: usize = 64;

/// A subset of the rows, and what the others add up to.
pub(super) struct Level<'a> {
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
        let total = matrix.sum_rows(|row, _| weights.as_ref().map_or(1.0, |weights| weights[row]));
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

    pub(super) fn residuals_of(&self, folded: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.rows()];
        out.par_chunks_mut(ROWS_AT_A_TIME)
            .enumerate()
            .for_each(|(chunk, out)| {
                let start = chunk * ROWS_AT_A_TIME;
                self.fill_residuals(folded, start, out);
            });
        out
    }

    /// Residuals of the rows from `start` on.
    fn fill_residuals(&self, folded: &[f64], start: usize, out: &mut [f64]) {
        self.matrix.evaluate(folded, start..start + out.len(), out);
        for (out, value) in out.iter_mut().zip(&self.values[start..]) {
            *out = (value - self.origin) - *out;
        }
    }
}

/// Rows that are in every subset: some by chance, and the first of every cell, so that no cell is lost.
pub(super) fn choose_lasting(matrix: &CellMatrix<'_>) -> Vec<u32> {
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
pub(super) fn build_levels<'a>(
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

/// Lower and upper end of the band, for each cell or for all together.
#[derive(Clone)]
pub(super) struct Limits {
    by_group: Vec<(f64, f64)>,
}

impl Limits {
    /// The same distance on both sides, in units that may differ by cell.
    pub fn around(units: &[f64], distance: f64) -> Self {
        Self {
            by_group: units
                .iter()
                .map(|unit| (-unit * distance, unit * distance))
                .collect(),
        }
    }

    /// Limits no nearer than `least`.
    pub fn at_least(mut self, least: f64) -> Self {
        for (low, high) in &mut self.by_group {
            (*low, *high) = (low.min(-least), high.max(least));
        }
        self
    }

    pub fn of(&self, cell: usize) -> (f64, f64) {
        self.by_group[if self.by_group.len() == 1 { 0 } else { cell }]
    }

    pub(super) fn by_cell(&self, cells: usize) -> Vec<(f64, f64)> {
        if self.by_group.len() == 1 {
            vec![self.by_group[0]; cells]
        } else {
            self.by_group.clone()
        }
    }

    /// Half the distance between the limits, or the whole of it on the side that has an end; never 0.
    pub fn half_widths(&self) -> Vec<f64> {
        let own = |&(low, high): &(f64, f64)| match (low.is_finite(), high.is_finite()) {
            (true, true) => (high - low) / 2.0,
            (true, false) => -low,
            (false, true) => high,
            (false, false) => 0.0,
        };
        let widths: Vec<f64> = self.by_group.iter().map(own).collect();
        let some = widths.iter().copied().fold(0.0, f64::max);
        let some = if some > 0.0 { some } else { 1.0 };
        widths
            .into_iter()
            .map(|width| if width > 0.0 { width } else { some })
            .collect()
    }
}

/// Residuals of a subset at a fit to it, by group: they say how wide the band has to be.
pub(super) struct Spread<'l> {
    level: &'l Level<'l>,
    folded: Vec<f64>,
    /// Group after group; empty where groups stand together in the level, as they are quickly found again.
    held: Vec<f64>,
    /// Where each group begins, and the end.
    starts: Vec<usize>,
}

impl<'l> Spread<'l> {
    /// Cells are groups when they are large, else all rows are one.
    pub fn new(level: &'l Level<'l>, coefficients: &[f64]) -> Self {
        let (rows, cells) = (level.rows(), level.matrix.cells());
        let folded = level.matrix.fold(coefficients);
        let (held, starts) = if cells == 1 || cells * ROWS_FOR_OWN_BAND > rows {
            (Vec::new(), vec![0, rows])
        } else if let Some(starts) = level.matrix.starts() {
            (Vec::new(), starts.to_vec())
        } else {
            let order = level.matrix.order_by_cell();
            let residuals = level.residuals_of(&folded);
            (order.sort(&residuals), order.starts().to_vec())
        };
        Self {
            level,
            folded,
            held,
            starts,
        }
    }

    /// Residuals of the group that stands in the range.
    fn copy_group(&self, range: Range<usize>) -> Vec<f64> {
        if self.held.is_empty() {
            let mut out = vec![0.0; range.len()];
            self.level
                .fill_residuals(&self.folded, range.start, &mut out);
            return out;
        }
        self.held[range].to_vec()
    }

    /// Limits of the band that is `width` standard errors of the fitted quantile wide.
    pub fn limits(&self, tau: f64, width: f64) -> Limits {
        let (rows, columns) = (self.level.rows() as f64, self.level.matrix.columns() as f64);
        let even = rows / (self.starts.len() - 1) as f64;
        let by_group = (self.starts.windows(2))
            .map(|own| {
                let mut group = self.copy_group(own[0]..own[1]);
                let size = group.len() as f64;
                let below = group.iter().filter(|&&residual| residual < 0.0).count() as f64;
                let above = group.iter().filter(|&&residual| residual <= 0.0).count() as f64;
                let leverage = (columns / rows * (even / size).max(1.0)).min(1.0);
                let reach = (width * (tau * (1.0 - tau) * leverage).sqrt() * size).ceil() + 2.0;
                let mut at = |place: f64| {
                    *group
                        .select_nth_unstable_by(place as usize, f64::total_cmp)
                        .1
                };
                let (low, high) = (below - reach, above + reach);
                (
                    if low < 0.0 {
                        f64::NEG_INFINITY
                    } else {
                        at(low)
                    },
                    if high >= size {
                        f64::INFINITY
                    } else {
                        at(high)
                    },
                )
            })
            .collect();
        Limits { by_group }
    }
}
