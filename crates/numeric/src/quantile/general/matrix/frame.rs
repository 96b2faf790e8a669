//! Coordinates in which a few rows of the model matrix have orthonormal columns.

use super::cell_matrix::CellMatrix;
use crate::quantile::general::arrays::dot;

/// Below this share of its length what remains of a column is rounding.
const RANK_TOLERANCE: f64 = 1e-11;

/// A column that is a combination of others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DependentColumn {
    /// The column; the others come before it.
    pub column: usize,
    /// Columns that it is a combination of; none when it is zero throughout.
    pub of: Vec<usize>,
}

/// The map to orthonormal coordinates: a row x becomes `T' x`, a vector d of coefficients comes from `T d'`.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    pub columns: usize,
    /// T, upper triangular, row by row.
    pub map: Vec<f64>,
    /// Largest magnitude of every column over all rows.
    pub sizes: Vec<f64>,
}

impl Frame {
    /// Builds the frame from `rows` of the matrix, adding rows until these show all that the matrix can.
    ///
    /// The rows added are appended to `rows`: with them, the rows determine all coefficients.
    pub fn build(
        matrix: &CellMatrix<'_>,
        rows: &mut Vec<u32>,
    ) -> Result<Self, Vec<DependentColumn>> {
        let p = matrix.columns();
        let sizes = matrix.column_sizes();
        let mut scale = Vec::with_capacity(p);
        for &size in &sizes {
            // A power of two, so that scaling rounds nothing.
            scale.push(if size > 0.0 {
                2f64.powi(-(size.log2().round() as i32).clamp(-1000, 1000))
            } else {
                1.0
            });
        }
        let mut dependent = vec![None; p];
        loop {
            match orthonormalize(matrix, rows, &scale, &dependent) {
                Ok(map) => {
                    let found: Vec<DependentColumn> = dependent.into_iter().flatten().collect();
                    return if found.is_empty() {
                        Ok(Self {
                            columns: p,
                            map,
                            sizes,
                        })
                    } else {
                        Err(found)
                    };
                }
                Err((column, null)) => {
                    let image = matrix.times(&null);
                    let (row, largest) = image
                        .iter()
                        .enumerate()
                        .map(|(row, value)| (row, value.abs()))
                        .fold(
                            (0, -1.0),
                            |best, next| if next.1 > best.1 { next } else { best },
                        );
                    let size: f64 = null
                        .iter()
                        .zip(&sizes)
                        .map(|(v, size)| v.abs() * size)
                        .sum();
                    if largest > 10.0 * RANK_TOLERANCE * size && !rows.contains(&(row as u32)) {
                        rows.push(row as u32);
                    } else {
                        let of = (0..column)
                            .filter(|&j| null[j].abs() * sizes[j] > 1e-9 * sizes[column])
                            .collect();
                        dependent[column] = Some(DependentColumn { column, of });
                    }
                }
            }
        }
    }

    /// A row of the matrix in the frame: `T' x`.
    pub fn row_to_frame(&self, row: &[f64], out: &mut [f64]) {
        out.fill(0.0);
        let p = self.columns;
        for (i, &value) in row.iter().enumerate() {
            if value != 0.0 {
                for (out, &factor) in out[i..].iter_mut().zip(&self.map[i * p + i..(i + 1) * p]) {
                    *out += value * factor;
                }
            }
        }
    }

    /// Bound on what the coefficients make of any row, up to cancellation.
    pub fn magnitude(&self, coefficients: &[f64]) -> f64 {
        coefficients
            .iter()
            .zip(&self.sizes)
            .map(|(value, size)| value.abs() * size)
            .sum()
    }

    /// Cross products of the columns (p x p) in the frame: `T' M T`.
    pub fn products(&self, cross_products: &[f64]) -> Vec<f64> {
        let p = self.columns;
        let mut half = vec![0.0; p * p];
        for (row, out) in cross_products.chunks(p).zip(half.chunks_mut(p)) {
            self.row_to_frame(row, out);
        }
        let mut out = vec![0.0; p * p];
        let mut column = vec![0.0; p];
        let mut image = vec![0.0; p];
        for j in 0..p {
            for (value, row) in column.iter_mut().zip(half.chunks(p)) {
                *value = row[j];
            }
            self.row_to_frame(&column, &mut image);
            for (row, value) in out.chunks_mut(p).zip(&image) {
                row[j] = *value;
            }
        }
        out
    }

    /// Coefficients for the matrix from those in the frame: `T d`.
    pub fn leave_frame(&self, vector: &[f64]) -> Vec<f64> {
        let p = self.columns;
        (0..p)
            .map(|i| dot(&self.map[i * p + i..(i + 1) * p], &vector[i..]))
            .collect()
    }
}

