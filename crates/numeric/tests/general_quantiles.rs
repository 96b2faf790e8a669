//! Quantile regression on any matrix, against enumeration and against itself in other words.

use datamill_numeric::quantile::general::{
    CellMatrix, GeneralError, GeneralFit, Scheme, bootstrap_general, fit_general,
    invert_rank_tests, weighted_cross_products,
};

/// Small deterministic numbers; xorshift is random enough for data.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    fn whole(&mut self, below: u64) -> f64 {
        (self.next() * below as f64).floor()
    }
}

fn fit(
    rows: &[f64],
    p: usize,
    values: &[f64],
    taus: &[f64],
    weights: Option<&[f64]>,
) -> Vec<GeneralFit> {
    let cells: Vec<u32> = (0..values.len() as u32).collect();
    let matrix = CellMatrix::new(rows, p, &cells, &[], &vec![-1; p]).expect("parts fit");
    fit_general(matrix, values, taus, weights).expect("columns are independent")
}

fn loss(rows: &[f64], values: &[f64], weights: &[f64], b: &[f64], tau: f64) -> f64 {
    rows.chunks(b.len())
        .zip(values)
        .zip(weights)
        .map(|((x, y), w)| {
            let r = y - x.iter().zip(b).map(|(x, b)| x * b).sum::<f64>();
            w * (tau * r).max((tau - 1.0) * r)
        })
        .sum()
}

fn solve(mut a: Vec<Vec<f64>>, p: usize) -> Option<Vec<f64>> {
    for k in 0..p {
        let pivot = (k..p).max_by(|&i, &j| a[i][k].abs().total_cmp(&a[j][k].abs()))?;
        a.swap(k, pivot);
        if a[k][k].abs() < 1e-9 {
            return None;
        }
        let head = a[k].clone();
        for (i, row) in a.iter_mut().enumerate() {
            if i != k {
                let factor = row[k] / head[k];
                row.iter_mut()
                    .zip(&head)
                    .for_each(|(value, head)| *value -= factor * head);
            }
        }
    }
    Some((0..p).map(|k| a[k][p] / a[k][k]).collect())
}

/// All fits through p rows: loss, total of fitted values, coefficients.
fn enumerate(
    rows: &[f64],
    p: usize,
    values: &[f64],
    weights: &[f64],
    tau: f64,
) -> Vec<(f64, f64, Vec<f64>)> {
    let n = values.len();
    let mut found = Vec::new();
    for mask in (0u32..1 << n).filter(|mask| mask.count_ones() as usize == p) {
        let system = (0..n)
            .filter(|&i| mask >> i & 1 == 1)
            .map(|i| {
                rows[i * p..(i + 1) * p]
                    .iter()
                    .copied()
                    .chain([values[i]])
                    .collect()
            })
            .collect();
        if let Some(b) = solve(system, p) {
            let total = rows
                .chunks(p)
                .zip(weights)
                .map(|(x, w)| w * x.iter().zip(&b).map(|(x, b)| x * b).sum::<f64>())
                .sum();
            found.push((loss(rows, values, weights, &b, tau), total, b));
        }
    }
    found
}

#[test]
fn small_problems_with_ties_reach_the_enumerated_optimum_of_smallest_total() {
    let mut numbers = Numbers(7);
    let taus = [0.1, 0.25, 1.0 / 3.0, 0.5, 0.75, 0.9];
    let mut several = 0;
    for trial in 0..150 {
        let p = 1 + trial % 3;
        let n = p + 1 + numbers.whole(8) as usize;
        let mut entry = |at: usize| match (at % p, trial % 2) {
            (0, _) => 1.0,
            (_, 0) => numbers.whole(3),
            _ => numbers.next(),
        };
        let rows: Vec<f64> = (0..n * p).map(&mut entry).collect();
        let values: Vec<f64> = (0..n).map(|_| numbers.whole(6)).collect();
        let weights: Vec<f64> = (0..n).map(|_| 1.0 + numbers.whole(3)).collect();
        let cells: Vec<u32> = (0..n as u32).collect();
        let matrix = CellMatrix::new(&rows, p, &cells, &[], &vec![-1; p]).expect("parts fit");
        let Ok(fits) = fit_general(matrix, &values, &taus, Some(&weights)) else {
            continue;
        };
        for (fit, tau) in fits.iter().zip(taus) {
            let all = enumerate(&rows, p, &values, &weights, tau);
            let least = all.iter().map(|one| one.0).fold(f64::INFINITY, f64::min);
            let best: Vec<_> = all.iter().filter(|one| one.0 <= least + 1e-9).collect();
            let total = best.iter().map(|one| one.1).fold(f64::INFINITY, f64::min);
            let close = |b: &[f64]| {
                b.iter()
                    .zip(&fit.coefficients)
                    .all(|(a, b)| (a - b).abs() < 1e-7)
            };
            assert!(fit.certified, "trial {trial} tau {tau}");
            assert!(
                (fit.objective - least).abs() < 1e-9,
                "trial {trial} tau {tau}"
            );
            assert!(
                best.iter()
                    .any(|one| one.1 <= total + 1e-7 && close(&one.2)),
                "trial {trial} tau {tau}: not the limit from below"
            );
            several += usize::from(best.iter().any(|one| !close(&one.2)));
        }
    }
    assert!(several > 50, "the data are meant to have ties: {several}");
}

