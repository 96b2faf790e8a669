//! Passes give what sorting gives, for any data, any batches and any memory.

use datamill_numeric::quantile::cell_fit::CellFit;
use datamill_numeric::quantile::in_memory::{fit_cells, select_cell_quantiles};
use datamill_numeric::quantile::sorted::SortedCells;
use datamill_numeric::quantile::stream::{CellStream, Found, Goal, StreamError};

use crate::planted::{Noise, QUANTILES, code_factors, draw_cells};

const CELLS: usize = 8;

/// Rows and values by shape, or None beyond the last.
fn draw(shape: usize, n: usize) -> Option<(Vec<u32>, Vec<f64>)> {
    let mut noise = Noise::new(shape as u64);
    let mut rows = draw_cells(&mut noise, n, CELLS);
    let latency: Vec<f64> = (rows.iter())
        .map(|&cell| (4.0 + f64::from(cell) / 9.0 + noise.share() - noise.share()).exp())
        .collect();
    let mut values: Vec<f64> = match shape {
        0 => latency,
        1 => latency.iter().map(|value| (value / 8.0).floor()).collect(),
        2 => latency.iter().map(|value| 1e9 + value * 1e-3).collect(),
        3 => (0..n).map(|_| (noise.share() - 0.5) * 4.0).collect(),
        4 => (0..n)
            .map(|_| ((noise.share() - 0.5) * 3.1).tan())
            .collect(),
        5 => (0..n)
            .map(|_| {
                if noise.below(3) == 0 {
                    noise.share()
                } else {
                    -0.0
                }
            })
            .collect(),
        6 => vec![2.5; n],
        7 => (0..n)
            .map(|_| (noise.share() * 600.0 - 300.0).exp())
            .collect(),
        8 => latency,
        9 => latency,
        _ => return None,
    };
    if shape == 8 {
        // Ascending, so that the first batch tells nothing about the last.
        values.sort_unstable_by(f64::total_cmp);
    }
    if shape == 9 {
        // Cell after cell, and one with nearly everything.
        for (row, cell) in rows.iter_mut().enumerate() {
            *cell = if row % 50 == 0 { *cell } else { 3 };
        }
        rows.sort_unstable();
    }
    Some((rows, values))
}

fn run(rows: &[u32], values: &[f64], goal: Goal, most: usize, batch: usize) -> Found {
    let mut stream = CellStream::new(CELLS, &QUANTILES, goal, most);
    while stream.plan().expect("it can be planned") {
        for (rows, values) in rows.chunks(batch).zip(values.chunks(batch)) {
            stream.read(rows, values).expect("a pass is under way");
        }
    }
    stream.finish().expect("the last pass is over")
}

#[test]
fn selection_finds_the_values_that_sorting_finds() {
    for shape in 0.. {
        let Some((rows, values)) = draw(shape, 70_000) else {
            break;
        };
        let wanted = SortedCells::new(&rows, &values, CELLS).select(&QUANTILES);
        let selected = select_cell_quantiles(&rows, &values, CELLS, &QUANTILES).expect("quantiles");
        assert_eq!(selected, wanted, "shape {shape}");
        for (most, batch) in [(1 << 20, 9_000), (1, 70_000)] {
            let found = run(&rows, &values, Goal::Select, most, batch);
            assert_eq!(
                found,
                Found::Selected(wanted.clone()),
                "shape {shape}, memory {most}"
            );
        }
    }
}

fn assert_same(one: &CellFit, other: &CellFit, shape: usize) {
    assert!(
        one.certified
            .iter()
            .chain(&other.certified)
            .all(|&certified| certified)
    );
    for (a, b) in one.objective.iter().zip(&other.objective) {
        assert!((a - b).abs() <= 1e-12 * a.max(*b), "shape {shape}: {a} {b}");
    }
    // Over hundreds of orders of magnitude, ties are decided by rounding.
    if shape != 7 {
        assert_eq!(one.coefficients, other.coefficients, "shape {shape}");
        assert_eq!(one.unique, other.unique, "shape {shape}");
    }
}

#[test]
fn a_fit_from_passes_has_the_bits_of_the_one_from_sorting() {
    let (design, parameters) = code_factors(3, 1);
    for shape in 0.. {
        let Some((rows, values)) = draw(shape, 70_000) else {
            break;
        };
        let wanted = SortedCells::new(&rows, &values, CELLS)
            .fit(&design, parameters, &QUANTILES)
            .expect("full rank");
        for (most, batch) in [(1 << 20, 9_000), (10_000, 70_000)] {
            let goal = Goal::Fit {
                design: design.clone(),
                parameters,
            };
            match run(&rows, &values, goal, most, batch) {
                Found::Fitted(fit) => assert_same(&fit, &wanted, shape),
                Found::Selected(_) => panic!("a model was asked for"),
            }
        }
    }
}

#[test]
fn many_rows_are_fitted_without_sorting_to_the_same_bits() {
    let (design, parameters) = code_factors(3, 1);
    for shape in [0, 1, 4] {
        let (rows, values) = draw(shape, 600_000).expect("a shape");
        let sorted = SortedCells::new(&rows, &values, CELLS);
        let wanted = sorted
            .fit(&design, parameters, &QUANTILES)
            .expect("full rank");
        let fit = fit_cells(&rows, &values, &design, parameters, &QUANTILES).expect("full rank");
        assert_same(&fit, &wanted, shape);
        for threads in [1, 3] {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .expect("a pool");
            let again = pool.install(|| fit_cells(&rows, &values, &design, parameters, &QUANTILES));
            assert_eq!(again.as_ref(), Ok(&fit), "{threads} threads");
        }
    }
}

#[test]
fn an_empty_cell_has_no_quantile() {
    let selected =
        select_cell_quantiles(&[0, 2, 2], &[1.0, 5.0, 4.0], 3, &[0.5]).expect("quantiles");
    assert_eq!((selected[0], selected[2]), (1.0, 4.0));
    assert!(selected[1].is_nan());
    let found = run(&[0, 2, 2], &[1.0, 5.0, 4.0], Goal::Select, 10, 2);
    let Found::Selected(streamed) = found else {
        panic!("quantiles were asked for")
    };
    assert!(streamed[1].is_nan() && streamed[2] == 4.0);
}

#[test]
fn rows_that_change_between_passes_are_noticed() {
    let (rows, values) = draw(0, 20_000).expect("a shape");
    let mut other = values.clone();
    other.iter_mut().for_each(|value| *value += 1.0);
    let mut stream = CellStream::new(CELLS, &QUANTILES, Goal::Select, 1 << 20);
    assert_eq!(stream.read(&rows, &values), Err(StreamError::NoPass));
    assert_eq!(stream.plan(), Ok(true));
    stream.read(&rows, &values).expect("a pass is under way");
    assert_eq!(stream.plan(), Ok(true));
    let noticed = stream
        .read(&rows, &other)
        .and_then(|()| stream.plan().map(|_| ()));
    assert_eq!(noticed, Err(StreamError::RowsChanged));
    assert_eq!(stream.finish(), Err(StreamError::NoPass));
}
