//! Taking offsets off the columns, so that they cost no digits.

use super::cell_matrix::CellMatrix;

/// A column counts as offset when its values are this many times as large as their range.
const OFFSET: f64 = 16.0;

/// Multiples of other columns that were taken off the columns: for each column which, and how much.
#[derive(Clone, Debug)]
pub(crate) struct Shifts {
    by_column: Vec<Option<(usize, f64)>>,
}

impl Shifts {
    /// Turns coefficients of the shifted matrix into those of the matrix as given.
    pub fn undo(&self, coefficients: &mut [f64]) {
        let shifted = coefficients.to_vec();
        for (own, shift) in shifted.iter().zip(&self.by_column) {
            if let Some((other, factor)) = *shift {
                coefficients[other] -= factor * own;
            }
        }
    }
}

impl CellMatrix<'_> {
    /// Centres covariates, and columns with an offset, by multiples of other columns.
    ///
    /// A covariate is centred when each of its columns has a twin without covariate that equals `by_cell[:, j]`,
    /// as it has in a hierarchical model; a column without covariate when there is a constant one. What is taken
    /// off is one of the values, so that whole numbers stay whole.
    pub(crate) fn centre(&mut self) -> Shifts {
        let mut by_column = vec![None; self.columns];
        for slot in 1..self.slots() {
            let own: Vec<usize> = (0..self.columns)
                .filter(|&column| self.slot_of_column[column] == slot)
                .collect();
            let twins: Option<Vec<usize>> =
                own.iter().map(|&column| self.find_twin(column)).collect();
            let Some(twins) = twins else { continue };
            let centre = choose_middle(&self.products[slot - 1]);
            self.centres[slot - 1] = centre;
            for (&column, &twin) in own.iter().zip(&twins) {
                by_column[column] = Some((twin, centre));
            }
        }
        if let Some(constant) = self.find_constant_column() {
            let value = self.by_cell[constant];
            for column in (0..self.columns).filter(|&column| column != constant) {
                if let Some(middle) = self.find_offset(column) {
                    let width = self.columns;
                    for row in self.by_cell.to_mut().chunks_mut(width) {
                        row[column] -= middle;
                    }
                    by_column[column] = Some((constant, middle / value));
                }
            }
        }
        Shifts { by_column }
    }

    fn find_twin(&self, column: usize) -> Option<usize> {
        self.plain_columns().find(|&other| {
            self.by_cell
                .chunks(self.columns)
                .all(|cell| cell[other] == cell[column])
        })
    }

    fn find_constant_column(&self) -> Option<usize> {
        self.plain_columns().find(|&column| {
            let value = self.by_cell[column];
            value != 0.0
                && self
                    .by_cell
                    .chunks(self.columns)
                    .all(|cell| cell[column] == value)
        })
    }

    fn plain_columns(&self) -> impl Iterator<Item = usize> {
        (0..self.columns).filter(|&column| self.slot_of_column[column] == 0)
    }

    /// One of the values of a column without covariate, when these are large against their range.
    fn find_offset(&self, column: usize) -> Option<f64> {
        if self.slot_of_column[column] != 0 {
            return None;
        }
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for cell in self.by_cell.chunks(self.columns) {
            (low, high) = (low.min(cell[column]), high.max(cell[column]));
        }
        let large = high > low && low.abs().max(high.abs()) > OFFSET * (high - low);
        large.then_some(low)
    }
}

/// The median of some of the values.
fn choose_middle(values: &[f64]) -> f64 {
    let step = (values.len() / 1024).max(1);
    let mut some: Vec<f64> = values.iter().step_by(step).copied().collect();
    let middle = some.len() / 2;
    *some.select_nth_unstable_by(middle, f64::total_cmp).1
}
