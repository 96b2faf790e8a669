//! Cells sorted once, so that every quantile of a saturated model is a look-up.

use std::sync::OnceLock;

use rayon::prelude::*;

use crate::quantile::cell_walk::{CellFit, FitError, fit_lists};
use crate::quantile::sorting::{BlockSums, Lists, sort_cells, target_below};

/// The values of each cell in ascending order, with weights if there are any.
#[derive(Debug)]
pub struct SortedCells {
    values: Vec<f64>,
    spans: Vec<(usize, usize)>,
    cumulative: Option<(Vec<f64>, Vec<usize>)>,
    totals: Vec<f64>,
    below: Vec<f64>,
    sums: OnceLock<BlockSums>,
}

impl SortedCells {
    /// Sorts the values (n) of each cell; `cell_of_row` (n) holds numbers below `cells`.
    ///
    /// # Panics
    /// When the slices differ in length or a cell number is not below `cells`.
    pub fn new(cell_of_row: &[u32], values: &[f64], cells: usize) -> Self {
        let (values, starts) = sort_cells(cell_of_row, values, cells);
        let spans: Vec<(usize, usize)> = starts.windows(2).map(|pair| (pair[0], pair[1])).collect();
        let totals = spans.iter().map(|(from, to)| (to - from) as f64).collect();
        Self {
            values,
            spans,
            cumulative: None,
            totals,
            below: vec![0.0; cells],
            sums: OnceLock::new(),
        }
    }

    /// As [`SortedCells::new`], each value counted `weights[row]` times; rows of weight 0 are left out.
    ///
    /// # Panics
    /// As [`SortedCells::new`], and when a weight is negative or not finite.
    pub fn with_weights(
        cell_of_row: &[u32],
        values: &[f64],
        cells: usize,
        weights: &[f64],
    ) -> Self {
        assert!(
            cell_of_row.len() == values.len() && weights.len() == values.len(),
            "one cell and one weight for each value"
        );
        assert!(
            weights
                .iter()
                .all(|weight| (0.0..f64::INFINITY).contains(weight)),
            "weights are finite and not negative"
        );
        let mut rows: Vec<(u32, f64, f64)> = (cell_of_row.iter().zip(values).zip(weights))
            .filter(|&(_, &weight)| weight > 0.0)
            .map(|((&cell, &value), &weight)| (cell, value + 0.0, weight))
            .collect();
        // By weight as well, so that sums do not depend on the order of the rows.
        rows.par_sort_unstable_by(|one, other| {
            (one.0.cmp(&other.0))
                .then(one.1.total_cmp(&other.1))
                .then(one.2.total_cmp(&other.2))
        });
        let mut starts = vec![0usize; cells + 1];
        for &(cell, _, _) in &rows {
            starts[cell as usize + 1] += 1;
        }
        for cell in 0..cells {
            starts[cell + 1] += starts[cell];
        }
        let mut cumulative = Vec::with_capacity(rows.len() + cells);
        let mut begins = Vec::with_capacity(cells);
        let mut totals = Vec::with_capacity(cells);
        for cell in 0..cells {
            begins.push(cumulative.len());
            let mut total = 0.0;
            cumulative.push(0.0);
            for &(_, _, weight) in &rows[starts[cell]..starts[cell + 1]] {
                total += weight;
                cumulative.push(total);
            }
            totals.push(total);
        }
        Self {
            values: rows.into_iter().map(|(_, value, _)| value).collect(),
            spans: starts.windows(2).map(|pair| (pair[0], pair[1])).collect(),
            cumulative: Some((cumulative, begins)),
            totals,
            below: vec![0.0; cells],
            sums: OnceLock::new(),
        }
    }

    /// Number of cells, with data or without.
    pub fn cells(&self) -> usize {
        self.totals.len()
    }

    /// Number of values kept in each cell (K).
    pub fn counts(&self) -> Vec<usize> {
        self.spans.iter().map(|(from, to)| to - from).collect()
    }

    /// Weight of each cell (K): without weights the number of its observations.
    pub fn totals(&self) -> &[f64] {
        &self.totals
    }

    /// The values of one cell, ascending.
    pub fn cell(&self, cell: usize) -> &[f64] {
        self.lists().cell(cell)
    }

    /// For each quantile (T) and cell (K) the order statistic number `ceil(tau n_c)`; NaN for an empty cell.
    pub fn select(&self, quantiles: &[f64]) -> Vec<f64> {
        let lists = self.lists();
        let mut selected = Vec::with_capacity(quantiles.len() * self.cells());
        for &tau in quantiles {
            for cell in 0..self.cells() {
                let values = lists.cell(cell);
                selected.push(if values.is_empty() {
                    f64::NAN
                } else {
                    values[lists.place_of(cell, target_below(tau, self.totals[cell]))]
                });
            }
        }
        selected
    }

    /// Weight of the values below each threshold (T × K), of those not above it when `inclusive`.
    ///
    /// # Panics
    /// When `thresholds` is not whole rows of K.
    pub fn weigh_below(&self, thresholds: &[f64], inclusive: bool) -> Vec<f64> {
        let lists = self.lists();
        assert!(
            thresholds.len().is_multiple_of(self.cells().max(1)),
            "one threshold for each cell"
        );
        (thresholds.iter().enumerate())
            .map(|(index, &threshold)| {
                let cell = index % self.cells();
                let place = lists.cell(cell).partition_point(|&value| {
                    value < threshold || (inclusive && value == threshold)
                });
                lists.before(cell, place)
            })
            .collect()
    }

    /// Fits a model with one coefficient for each column of `design` (K × p, by rows) at each quantile.
    ///
    /// # Errors
    /// When the columns are not linearly independent over the cells that have data, or a quantile is
    /// not inside (0, 1).
    ///
    /// # Panics
    /// When `design` does not have one row for each cell.
    pub fn fit(
        &self,
        design: &[f64],
        parameters: usize,
        quantiles: &[f64],
    ) -> Result<CellFit, FitError> {
        let sums = self.sums.get_or_init(|| BlockSums::gather(&self.lists()));
        fit_lists(
            &self.lists(),
            design,
            parameters,
            quantiles,
            |cell, tau, origin, fitted| sums.check_loss(&self.lists(), cell, tau, origin, fitted),
        )
    }

    pub(crate) fn lists(&self) -> Lists<'_> {
        Lists {
            values: &self.values,
            spans: &self.spans,
            below: &self.below,
            cumulative: (self.cumulative.as_ref())
                .map(|(cumulative, begins)| (&cumulative[..], &begins[..])),
            totals: &self.totals,
        }
    }
}
