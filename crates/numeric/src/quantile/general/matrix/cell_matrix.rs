//! A model matrix of few distinct rows times covariates, kept in that form.

use std::borrow::Cow;
use std::ops::Range;

use rayon::prelude::*;

use super::cell_order::CellOrder;
use crate::quantile::general::arrays::{ROWS_AT_A_TIME, Runs, all_finite, dot};

/// Rows whose fit is held at a time.
pub(crate) const BLOCK: usize = 1 << 10;
/// Sums by cell are kept for each chunk of rows up to this many numbers; beyond, one thread adds them up.
pub(crate) const SMALL_TABLE: usize = 1 << 12;

/// A model matrix `x[i, j] = by_cell[cell_of_row[i], j] * (1 or products[of_product[j], i] - centre)`.
///
/// A column has a *slot*: 0 when it has no covariate, else 1 + the row of `products` that multiplies it.
/// A product by a vector then needs K x p operations for the cells and one multiplication a row and slot.
#[derive(Clone, Debug)]
pub struct CellMatrix<'a> {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) cells: usize,
    pub(crate) by_cell: Cow<'a, [f64]>,
    /// Empty when `starts` say it.
    pub(crate) cell_of_row: Cow<'a, [u32]>,
    pub(crate) products: Vec<Cow<'a, [f64]>>,
    pub(crate) slot_of_column: Vec<usize>,
    pub(crate) centres: Vec<f64>,
    /// Where the rows of each cell begin, and the end, if they stand together in the order of the cells.
    pub(crate) starts: Option<Vec<usize>>,
}

impl<'a> CellMatrix<'a> {
    /// Checks the parts against each other: `by_cell` is K x p and `products` m x n, both row by row.
    ///
    /// # Errors
    /// A sentence that says which part does not fit.
    pub fn new(
        by_cell: &'a [f64],
        columns: usize,
        cell_of_row: &'a [u32],
        products: &'a [f64],
        of_product: &[i64],
    ) -> Result<Self, String> {
        let rows = cell_of_row.len();
        if columns == 0 || rows == 0 {
            return Err("the model matrix is empty".into());
        }
        if !by_cell.len().is_multiple_of(columns) || !products.len().is_multiple_of(rows) {
            return Err(
                "by_cell needs p numbers for each cell, products n for each product".into(),
            );
        }
        let cells = by_cell.len() / columns;
        if let Some(&largest) = cell_of_row.iter().max()
            && largest as usize >= cells
        {
            return Err(format!("cell number {largest} is not below {cells}"));
        }
        let count = products.len() / rows;
        if of_product.len() != columns {
            return Err(format!(
                "of_product has {} entries for {columns} columns",
                of_product.len()
            ));
        }
        if let Some(bad) = of_product.iter().find(|&&product| product >= count as i64) {
            return Err(format!("of_product names product {bad} of {count}"));
        }
        if !all_finite(by_cell) || !all_finite(products) {
            return Err("the model matrix has an entry that is not a finite number".into());
        }
        Ok(Self {
            rows,
            columns,
            cells,
            by_cell: Cow::Borrowed(by_cell),
            cell_of_row: Cow::Borrowed(cell_of_row),
            products: products.chunks(rows).map(Cow::Borrowed).collect(),
            slot_of_column: of_product
                .iter()
                .map(|&product| (product.max(-1) + 1) as usize)
                .collect(),
            centres: vec![0.0; count],
            starts: None,
        })
    }

