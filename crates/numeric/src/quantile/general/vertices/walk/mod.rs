//! The walk from vertex to vertex: each interpolates p rows, each step makes the loss smaller.
//!
//! Barrodale and Roberts' (1973) long step: one basic row is let go, and along the edge all rows are passed
//! whose change of sign does not yet turn the slope upwards. The rows' rank scores `a` (0 below, w above the
//! fit) solve `X'a = (1 - tau) X'w`; what they must be for the p basic rows is the dual vector, and the vertex is
//! optimal when they lie in `[0, w]`.

mod exchange;

use crate::draws::scramble;
use crate::quantile::general::arrays::dot;
use crate::quantile::general::bands::Level;
use crate::quantile::general::matrix::{CellMatrix, Frame, invert_columns};

/// Exchanges after which residuals and inverse are computed afresh.
const REFRESH_AFTER: usize = 80;
const EPSILON: f64 = f64::EPSILON;
/// Residuals count as zero up to this share of what was added up for them.
const ROUNDING: f64 = 32.0 * EPSILON;

/// Rows whose signs may change, and what the others add up to.
pub(crate) struct Walk<'w, 'm> {
    pub frame: &'w Frame,
    level: &'w Level<'m>,
    pub matrix: &'w CellMatrix<'m>,
    /// Observations less the origin.
    values: &'w [f64],
    /// Sum of `w x` over the rows above the fit, here and elsewhere.
    above: Vec<f64>,
    /// Gradient of a linear term that is added to the loss; empty when there is none.
    pub tilt: Vec<f64>,
    /// The p rows that the fit goes through.
    pub basis: Vec<usize>,
    /// +1 above the fit, -1 below, 0 basic.
    pub signs: Vec<f64>,
    pub residuals: Vec<f64>,
    /// Columns of the inverse of the basic rows in the frame.
    pub inverse: Vec<f64>,
    basic_rows: Vec<f64>,
    pub coefficients: Vec<f64>,
    pub duals: Vec<f64>,
    pub slack: Vec<f64>,
    /// Where residuals are zero: residuals of an infinitesimal change of the values (Wolfe 1963), else 0.
    pub shadows: Vec<f64>,
    /// Whether there are such.
    tied: bool,
    /// Scratch: a flag for each row.
    flags: Vec<u8>,
    magnitude: f64,
    reach: f64,
    pub pivots: usize,
}

/// How a walk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The dual vector is feasible.
    Optimal,
    /// An edge leads down beyond the rows that are here.
    Widen,
    /// The basis is singular or the walk did not end.
    Failed,
}

impl<'w, 'm> Walk<'w, 'm> {
    pub fn new(
        frame: &'w Frame,
        level: &'w Level<'m>,
        values: &'w [f64],
        basis: Vec<usize>,
    ) -> Self {
        let matrix = &level.matrix;
        let (m, p) = (matrix.rows(), matrix.columns());
        Self {
            frame,
            level,
            matrix,
            values,
            above: Vec::new(),
            tilt: Vec::new(),
            basis,
            signs: vec![0.0; m],
            residuals: vec![0.0; m],
            inverse: Vec::new(),
            basic_rows: vec![0.0; p * p],
            coefficients: vec![0.0; p],
            duals: vec![0.0; p],
            slack: vec![0.0; p],
            shadows: vec![0.0; m],
            tied: false,
            flags: vec![0; m],
            magnitude: 0.0,
            reach: f64::INFINITY,
            pivots: 0,
        }
    }

    pub fn weight(&self, row: usize) -> f64 {
        self.level.weight(row)
    }

    fn zero_below(&self, row: usize) -> f64 {
        ROUNDING * (self.values[row].abs() + self.magnitude)
    }

    /// Walks to the optimum at `tau`.
    pub fn run(&mut self, tau: f64) -> Stop {
        let p = self.basis.len();
        let most = 200 * (p + 10) + self.matrix.rows();
        let start = self.pivots;
        if !self.refresh() {
            return Stop::Failed;
        }
        let mut since = 0;
        loop {
            self.price(tau);
            let Some((leaving, side)) = self.choose_leaving() else {
                if since == 0 {
                    return Stop::Optimal;
                }
                if !self.refresh() {
                    return Stop::Failed;
                }
                since = 0;
                continue;
            };
            match self.exchange(leaving, side) {
                Stop::Optimal => {}
                stop => {
                    if since == 0 || (self.level.partial && stop == Stop::Widen) {
                        return stop;
                    }
                    if !self.refresh() {
                        return Stop::Failed;
                    }
                    since = 0;
                    continue;
                }
            }
            since += 1;
            if self.pivots - start > most {
                return Stop::Failed;
            }
            if since >= REFRESH_AFTER {
                if !self.refresh() {
                    return Stop::Failed;
                }
                since = 0;
            }
        }
    }

