//! What must not change the answer, and what must change it exactly.

use datamill_numeric::quantile::cell_fit::{CellFit, FitError};
use datamill_numeric::quantile::sorted::SortedCells;

use crate::planted::{Noise, QUANTILES, code_factors, draw_cells};

fn draw(seed: u64, n: usize, levels: Option<usize>) -> (Vec<u32>, Vec<f64>) {
    let mut noise = Noise::new(seed);
    let rows = draw_cells(&mut noise, n, 16);
    let values = (rows.iter())
        .map(|&cell| match levels {
            Some(levels) => (noise.below(levels) + cell as usize % 3) as f64,
            None => (1.0 + f64::from(cell % 4)) * -noise.share().ln() + f64::from(cell),
        })
        .collect();
    (rows, values)
}

fn fit(rows: &[u32], values: &[f64]) -> CellFit {
    let (design, p) = code_factors(4, 2);
    SortedCells::new(rows, values, 16)
        .fit(&design, p, &QUANTILES)
        .expect("full rank")
}

#[test]
fn a_power_of_two_as_unit_changes_every_digit_exactly() {
    for levels in [None, Some(6)] {
        let (rows, values) = draw(1, 5000, levels);
        let plain = fit(&rows, &values);
        for unit in [
            2f64.powi(-30),
            2f64.powi(-200),
            2f64.powi(40),
            2f64.powi(300),
        ] {
            let scaled: Vec<f64> = values.iter().map(|value| value * unit).collect();
            let scaled = fit(&rows, &scaled);
            assert_eq!(scaled.basis, plain.basis);
            for (one, other) in scaled.coefficients.iter().zip(&plain.coefficients) {
                assert_eq!(*one, other * unit);
            }
        }
    }
}

#[test]
fn seconds_give_what_nanoseconds_give() {
    let (rows, values) = draw(2, 5000, None);
    let plain = fit(&rows, &values);
    let seconds: Vec<f64> = values.iter().map(|value| value * 1e-9).collect();
    let seconds = fit(&rows, &seconds);
    assert_eq!(seconds.basis, plain.basis);
    let largest = plain
        .coefficients
        .iter()
        .fold(0.0f64, |most, x| most.max(x.abs()));
    for (one, other) in seconds.coefficients.iter().zip(&plain.coefficients) {
        assert!((one * 1e9 - other).abs() <= 1e-14 * largest);
    }
}

#[test]
fn an_offset_moves_the_constant_alone_and_costs_no_digits() {
    let (rows, values) = draw(3, 4000, Some(4000));
    let plain = fit(&rows, &values);
    let p = plain.coefficients.len() / QUANTILES.len();
    for offset in [-7.0, 1e6, 1e12, -1e15] {
        let moved: Vec<f64> = values.iter().map(|value| value + offset).collect();
        let moved = fit(&rows, &moved);
        assert_eq!(moved.basis, plain.basis);
        for (index, (one, other)) in moved
            .coefficients
            .iter()
            .zip(&plain.coefficients)
            .enumerate()
        {
            if index % p == 0 {
                assert!((one - offset - other).abs() <= f64::EPSILON * offset.abs().max(1e5));
            } else {
                assert!(
                    (one - other).abs() <= 1e-12 * 4000.0,
                    "{offset}: {one} {other}"
                );
            }
        }
        for (one, other) in moved.objective.iter().zip(&plain.objective) {
            assert!((one / other - 1.0).abs() < 1e-12);
        }
    }
}

#[test]
fn the_order_of_rows_and_the_number_of_threads_leave_no_trace() {
    for levels in [None, Some(5)] {
        let (rows, values) = draw(4, 60_000, levels);
        let plain = fit(&rows, &values);
        let mut order: Vec<usize> = (0..rows.len()).collect();
        let mut noise = Noise::new(9);
        for at in (1..order.len()).rev() {
            order.swap(at, noise.below(at + 1));
        }
        let mixed_rows: Vec<u32> = order.iter().map(|&at| rows[at]).collect();
        let mixed_values: Vec<f64> = order.iter().map(|&at| values[at]).collect();
        assert_eq!(fit(&mixed_rows, &mixed_values), plain);
        for threads in [1, 3] {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .expect("a pool");
            assert_eq!(pool.install(|| fit(&rows, &values)), plain);
        }
    }
}