    /// The same matrix, borrowed.
    pub(crate) fn view(&self) -> CellMatrix<'_> {
        CellMatrix {
            by_cell: Cow::Borrowed(&self.by_cell),
            cell_of_row: Cow::Borrowed(&self.cell_of_row),
            products: self
                .products
                .iter()
                .map(|product| Cow::Borrowed(&**product))
                .collect(),
            slot_of_column: self.slot_of_column.clone(),
            centres: self.centres.clone(),
            starts: self.starts.clone(),
            ..*self
        }
    }

    /// The same rows in the order of their cells, and where they were; as they are when that does not pay.
    pub(crate) fn sort_by_cell(mut self) -> (Self, Option<CellOrder<'a>>) {
        if !CellOrder::pays(self.rows, self.cells) {
            return (self, None);
        }
        let order = CellOrder::new(std::mem::take(&mut self.cell_of_row), self.cells);
        for product in &mut self.products {
            *product = Cow::Owned(order.sort(product));
        }
        self.starts = Some(order.starts().to_vec());
        (self, Some(order))
    }

    /// The order of the cells, of a matrix whose rows are not in it.
    pub(crate) fn order_by_cell(&self) -> CellOrder<'_> {
        CellOrder::new(Cow::Borrowed(&self.cell_of_row), self.cells)
    }

    /// Where the rows of each cell begin, and the end, if they stand together in the order of the cells.
    pub(crate) fn starts(&self) -> Option<&[usize]> {
        self.starts.as_deref()
    }

    /// Number of rows n.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns p.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Number of distinct cells K.
    pub fn cells(&self) -> usize {
        self.cells
    }

    /// Number of slots: 1 + the number of products.
    pub fn slots(&self) -> usize {
        self.products.len() + 1
    }

    /// Slot of every column.
    pub fn slot_of_column(&self) -> &[usize] {
        &self.slot_of_column
    }

    /// Cell of a row. For many rows in turn `for_each_row` is faster.
    pub(crate) fn cell_of(&self, row: usize) -> usize {
        match self.starts() {
            Some(starts) => starts.partition_point(|&start| start <= row) - 1,
            None => self.cell_of_row[row] as usize,
        }
    }

    /// Visits rows, each with its cell, in order.
    #[inline(always)]
    pub(crate) fn for_each_row(&self, rows: Range<usize>, mut visit: impl FnMut(usize, usize)) {
        match self.starts() {
            Some(starts) => {
                for (cell, run) in Runs::new(starts, &rows) {
                    run.for_each(|at| visit(rows.start + at, cell));
                }
            }
            None => {
                let cells = &self.cell_of_row[rows.clone()];
                for (row, &cell) in rows.zip(cells) {
                    visit(row, cell as usize);
                }
            }
        }
    }

    /// The columns' values in one cell.
    pub fn cell(&self, cell: usize) -> &[f64] {
        &self.by_cell[cell * self.columns..(cell + 1) * self.columns]
    }

    /// Product `slot - 1` in row `row`, less its centre.
    pub(crate) fn covariate(&self, slot: usize, row: usize) -> f64 {
        self.products[slot - 1][row] - self.centres[slot - 1]
    }

    /// Writes row `row` into `out` (p numbers).
    pub fn copy_row(&self, row: usize, out: &mut [f64]) {
        let cell = self.cell(self.cell_of(row));
        for ((out, &value), &slot) in out.iter_mut().zip(cell).zip(&self.slot_of_column) {
            *out = if slot == 0 {
                value
            } else {
                value * self.covariate(slot, row)
            };
        }
    }

    /// Adds `weight` times row `row` to `out` (p numbers).
    pub fn add_row(&self, row: usize, weight: f64, out: &mut [f64]) {
        let cell = self.cell(self.cell_of(row));
        for ((out, &value), &slot) in out.iter_mut().zip(cell).zip(&self.slot_of_column) {
            *out += weight
                * if slot == 0 {
                    value
                } else {
                    value * self.covariate(slot, row)
                };
        }
    }

    /// What a vector of p numbers is worth in each cell and slot: K x slots.
    pub fn fold(&self, vector: &[f64]) -> Vec<f64> {
        let slots = self.slots();
        let mut folded = vec![0.0; self.cells * slots];
        if slots == 1 {
            for (out, row) in folded.iter_mut().zip(self.by_cell.chunks(self.columns)) {
                *out = dot(row, vector);
            }
        } else {
            for (out, row) in folded
                .chunks_mut(slots)
                .zip(self.by_cell.chunks(self.columns))
            {
                for ((&value, &weight), &slot) in row.iter().zip(vector).zip(&self.slot_of_column) {
                    out[slot] += value * weight;
                }
            }
        }
        folded
    }

    /// Rows times the vector that was folded, for a range of rows.
    #[inline(always)]
    pub fn evaluate(&self, folded: &[f64], range: Range<usize>, out: &mut [f64]) {
        let slots = self.slots();
        if let Some(starts) = self.starts() {
            for (cell, run) in Runs::new(starts, &range) {
                let first = range.start + run.start;
                self.evaluate_run(&folded[cell * slots..][..slots], first, &mut out[run]);
            }
            return;
        }
        let cells = &self.cell_of_row[range.clone()];
        if slots == 1 {
            for (out, &cell) in out.iter_mut().zip(cells) {
                *out = folded[cell as usize];
            }
            return;
        }
        let values = &self.products[0][range.clone()];
        let centre = self.centres[0];
        for ((out, &cell), &value) in out.iter_mut().zip(cells).zip(values) {
            let pair = &folded[cell as usize * slots..][..2];
            *out = pair[0] + pair[1] * (value - centre);
        }
        for slot in 2..slots {
            let values = &self.products[slot - 1][range.clone()];
            let centre = self.centres[slot - 1];
            for ((out, &cell), &value) in out.iter_mut().zip(cells).zip(values) {
                *out += folded[cell as usize * slots + slot] * (value - centre);
            }
        }
    }

    /// Rows of one cell times the vector that was folded, from row `first` on.
    #[inline(always)]
    fn evaluate_run(&self, folded: &[f64], first: usize, out: &mut [f64]) {
        let [constant, first_own, others @ ..] = folded else {
            out.fill(folded[0]);
            return;
        };
        let centre = self.centres[0];
        for (out, &value) in out.iter_mut().zip(&self.products[0][first..]) {
            *out = constant + first_own * (value - centre);
        }
        for ((own, centre), values) in others
            .iter()
            .zip(&self.centres[1..])
            .zip(&self.products[1..])
        {
            for (out, &value) in out.iter_mut().zip(&values[first..]) {
                *out += own * (value - centre);
            }
        }
    }

    /// All rows times a vector.
    pub fn times(&self, vector: &[f64]) -> Vec<f64> {
        let folded = self.fold(vector);
        let mut out = vec![0.0; self.rows];
        out.par_chunks_mut(ROWS_AT_A_TIME)
            .enumerate()
            .for_each(|(chunk, out)| {
                let start = chunk * ROWS_AT_A_TIME;
                self.evaluate(&folded, start..start + out.len(), out);
            });
        out
    }

    /// The rows named, as a matrix of its own; cells that they do not use are left out when many.
    ///
    /// Of a matrix whose rows stand in the order of their cells, rows are to be named in ascending order.
    pub fn select(&self, rows: &[u32]) -> CellMatrix<'a> {
        let products = self
            .products
            .iter()
            .map(|product| rows.iter().map(|&row| product[row as usize]).collect())
            .map(Cow::Owned)
            .collect();
        let mut starts = None;
        let (by_cell, cell_of_row) = if self.cells * 2 > rows.len() {
            self.select_cells(rows)
        } else {
            let mut cells = Vec::new();
            if let Some(own) = self.starts() {
                debug_assert!(rows.is_sorted());
                let begin = |&start: &usize| rows.partition_point(|&row| (row as usize) < start);
                starts = Some(own.iter().map(begin).collect());
            } else {
                cells.extend(rows.iter().map(|&row| self.cell_of_row[row as usize]));
            }
            (self.by_cell.clone(), cells)
        };
        CellMatrix {
            rows: rows.len(),
            columns: self.columns,
            cells: by_cell.len() / self.columns,
            by_cell,
            cell_of_row: Cow::Owned(cell_of_row),
            products,
            slot_of_column: self.slot_of_column.clone(),
            centres: self.centres.clone(),
            starts,
        }
    }

    /// The cells that the rows use, in the order of their first row, and the new cell of each row.
    fn select_cells(&self, rows: &[u32]) -> (Cow<'a, [f64]>, Vec<u32>) {
        let mut new = vec![u32::MAX; self.cells];
        let mut table = Vec::new();
        let mut count = 0;
        let cell_of_row = rows
            .iter()
            .map(|&row| {
                let cell = self.cell_of(row as usize);
                if new[cell] == u32::MAX {
                    new[cell] = count;
                    count += 1;
                    table.extend_from_slice(self.cell(cell));
                }
                new[cell]
            })
            .collect();
        (Cow::Owned(table), cell_of_row)
    }

    /// Largest magnitude of every column over the rows.
    pub fn column_sizes(&self) -> Vec<f64> {
        let largest: Vec<f64> = (0..self.slots())
            .map(|slot| match slot {
                0 => 1.0,
                _ => {
                    let centre = self.centres[slot - 1];
                    self.products[slot - 1]
                        .iter()
                        .fold(0.0, |size: f64, v| size.max((v - centre).abs()))
                }
            })
            .collect();
        let mut sizes = vec![0.0f64; self.columns];
        for cell in self.by_cell.chunks(self.columns) {
            for (size, value) in sizes.iter_mut().zip(cell) {
                *size = size.max(value.abs());
            }
        }
        sizes
            .iter()
            .zip(&self.slot_of_column)
            .map(|(size, &slot)| size * largest[slot])
            .collect()
    }
}