/// 2^2 cells with a covariate in bytes and heavy tails.
fn make_cells(n: usize) -> (Vec<f64>, Vec<u32>, Vec<f64>, Vec<f64>) {
    let by_cell = (0..4u8)
        .flat_map(|cell| {
            let (a, b) = (
                f64::from(cell & 1) * 2.0 - 1.0,
                f64::from(cell >> 1) * 2.0 - 1.0,
            );
            [1.0, a, b, a * b, 1.0, a]
        })
        .collect();
    let mut numbers = Numbers(11);
    let cells: Vec<u32> = (0..n).map(|_| numbers.whole(4) as u32).collect();
    let bytes: Vec<f64> = (0..n).map(|_| 1e9 * (1.0 + numbers.next())).collect();
    let values = cells
        .iter()
        .zip(&bytes)
        .map(|(&cell, bytes)| {
            let tail = 1.0 / (1e-4 + numbers.next());
            1e-7 * (f64::from(cell) + bytes * 1e-9 * (1.0 + numbers.next()) + 0.01 * tail)
        })
        .collect();
    (by_cell, cells, bytes, values)
}

const OF_PRODUCT: [i64; 6] = [-1, -1, -1, -1, 0, 0];

#[test]
fn cells_with_a_covariate_and_the_written_out_matrix_have_the_same_solution() {
    let (by_cell, cells, bytes, values) = make_cells(30_000);
    let matrix = CellMatrix::new(&by_cell, 6, &cells, &bytes, &OF_PRODUCT).expect("parts fit");
    let mut rows = vec![0.0; 6 * values.len()];
    for (row, out) in rows.chunks_mut(6).enumerate() {
        matrix.copy_row(row, out);
    }
    let taus = [0.01, 0.5, 0.9, 0.999];
    let one = fit_general(matrix, &values, &taus, None).expect("columns are independent");
    let other = fit(&rows, 6, &values, &taus, None);
    for (one, other) in one.iter().zip(&other) {
        assert!(one.certified && other.certified);
        assert_eq!(one.basis, other.basis);
        for (a, b) in one.coefficients.iter().zip(&other.coefficients) {
            assert!((a - b).abs() <= 1e-9 * b.abs(), "{a} {b}");
        }
    }
}

#[test]
fn unit_and_zero_point_of_the_response_leave_the_basis_as_it_is() {
    let (by_cell, cells, bytes, seconds) = make_cells(30_000);
    // On a grid that neither change disturbs by more than its own rounding.
    let grid: Vec<f64> = seconds
        .iter()
        .map(|value| (value * 1e7 * 65536.0).round() / 65536.0)
        .collect();
    let run = |change: &dyn Fn(f64) -> f64| {
        let values: Vec<f64> = grid.iter().map(|&value| change(value)).collect();
        let matrix = CellMatrix::new(&by_cell, 6, &cells, &bytes, &OF_PRODUCT).expect("parts fit");
        let fits = fit_general(matrix, &values, &[0.05, 0.5, 0.95], None).expect("independent");
        assert!(fits.iter().all(|fit| fit.certified));
        fits.into_iter().map(|fit| fit.basis).collect::<Vec<_>>()
    };
    let plain = run(&|value| value);
    assert_eq!(plain, run(&|value| value * 1e-9));
    assert_eq!(plain, run(&|value| value * 1e200));
    assert_eq!(plain, run(&|value| value + 1e9));
    assert_eq!(plain, run(&|value| value - 1e6));
}

