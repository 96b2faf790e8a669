//! Sums of weighted squares and products of the columns.

use rayon::prelude::*;

use super::cell_matrix::{CellMatrix, SMALL_TABLE};
use crate::quantile::general::arrays::{ROWS_AT_A_TIME, add_in_pairs};

/// Cells whose outer products one thread adds at a time.
const CELLS_AT_A_TIME: usize = 256;

/// `X'WX` (p x p, row by row) for one weight a row, of any sign.
///
/// Two columns without covariates need only the sum of weights by cell, others the sums of weights times their
/// covariates. Sums are taken by chunks and joined in pairs: the same for any number of threads.
///
/// # Panics
/// When there is not one weight for each row.
pub fn weighted_cross_products(matrix: &CellMatrix<'_>, weights: &[f64]) -> Vec<f64> {
    assert_eq!(weights.len(), matrix.rows(), "one weight for each row");
    let (p, slots) = (matrix.columns(), matrix.slots());
    let slot_of_column = matrix.slot_of_column();
    let mut wanted = vec![false; slots * slots];
    for (j, &one) in slot_of_column.iter().enumerate() {
        for &other in &slot_of_column[j..] {
            wanted[one.min(other) * slots + one.max(other)] = true;
        }
    }
    let pairs: Vec<(usize, usize)> = (0..slots * slots)
        .filter(|&at| wanted[at])
        .map(|at| (at / slots, at % slots))
        .collect();
    let mut number = vec![0; slots * slots];
    for (at, &(one, other)) in pairs.iter().enumerate() {
        number[one * slots + other] = at;
        number[other * slots + one] = at;
    }
    let sums = sum_pairs(matrix, weights, &pairs);
    let parts: Vec<Vec<f64>> = (0..matrix.cells().div_ceil(CELLS_AT_A_TIME))
        .into_par_iter()
        .map(|chunk| {
            let mut part = vec![0.0; p * p];
            let start = chunk * CELLS_AT_A_TIME;
            for cell in start..(start + CELLS_AT_A_TIME).min(matrix.cells()) {
                let own = &sums[cell * pairs.len()..(cell + 1) * pairs.len()];
                let row = matrix.cell(cell);
                for (j, &one) in row.iter().enumerate() {
                    if one == 0.0 {
                        continue;
                    }
                    let of = &number[slot_of_column[j] * slots..][..slots];
                    for k in j..p {
                        part[j * p + k] += one * row[k] * own[of[slot_of_column[k]]];
                    }
                }
            }
            part
        })
        .collect();
    let mut product = add_in_pairs(parts, p * p);
    for j in 0..p {
        for k in 0..j {
            product[j * p + k] = product[k * p + j];
        }
    }
    product
}

/// Sums by cell of the weight times the covariates of each pair of slots: K x pairs.
fn sum_pairs(matrix: &CellMatrix<'_>, weights: &[f64], pairs: &[(usize, usize)]) -> Vec<f64> {
    let size = matrix.cells() * pairs.len();
    let slots = matrix.slots();
    let add = |rows: std::ops::Range<usize>, sums: &mut [f64]| {
        let mut held = vec![1.0; slots];
        matrix.for_each_row(rows, |row, cell| {
            let weight = weights[row];
            if weight == 0.0 {
                return;
            }
            for (slot, held) in held.iter_mut().enumerate().skip(1) {
                *held = matrix.covariate(slot, row);
            }
            let own = &mut sums[cell * pairs.len()..(cell + 1) * pairs.len()];
            for (own, &(one, other)) in own.iter_mut().zip(pairs) {
                *own += weight * held[one] * held[other];
            }
        });
    };
    if size > SMALL_TABLE * 16 {
        let mut sums = vec![0.0; size];
        add(0..matrix.rows(), &mut sums);
        return sums;
    }
    let parts: Vec<Vec<f64>> = (0..matrix.rows().div_ceil(ROWS_AT_A_TIME))
        .into_par_iter()
        .map(|chunk| {
            let start = chunk * ROWS_AT_A_TIME;
            let mut sums = vec![0.0; size];
            add(
                start..(start + ROWS_AT_A_TIME).min(matrix.rows()),
                &mut sums,
            );
            sums
        })
        .collect();
    add_in_pairs(parts, size)
}