    /// Computes the inverse, coefficients, residuals, signs and sums afresh from the basis.
    fn refresh(&mut self) -> bool {
        let p = self.basis.len();
        let mut row = vec![0.0; p];
        for (k, &index) in self.basis.iter().enumerate() {
            self.matrix.copy_row(index, &mut row);
            self.frame
                .row_to_frame(&row, &mut self.basic_rows[k * p..(k + 1) * p]);
        }
        let Some(inverse) = invert_columns(&self.basic_rows, p) else {
            return false;
        };
        self.inverse = inverse;
        let mut in_frame = vec![0.0; p];
        for (k, &index) in self.basis.iter().enumerate() {
            for (out, part) in in_frame.iter_mut().zip(&self.inverse[k * p..(k + 1) * p]) {
                *out += self.values[index] * part;
            }
        }
        self.coefficients = self.frame.leave_frame(&in_frame);
        self.magnitude = self.frame.magnitude(&self.coefficients);
        if !self.magnitude.is_finite() {
            return false;
        }
        let folded = self.matrix.fold(&self.coefficients);
        self.matrix
            .evaluate(&folded, 0..self.matrix.rows(), &mut self.residuals);
        for &index in &self.basis {
            self.signs[index] = f64::NAN;
        }
        self.tied = false;
        for row in 0..self.matrix.rows() {
            let residual = self.values[row] - self.residuals[row];
            self.residuals[row] = residual;
            self.shadows[row] = 0.0;
            if self.signs[row].is_nan() {
                self.signs[row] = 0.0;
                self.residuals[row] = 0.0;
            } else if residual.abs() > self.zero_below(row) {
                self.signs[row] = residual.signum();
            } else {
                if self.signs[row] == 0.0 {
                    self.signs[row] = if scramble(row as u64) & 1 == 0 {
                        1.0
                    } else {
                        -1.0
                    };
                }
                self.shadows[row] = self.signs[row] * shadow_of(row);
                self.tied = true;
            }
        }
        let here = self.matrix.sum_rows(|row, _| {
            if self.signs[row] > 0.0 {
                self.weight(row)
            } else {
                0.0
            }
        });
        self.above = self
            .level
            .above
            .iter()
            .zip(&here)
            .map(|(a, b)| a + b)
            .collect();
        true
    }

    /// Moves a row to the other side of the fit, or from the basis or into it: keeps the sum above.
    fn set_sign(&mut self, row: usize, sign: f64) {
        let change = f64::from(i8::from(sign > 0.0) - i8::from(self.signs[row] > 0.0));
        if change != 0.0 {
            self.matrix
                .add_row(row, change * self.level.weight(row), &mut self.above);
        }
        self.signs[row] = sign;
    }

    /// The dual vector, and how far rounding may have moved it.
    pub fn price(&mut self, tau: f64) {
        let p = self.basis.len();
        let mut gradient = vec![0.0; p];
        let mut sizes = vec![0.0; p];
        for i in 0..p {
            let tilt = self.tilt.get(i).copied().unwrap_or(0.0);
            let value = (1.0 - tau) * self.level.total[i] - self.above[i] + tilt;
            let size = (1.0 - tau) * self.level.total[i].abs() + self.above[i].abs() + tilt.abs();
            for j in i..p {
                gradient[j] += self.frame.map[i * p + j] * value;
                sizes[j] += self.frame.map[i * p + j].abs() * size;
            }
        }
        for k in 0..p {
            let column = &self.inverse[k * p..(k + 1) * p];
            self.duals[k] = dot(column, &gradient);
            let size: f64 = column.iter().zip(&sizes).map(|(a, b)| a.abs() * b).sum();
            self.slack[k] = 4.0 * EPSILON * size + 1e-14 * self.weight(self.basis[k]);
        }
    }

    /// How far the dual of basic row k is outside its bounds: the row, and the sign that it would get.
    fn choose_leaving(&self) -> Option<(usize, f64)> {
        let p = self.basis.len();
        let mut best = 0.0;
        let mut chosen = None;
        for k in 0..p {
            let weight = self.weight(self.basis[k]);
            let (violation, side) = if self.duals[k] < 0.0 {
                (-self.duals[k], -1.0)
            } else {
                (self.duals[k] - weight, 1.0)
            };
            if violation > self.slack[k] {
                let column = &self.inverse[k * p..(k + 1) * p];
                let merit = violation * violation / dot(column, column);
                if merit > best {
                    best = merit;
                    chosen = Some((k, side));
                }
            }
        }
        chosen
    }
}

/// A number in [1, 2) that depends on the row alone.
fn shadow_of(row: usize) -> f64 {
    1.0 + (scramble(row as u64) >> 11) as f64 / (1u64 << 53) as f64
}