#[test]
fn another_coding_gives_the_same_fitted_values() {
    for levels in [None, Some(3)] {
        let (rows, values) = draw(5, 800, levels);
        let (design, p) = code_factors(4, 2);
        let plain = fit(&rows, &values);
        // 0 and 1 in place of -1 and 1, in other units, columns turned about.
        let terms: Vec<usize> = (0..16usize).filter(|term| term.count_ones() <= 2).collect();
        let other: Vec<f64> = (0..16usize)
            .flat_map(|cell| {
                terms.iter().rev().map(move |&term| {
                    f64::from(u8::from(cell & term == term)) * (1.0 + term as f64 * 1e4)
                })
            })
            .collect();
        assert_eq!(design.len(), other.len());
        let recoded = SortedCells::new(&rows, &values, 16)
            .fit(&other, p, &QUANTILES)
            .expect("full rank");
        let size = plain
            .fitted
            .iter()
            .fold(0.0f64, |most, x| most.max(x.abs()));
        for (one, other) in recoded.fitted.iter().zip(&plain.fitted) {
            assert!((one - other).abs() <= 1e-10 * size, "{one} {other}");
        }
    }
}

#[test]
fn a_weight_is_a_number_of_copies() {
    let mut noise = Noise::new(6);
    for levels in [None, Some(4)] {
        let (rows, values) = draw(6, 600, levels);
        let weights: Vec<f64> = rows.iter().map(|_| noise.below(4) as f64).collect();
        let (mut copied_rows, mut copied_values) = (Vec::new(), Vec::new());
        for ((&row, &value), &weight) in rows.iter().zip(&values).zip(&weights) {
            for _ in 0..weight as usize {
                copied_rows.push(row);
                copied_values.push(value);
            }
        }
        let copied = fit(&copied_rows, &copied_values);
        let (design, p) = code_factors(4, 2);
        let sorted = SortedCells::with_weights(&rows, &values, 16, &weights);
        let weighted = sorted.fit(&design, p, &QUANTILES).expect("full rank");
        assert_eq!(weighted.coefficients, copied.coefficients);
        assert_eq!(weighted.unique, copied.unique);
        assert_eq!(
            sorted.select(&QUANTILES),
            SortedCells::new(&copied_rows, &copied_values, 16).select(&QUANTILES)
        );
        for (one, other) in weighted.objective.iter().zip(&copied.objective) {
            assert!((one / other - 1.0).abs() < 1e-12);
        }
    }
}

#[test]
fn the_solution_is_the_limit_from_below() {
    let (rows, values) = draw(7, 1600, Some(50));
    let (design, p) = code_factors(4, 2);
    let sorted = SortedCells::new(&rows, &values, 16);
    for tau in [0.25, 0.5, 0.8] {
        // Nearer than the tolerance of ranks would be the same quantile.
        let fit = sorted
            .fit(&design, p, &[tau, tau - 1e-6])
            .expect("full rank");
        let (at, below) = fit.fitted.split_at(16);
        for (one, other) in at.iter().zip(below) {
            assert!((one - other).abs() <= 1e-10 * 50.0, "{tau}");
        }
    }
}

#[test]
fn dependent_columns_and_impossible_quantiles_are_refused() {
    let (rows, values) = draw(8, 100, None);
    let sorted = SortedCells::new(&rows, &values, 16);
    let twice: Vec<f64> = (0..16)
        .flat_map(|cell| [1.0, f64::from(cell), 2.0 * f64::from(cell)])
        .collect();
    assert_eq!(sorted.fit(&twice, 3, &[0.5]), Err(FitError::Dependent));
    let one = vec![1.0; 16];
    for tau in [0.0, 1.0, -0.5, f64::NAN] {
        assert!(matches!(
            sorted.fit(&one, 1, &[tau]),
            Err(FitError::Quantile(_))
        ));
    }
    // Independent over all cells, but not over those with data.
    let half: Vec<u32> = rows.iter().map(|row| row % 2).collect();
    let line: Vec<f64> = (0..16)
        .flat_map(|cell| [1.0, f64::from(cell), f64::from(cell * cell)])
        .collect();
    let sorted = SortedCells::new(&half, &values, 16);
    assert_eq!(sorted.fit(&line, 3, &[0.5]), Err(FitError::Dependent));
}
