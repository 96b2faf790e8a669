//! Best subsets beside a plain enumeration with normal equations.

use datamill_numeric::subsets::{Criterion, Table, best_by_criterion, best_of_each, best_of_sizes};

struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64 - 0.5
    }
}

fn make_table(rows: usize, columns: usize, seed: u64) -> Vec<f64> {
    let mut random = Random(seed);
    (0..rows * columns).map(|_| random.next()).collect()
}

/// Residual sum of squares, by Gram-Schmidt on the members in turn.
fn find_rss(table: &[f64], columns: usize, response: &[f64], rows: &[usize], set: u64) -> f64 {
    let mut basis = vec![vec![1.0 / (rows.len() as f64).sqrt(); rows.len()]];
    let project = |basis: &[Vec<f64>], vector: &mut Vec<f64>| {
        for axis in basis.iter().chain(basis) {
            let along: f64 = axis.iter().zip(&*vector).map(|(a, v)| a * v).sum();
            vector
                .iter_mut()
                .zip(axis)
                .for_each(|(v, a)| *v -= along * a);
        }
    };
    for column in (0..columns).filter(|column| set >> column & 1 == 1) {
        let mut vector: Vec<f64> = rows
            .iter()
            .map(|row| table[row * columns + column])
            .collect();
        project(&basis, &mut vector);
        let length = vector.iter().map(|v| v * v).sum::<f64>().sqrt();
        vector.iter_mut().for_each(|v| *v /= length);
        basis.push(vector);
    }
    let mut rest: Vec<f64> = rows.iter().map(|row| response[*row]).collect();
    project(&basis, &mut rest);
    rest.iter().map(|v| v * v).sum()
}

#[test]
fn each_size_has_the_smallest_sum_of_squares() {
    for (rows, columns) in [(9, 7), (6, 8), (30, 6), (12, 10)] {
        let table = make_table(rows, columns, 3 + rows as u64);
        let response = make_table(rows, 1, 11);
        let every: Vec<usize> = (0..rows).collect();
        let largest = columns.min(rows - 2);
        let found = best_of_sizes(
            Table::new(&table, columns).unwrap(),
            &response,
            std::slice::from_ref(&every),
            largest,
        );
        for (size, best) in (1..).zip(&found[0].1) {
            let best = best.expect("the columns are independent");
            let of_size = (0..1u64 << columns).filter(|set| set.count_ones() == size);
            let rss = |set: u64| find_rss(&table, columns, &response, &every, set);
            let least = of_size.min_by(|a, b| rss(*a).total_cmp(&rss(*b))).unwrap();
            assert_eq!(best.set, least, "{rows} rows, {size} of {columns}");
            assert!((best.rss / rss(least) - 1.0).abs() < 1e-8);
            assert_eq!(best.ties, 0);
        }
    }
}

#[test]
fn one_search_for_all_columns_finds_what_one_for_each_does() {
    let (rows, columns) = (9, 8);
    let table = make_table(rows, columns, 5);
    let sets: Vec<Vec<usize>> = vec![(0..9).collect(), vec![0, 2, 3, 5, 8], vec![1, 4, 6]];
    let variances = vec![0.02; sets.len() * columns];
    let each = best_of_each(
        Table::new(&table, columns).unwrap(),
        &sets,
        columns,
        &variances,
    );
    for column in 0..columns {
        let response: Vec<f64> = (0..rows).map(|row| table[row * columns + column]).collect();
        let others: Vec<usize> = (0..columns).filter(|other| *other != column).collect();
        let rest: Vec<f64> = (0..rows)
            .flat_map(|row| others.iter().map(move |other| row * columns + other))
            .map(|at| table[at])
            .collect();
        for (place, criterion) in [Criterion::AdjustedR2, Criterion::Cp]
            .into_iter()
            .enumerate()
        {
            let alone = best_by_criterion(
                Table::new(&rest, columns - 1).unwrap(),
                &response,
                &sets,
                criterion,
                columns,
                &variances[..sets.len()],
            );
            for (set, alone) in each.iter().zip(alone) {
                let together = set[column].expect("no column is constant")[place];
                let spread = (0..columns - 1)
                    .filter(|at| alone.set >> at & 1 == 1)
                    .fold(0, |set, at| set | 1 << others[at]);
                assert_eq!(together.set, spread, "column {column} by {criterion:?}");
                assert!((together.rss / alone.rss - 1.0).abs() < 1e-8);
            }
        }
    }
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let table = make_table(15, 12, 6);
    let response = make_table(15, 1, 7);
    let sets: Vec<Vec<usize>> = (0..40)
        .map(|at| (0..15).filter(|row| (row * 7 + at) % 5 != 0).collect())
        .collect();
    let search = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| best_of_sizes(Table::new(&table, 12).unwrap(), &response, &sets, 6))
    };
    assert_eq!(search(1), search(3));
}

#[test]
fn too_many_columns_and_broken_rows_are_refused() {
    assert!(Table::new(&[0.0; 64], 64).is_err());
    assert!(Table::new(&[0.0; 5], 2).is_err());
    assert!(Table::new(&[], 0).is_err());
}
