//! Against all vertices of small problems.

use datamill_numeric::quantile::sorted::SortedCells;

use crate::planted::{Noise, QUANTILES, check_loss, code_factors, draw_cells};

/// Solves a small square system by rows; None when it is singular.
fn solve(mut rows: Vec<Vec<f64>>) -> Option<Vec<f64>> {
    let p = rows.len();
    for column in 0..p {
        let pivot = (column..p).max_by(|&one, &other| {
            rows[one][column]
                .abs()
                .total_cmp(&rows[other][column].abs())
        })?;
        rows.swap(column, pivot);
        if rows[column][column].abs() < 1e-9 {
            return None;
        }
        for row in 0..p {
            if row != column {
                let factor = rows[row][column] / rows[column][column];
                let head = rows[column].clone();
                for (x, h) in rows[row].iter_mut().zip(&head) {
                    *x -= factor * h;
                }
            }
        }
    }
    Some((0..p).map(|row| rows[row][p] / rows[row][row]).collect())
}

/// Fitted values of every vertex.
fn list_vertices(cell_of_row: &[u32], values: &[f64], design: &[f64], p: usize) -> Vec<Vec<f64>> {
    let n = values.len();
    let mut found = Vec::new();
    let mut chosen: Vec<usize> = (0..p).collect();
    loop {
        let rows = (chosen.iter())
            .map(|&row| {
                let cell = cell_of_row[row] as usize;
                let mut line = design[cell * p..][..p].to_vec();
                line.push(values[row]);
                line
            })
            .collect();
        if let Some(beta) = solve(rows) {
            found.push(
                (design.chunks_exact(p))
                    .map(|row| row.iter().zip(&beta).map(|(x, b)| x * b).sum())
                    .collect(),
            );
        }
        let Some(at) = (0..p).rev().find(|&at| chosen[at] < n - p + at) else {
            return found;
        };
        chosen[at] += 1;
        for later in at + 1..p {
            chosen[later] = chosen[later - 1] + 1;
        }
    }
}

/// Of all vertices the one of the stated choice, and the smallest loss.
fn choose(
    tau: f64,
    cell_of_row: &[u32],
    values: &[f64],
    vertices: &[Vec<f64>],
) -> (Vec<f64>, f64, bool) {
    let losses: Vec<f64> = (vertices.iter())
        .map(|fitted| check_loss(tau, cell_of_row, values, fitted))
        .collect();
    let least = losses.iter().copied().fold(f64::INFINITY, f64::min);
    let size: f64 = values.iter().map(|value| value.abs()).sum();
    let near = 1e-11 * size;
    let total = |fitted: &[f64]| {
        cell_of_row
            .iter()
            .map(|&cell| fitted[cell as usize])
            .sum::<f64>()
    };
    let optimal: Vec<&Vec<f64>> = (vertices.iter().zip(&losses))
        .filter(|(_, loss)| **loss <= least + near)
        .map(|(fitted, _)| fitted)
        .collect();
    let lowest = optimal
        .iter()
        .map(|fitted| total(fitted))
        .fold(f64::INFINITY, f64::min);
    let mut lowest: Vec<&Vec<f64>> = (optimal.iter().copied())
        .filter(|fitted| total(fitted) <= lowest + near)
        .collect();
    let several = optimal.iter().any(|one| {
        one.iter()
            .zip(optimal[0])
            .any(|(x, y)| (x - y).abs() > near)
    });
    for cell in 0..lowest[0].len() {
        let least = lowest
            .iter()
            .map(|fitted| fitted[cell])
            .fold(f64::INFINITY, f64::min);
        lowest.retain(|fitted| fitted[cell] <= least + near);
    }
    (lowest[0].clone(), least, several)
}

fn compare(cell_of_row: &[u32], values: &[f64], design: &[f64], p: usize, quantiles: &[f64]) {
    let cells = design.len() / p;
    let vertices = list_vertices(cell_of_row, values, design, p);
    let fit = SortedCells::new(cell_of_row, values, cells)
        .fit(design, p, quantiles)
        .expect("the design has full rank");
    let size: f64 = values
        .iter()
        .map(|value| value.abs())
        .sum::<f64>()
        .max(1e-300);
    for (row, &tau) in quantiles.iter().enumerate() {
        let (fitted, loss, several) = choose(tau, cell_of_row, values, &vertices);
        let ours = &fit.fitted[row * cells..][..cells];
        assert!(fit.certified[row]);
        assert!(
            (fit.objective[row] - loss).abs() <= 1e-11 * size,
            "tau {tau}"
        );
        for (one, other) in ours.iter().zip(&fitted) {
            assert!(
                (one - other).abs() <= 1e-10 * size,
                "tau {tau} {cell_of_row:?} {values:?}: {ours:?} is not {fitted:?}"
            );
        }
        assert!(
            !(several && fit.unique[row]),
            "claims to be the only one of several"
        );
    }
}