#[test]
fn an_offset_a_billion_times_the_range_of_a_column_costs_no_certificate() {
    let mut numbers = Numbers(21);
    let n = 5000;
    let mut rows = Vec::new();
    let mut values = Vec::new();
    for _ in 0..n {
        let x = numbers.whole(100);
        rows.extend([2.0, 1e11 + x]);
        values.push(3.0 * x + numbers.next());
    }
    let fits = fit(&rows, 2, &values, &[0.1, 0.5, 0.9], None);
    for fit in fits {
        assert!(fit.certified);
        assert!(
            (fit.coefficients[1] - 3.0).abs() < 1e-2,
            "{:?}",
            fit.coefficients
        );
    }
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let (by_cell, cells, bytes, values) = make_cells(200_000);
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .expect("threads start");
        pool.install(|| {
            let matrix =
                CellMatrix::new(&by_cell, 6, &cells, &bytes, &OF_PRODUCT).expect("parts fit");
            let products = weighted_cross_products(&matrix, &vec![0.1; values.len()]);
            let fits = fit_general(matrix, &values, &[0.1, 0.5, 0.99], None).expect("independent");
            let coefficients: Vec<f64> =
                fits.into_iter().flat_map(|fit| fit.coefficients).collect();
            (coefficients, products)
        })
    };
    assert_eq!(run(1), run(4));
}

#[test]
fn a_weight_is_as_good_as_so_many_copies_of_the_row() {
    let mut numbers = Numbers(3);
    let n = 700;
    let rows: Vec<f64> = (0..n * 4)
        .map(|at| if at % 4 == 0 { 1.0 } else { numbers.next() })
        .collect();
    let values: Vec<f64> = (0..n).map(|_| numbers.whole(40)).collect();
    let weights: Vec<f64> = (0..n).map(|_| numbers.whole(4)).collect();
    let (mut long, mut copies) = (Vec::new(), Vec::new());
    for row in 0..n {
        for _ in 0..weights[row] as usize {
            long.extend_from_slice(&rows[row * 4..(row + 1) * 4]);
            copies.push(values[row]);
        }
    }
    let taus = [0.05, 0.3, 0.5, 0.95];
    let one = fit(&rows, 4, &values, &taus, Some(&weights));
    for (one, other) in one.iter().zip(fit(&long, 4, &copies, &taus, None)) {
        assert!(one.certified && other.certified);
        assert!((one.objective - other.objective).abs() <= 1e-11 * other.objective);
        for (a, b) in one.coefficients.iter().zip(&other.coefficients) {
            assert!((a - b).abs() <= 1e-10 * (1.0 + b.abs()), "{a} {b}");
        }
    }
}

#[test]
fn dependent_columns_are_named_with_those_they_are_made_of() {
    let mut numbers = Numbers(5);
    let n = 50;
    let mut rows = Vec::new();
    for _ in 0..n {
        let (a, b) = (1e9 * numbers.next(), numbers.next());
        rows.extend([1.0, a, b, 0.0, 1.0 - 2.0 * b]);
    }
    let values: Vec<f64> = (0..n).map(|_| numbers.next()).collect();
    let cells: Vec<u32> = (0..n as u32).collect();
    let matrix = CellMatrix::new(&rows, 5, &cells, &[], &[-1; 5]).expect("parts fit");
    let Err(GeneralError::Dependent(found)) = fit_general(matrix, &values, &[0.5], None) else {
        panic!("columns are dependent")
    };
    let named: Vec<(usize, Vec<usize>)> =
        found.into_iter().map(|one| (one.column, one.of)).collect();
    assert_eq!(named, vec![(3, vec![]), (4, vec![0, 2])]);
}

#[test]
fn a_column_that_one_row_in_a_hundred_thousand_needs_is_not_dependent() {
    let n = 100_000;
    let mut numbers = Numbers(9);
    let covariate: Vec<f64> = (0..n).map(|_| numbers.next()).collect();
    let mut rare = vec![0.0; n];
    rare[77_777] = 1.0;
    let products: Vec<f64> = covariate.iter().chain(&rare).copied().collect();
    let values: Vec<f64> = covariate.iter().map(|x| x + numbers.next()).collect();
    let cells = vec![0u32; n];
    let matrix =
        CellMatrix::new(&[1.0, 1.0, 1.0], 3, &cells, &products, &[-1, 0, 1]).expect("parts fit");
    let fits = fit_general(matrix, &values, &[0.5], None).expect("columns are independent");
    assert!(fits[0].certified);
    assert!(
        fits[0].basis.contains(&77_777),
        "its coefficient interpolates it"
    );
}