/// Gram-Schmidt, twice, on the rows named; a column without a rest of its own comes back with its null vector.
fn orthonormalize(
    matrix: &CellMatrix<'_>,
    rows: &[u32],
    scale: &[f64],
    skipped: &[Option<DependentColumn>],
) -> Result<Vec<f64>, (usize, Vec<f64>)> {
    let p = matrix.columns();
    let mut columns = vec![vec![0.0; rows.len()]; p];
    let mut row = vec![0.0; p];
    for (at, &index) in rows.iter().enumerate() {
        matrix.copy_row(index as usize, &mut row);
        for (column, (&value, &scale)) in columns.iter_mut().zip(row.iter().zip(scale)) {
            column[at] = value * scale;
        }
    }
    // Rows of `inverse` are those of T' while it grows: q_j = sum over i <= j of inverse[j][i] x_i.
    let mut inverse: Vec<Vec<f64>> = Vec::with_capacity(p);
    for j in 0..p {
        let mut combination = vec![0.0; p];
        combination[j] = 1.0;
        if skipped[j].is_some() {
            columns[j].fill(0.0);
            inverse.push(vec![0.0; p]);
            continue;
        }
        let (done, rest) = columns.split_at_mut(j);
        let own = &mut rest[0];
        let length = dot(own, own).sqrt();
        for _ in 0..2 {
            for (i, basis) in done.iter().enumerate() {
                let part = dot(basis, own);
                for (own, basis) in own.iter_mut().zip(basis) {
                    *own -= part * basis;
                }
                for (own, basis) in combination.iter_mut().zip(&inverse[i]).take(i + 1) {
                    *own -= part * basis;
                }
            }
        }
        let left = dot(own, own).sqrt();
        if left.is_nan() || left <= RANK_TOLERANCE * length || length == 0.0 {
            let null = combination.iter().zip(scale).map(|(v, s)| v * s).collect();
            return Err((j, null));
        }
        own.iter_mut().for_each(|value| *value /= left);
        combination.iter_mut().for_each(|value| *value /= left);
        inverse.push(combination);
    }
    let mut map = vec![0.0; p * p];
    for (j, combination) in inverse.iter().enumerate() {
        for i in 0..=j {
            map[i * p + j] = combination[i] * scale[i];
        }
    }
    Ok(map)
}

/// Solves `matrix x = right` (p x p, row by row) by elimination with row and column scaling and refinement.
///
/// The residual of each refinement is summed with error-free products, so that the solution is good to
/// about the last digit whenever the matrix is not singular to working precision.
pub(crate) fn solve_exactly(matrix: &[f64], right: &[f64]) -> Option<Vec<f64>> {
    let p = right.len();
    let power = |size: f64| {
        if size > 0.0 {
            2f64.powi(-(size.log2().round() as i32))
        } else {
            1.0
        }
    };
    let column_scale: Vec<f64> = (0..p)
        .map(|j| power((0..p).fold(0.0, |size: f64, i| size.max(matrix[i * p + j].abs()))))
        .collect();
    let mut factors: Vec<f64> = matrix
        .chunks(p)
        .flat_map(|row| row.iter().zip(&column_scale).map(|(v, s)| v * s))
        .collect();
    let row_scale: Vec<f64> = factors
        .chunks_mut(p)
        .map(|row| {
            let scale = power(row.iter().fold(0.0, |size: f64, v| size.max(v.abs())));
            row.iter_mut().for_each(|v| *v *= scale);
            scale
        })
        .collect();
    let order = eliminate(&mut factors, p)?;
    let mut solution = vec![0.0; p];
    for _ in 0..4 {
        let residual: Vec<f64> = (0..p)
            .map(|i| row_scale[i] * residual_of(&matrix[i * p..(i + 1) * p], &solution, right[i]))
            .collect();
        let step = substitute(&factors, &order, &residual);
        for ((value, step), scale) in solution.iter_mut().zip(&step).zip(&column_scale) {
            *value += step * scale;
        }
    }
    solution
        .iter()
        .all(|value| value.is_finite())
        .then_some(solution)
}

/// `right - row * solution` with compensated products and sums (Ogita, Rump and Oishi 2005, Dot2).
pub(crate) fn residual_of(row: &[f64], solution: &[f64], right: f64) -> f64 {
    let (mut sum, mut rest) = (right, 0.0);
    for (&a, &b) in row.iter().zip(solution) {
        let product = -a * b;
        let product_rest = (-a).mul_add(b, -product);
        let next = sum + product;
        let part = next - sum;
        rest += ((sum - (next - part)) + (product - part)) + product_rest;
        sum = next;
    }
    sum + rest
}

/// LU factors in place with partial pivoting; the order of the rows.
fn eliminate(factors: &mut [f64], p: usize) -> Option<Vec<usize>> {
    let mut order: Vec<usize> = (0..p).collect();
    for k in 0..p {
        let pivot = (k..p).max_by(|&a, &b| {
            factors[order[a] * p + k]
                .abs()
                .total_cmp(&factors[order[b] * p + k].abs())
        })?;
        order.swap(k, pivot);
        let head = factors[order[k] * p + k];
        if head == 0.0 || !head.is_finite() {
            return None;
        }
        for at in k + 1..p {
            let factor = factors[order[at] * p + k] / head;
            factors[order[at] * p + k] = factor;
            if factor != 0.0 {
                for j in k + 1..p {
                    factors[order[at] * p + j] -= factor * factors[order[k] * p + j];
                }
            }
        }
    }
    Some(order)
}

fn substitute(factors: &[f64], order: &[usize], right: &[f64]) -> Vec<f64> {
    let p = order.len();
    let mut out: Vec<f64> = order.iter().map(|&row| right[row]).collect();
    for i in 1..p {
        out[i] -= dot(&factors[order[i] * p..order[i] * p + i], &out[..i]);
    }
    for i in (0..p).rev() {
        let row = &factors[order[i] * p..(order[i] + 1) * p];
        out[i] = (out[i] - dot(&row[i + 1..], &out[i + 1..])) / row[i];
    }
    out
}

/// Columns of the inverse of `matrix` (p x p, row by row), one after the other; None when it is singular.
pub(crate) fn invert_columns(matrix: &[f64], p: usize) -> Option<Vec<f64>> {
    let mut factors = matrix.to_vec();
    let order = eliminate(&mut factors, p)?;
    let mut columns = Vec::with_capacity(p * p);
    let mut unit = vec![0.0; p];
    for k in 0..p {
        unit[k] = 1.0;
        columns.extend(substitute(&factors, &order, &unit));
        unit[k] = 0.0;
    }
    Some(columns)
}