#[test]
fn the_solution_is_the_stated_one_of_all_vertices() {
    let mut noise = Noise::new(1);
    for _ in 0..150 {
        let (design, p) = code_factors(2, 1);
        let n = 5 + noise.below(8);
        let rows = draw_cells(&mut noise, n, 4);
        let values: Vec<f64> = (0..n).map(|_| noise.share() * 10.0 - 4.0).collect();
        compare(&rows, &values, &design, p, &QUANTILES);
    }
}

#[test]
fn ties_and_few_distinct_values_do_not_change_that() {
    let mut noise = Noise::new(2);
    for levels in [1, 2, 3, 5] {
        for _ in 0..60 {
            let (design, p) = code_factors(2, 1);
            let n = 4 + noise.below(9);
            let rows = draw_cells(&mut noise, n, 4);
            let values: Vec<f64> = (0..n).map(|_| noise.below(levels) as f64).collect();
            compare(&rows, &values, &design, p, &QUANTILES);
        }
    }
}

#[test]
fn neither_do_designs_without_constant_or_balance() {
    let mut noise = Noise::new(3);
    for _ in 0..120 {
        let cells = 3 + noise.below(4);
        let design: Vec<f64> = (0..cells)
            .flat_map(|cell| [1.0 + (cell % 3) as f64, (cell * cell) as f64 - 2.5])
            .collect();
        let n = cells + noise.below(10);
        let rows = draw_cells(&mut noise, n, cells);
        let values: Vec<f64> = (0..n).map(|_| noise.below(7) as f64 - 3.0).collect();
        compare(&rows, &values, &design, 2, &QUANTILES);
    }
}

#[test]
fn a_saturated_model_gives_the_order_statistics() {
    let mut noise = Noise::new(4);
    let (design, p) = code_factors(3, 3);
    for levels in [4, 1000] {
        let rows = draw_cells(&mut noise, 240, 8);
        let values: Vec<f64> = (0..240).map(|_| noise.below(levels) as f64).collect();
        let sorted = SortedCells::new(&rows, &values, 8);
        let fit = sorted.fit(&design, p, &QUANTILES).expect("full rank");
        let selected = sorted.select(&QUANTILES);
        for (one, other) in fit.fitted.iter().zip(&selected) {
            assert!((one - other).abs() <= 1e-11 * levels as f64);
        }
    }
}

#[test]
fn a_massively_tied_walk_ends_and_is_certified() {
    let mut noise = Noise::new(5);
    for (factors, order, levels) in [(6, 2, 2), (7, 1, 3), (5, 3, 2), (8, 2, 4)] {
        let (design, p) = code_factors(factors, order);
        let cells = 1 << factors;
        let rows = draw_cells(&mut noise, cells * 6, cells);
        let values: Vec<f64> = (0..rows.len())
            .map(|_| noise.below(levels) as f64)
            .collect();
        let fit = SortedCells::new(&rows, &values, cells)
            .fit(&design, p, &QUANTILES)
            .expect("full rank");
        assert!(
            fit.certified.iter().all(|&certified| certified),
            "{:?}",
            fit.pivots
        );
        for (row, &tau) in QUANTILES.iter().enumerate() {
            let loss = check_loss(tau, &rows, &values, &fit.fitted[row * cells..][..cells]);
            assert!((loss - fit.objective[row]).abs() <= 1e-10 * loss);
        }
    }
}

#[test]
fn one_observation_in_a_cell_and_cells_without_any_are_no_obstacle() {
    let (design, p) = code_factors(3, 1);
    let rows = [0, 1, 2, 3, 4, 5, 6, 6, 6, 6];
    let values = [1.0, 2.0, 3.5, 4.0, 5.0, 6.0, 7.0, 7.5, 8.0, 9.0];
    compare(&rows, &values, &design, p, &QUANTILES);
}