#[test]
fn a_draw_that_leaves_a_level_out_gives_no_numbers() {
    let rows = [1.0, 0.0, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0];
    let values = [0.0, 1.0, 2.0, 3.0];
    let cells = [0, 1, 2, 3];
    let matrix = CellMatrix::new(&rows, 2, &cells, &[], &[-1, -1]).expect("parts fit");
    let found =
        bootstrap_general(matrix, &values, &[0.5], Scheme::Rows, 4000, 1).expect("independent");
    let absent = found.chunks(2).filter(|one| one[0].is_nan()).count() as f64 / 4000.0;
    assert!(
        (absent - 2.0 / 16.0).abs() < 0.02,
        "all draws from one level: {absent}"
    );
}

/// Many rows of few cells, which are put in their order, and the same with cells told apart that are alike.
fn make_large_cells(n: usize) -> [(Vec<f64>, Vec<u32>); 2] {
    let few = [0.0, 1.0, 2.0, 4.0].map(|level| [1.0, level, 1.0]).concat();
    let cells: Vec<u32> = (0..n).map(|row| (row * 7 % 11 % 4) as u32).collect();
    let many = few.repeat(n / 200);
    let apart = (cells.iter().enumerate())
        .map(|(row, cell)| cell + 4 * (row % (n / 200)) as u32)
        .collect();
    [(few, cells), (many, apart)]
}

#[test]
fn the_order_of_the_cells_changes_no_fit_no_draw_and_no_limit() {
    let n = 20_000;
    let mut numbers = Numbers(77);
    let covariate: Vec<f64> = (0..n).map(|_| numbers.next()).collect();
    let layouts = make_large_cells(n);
    let values: Vec<f64> = (layouts[0].1.iter().zip(&covariate))
        .map(|(&cell, x)| f64::from(cell) + 3.0 * x + (1.0 + x) * numbers.next().powi(3))
        .collect();
    let weights: Vec<f64> = (0..n).map(|_| numbers.whole(3)).collect();
    let densities: Vec<f64> = (0..2 * n).map(|_| 0.1 + numbers.next()).collect();
    let (taus, plain) = ([0.2, 0.9], vec![1.0; n]);
    let clusters: Vec<u32> = (0..n as u32).map(|row| row % 97).collect();
    let found = layouts.each_ref().map(|(by_cell, cells)| {
        let matrix =
            || CellMatrix::new(by_cell, 3, cells, &covariate, &[-1, -1, 0]).expect("parts fit");
        let mut numbers = Vec::new();
        for weights in [None, Some(&weights[..])] {
            for (fit, tau) in fit_general(matrix(), &values, &taus, weights)
                .expect("independent")
                .iter()
                .zip(taus)
            {
                assert!(fit.certified);
                let b = &fit.coefficients;
                let rows: Vec<f64> = (cells.iter().zip(&covariate))
                    .flat_map(|(&cell, x)| [1.0, by_cell[cell as usize * 3 + 1], *x])
                    .collect();
                let own = loss(&rows, &values, weights.unwrap_or(&plain), b, tau);
                assert!((fit.objective / own - 1.0).abs() < 1e-12);
                for &row in &fit.basis {
                    let fitted: f64 = (rows[row * 3..].iter().zip(b)).map(|(x, b)| x * b).sum();
                    assert!(
                        (fitted - values[row]).abs() < 1e-12,
                        "row {row} is on the fit"
                    );
                    assert!(weights.is_none_or(|weights| weights[row] > 0.0));
                }
                numbers.extend(b);
            }
        }
        for scheme in [Scheme::Rows, Scheme::Clusters(&clusters)] {
            let draws = bootstrap_general(matrix(), &values, &taus, scheme, 5, 3);
            numbers.extend(draws.expect("independent"));
        }
        let limits = invert_rank_tests(matrix(), &values, &taus, 2.0, Some(&densities), true);
        let (low, high) = limits.expect("independent");
        numbers.extend(low.into_iter().chain(high));
        numbers
    });
    for (one, other) in found[0].iter().zip(&found[1]) {
        assert!((one - other).abs() < 1e-10, "{one} {other}");
    }
}
