//! Refits with random weights: rows, clusters or blocks drawn with replacement, or exponential weights.

use std::borrow::Cow;

use rayon::prelude::*;

use crate::draws::Draws;
use crate::quantile::general::bands::{Level, Spread};
use crate::quantile::general::fit::Prepared;
use crate::quantile::general::goal::{Goal, Solution, Start};
use crate::quantile::general::input::{GeneralError, check_quantiles};
use crate::quantile::general::matrix::CellMatrix;
use crate::quantile::general::refine::refine;

/// What is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scheme<'a> {
    /// n rows with replacement (Efron 1979).
    Rows,
    /// As many clusters as there are, whole, with replacement; one number for each row.
    Clusters(&'a [u32]),
    /// Blocks of so many successive rows, the last row followed by the first (Politis and Romano 1992).
    Blocks(usize),
    /// A standard exponential weight for every row (Jin, Ying and Wei 2001).
    Exponential,
    /// A standard exponential weight for every cluster.
    ExponentialClusters(&'a [u32]),
}

/// Coefficients of R refits at T quantiles: R x T x p, row by row.
///
/// Replicate r depends on the seed and r alone. A replicate whose draw leaves the coefficients undetermined is
/// NaN throughout.
///
/// # Errors
/// As `fit_general`, and when the scheme does not fit the rows.
pub fn bootstrap_general(
    matrix: CellMatrix<'_>,
    values: &[f64],
    quantiles: &[f64],
    scheme: Scheme<'_>,
    replicates: usize,
    seed: u64,
) -> Result<Vec<f64>, GeneralError> {
    check_quantiles(quantiles)?;
    check_scheme(&scheme, matrix.rows())?;
    let original = matrix.clone();
    let prepared = Prepared::new(matrix, values, None)?;
    let starts: Vec<(Solution, Spread<'_>)> = quantiles
        .par_iter()
        .map(|&tau| {
            let solution = prepared.solve(tau).0;
            let all = &prepared.levels[0];
            let spread = Spread::new(all, &solution.coefficients);
            (solution, spread)
        })
        .collect();
    let parts: Vec<Vec<f64>> = (0..replicates)
        .into_par_iter()
        .map(|replicate| {
            let weights = draw_weights(&scheme, original.rows(), seed, replicate as u64);
            refit(&prepared, &original, values, quantiles, &starts, &weights)
        })
        .collect();
    Ok(parts.concat())
}

fn check_scheme(scheme: &Scheme<'_>, rows: usize) -> Result<(), GeneralError> {
    match scheme {
        Scheme::Clusters(clusters) | Scheme::ExponentialClusters(clusters)
            if clusters.len() != rows =>
        {
            Err(GeneralError::Input(format!(
                "{} cluster numbers for {rows} rows",
                clusters.len()
            )))
        }
        Scheme::Blocks(length) if *length == 0 || *length > rows => Err(GeneralError::Input(
            format!("blocks of {length} rows do not fit {rows} rows"),
        )),
        _ => Ok(()),
    }
}

/// All quantiles of one replicate, each from the fit to all rows.
fn refit(
    prepared: &Prepared<'_>,
    original: &CellMatrix<'_>,
    values: &[f64],
    quantiles: &[f64],
    starts: &[(Solution, Spread<'_>)],
    weights: &[f64],
) -> Vec<f64> {
    let all = &prepared.levels[0];
    let arranged = prepared.arrange(weights);
    let weighted = Some(Cow::Borrowed(&*arranged));
    let mut level = Level::new(all.matrix.view(), Cow::Borrowed(&*all.values), weighted);
    level.origin = all.origin;
    let mut out = Vec::with_capacity(quantiles.len() * original.columns());
    for (&tau, (full, spread)) in quantiles.iter().zip(starts) {
        let start = Start {
            coefficients: &full.coefficients,
            limits: &|width| spread.limits(tau, width),
            narrowed: false,
        };
        let goal = Goal::of_all(tau);
        let mut solution = refine(
            &prepared.frame,
            &level,
            Some(&start),
            &goal,
            &full.basis,
            &mut 0,
        );
        solution.basis.sort_unstable();
        if solution.certified && solution.basis.iter().all(|&row| arranged[row] > 0.0) {
            out.extend(prepared.restore(prepared.polish(&solution)));
            continue;
        }
        // A row that was not drawn holds the fit up: see whether the rows drawn determine it.
        match Prepared::new(original.clone(), values, Some(weights)) {
            Ok(own) => out.extend(own.fit(&[tau]).remove(0).coefficients),
            Err(_) => out.extend(std::iter::repeat_n(f64::NAN, original.columns())),
        }
    }
    out
}

/// One weight a row.
fn draw_weights(scheme: &Scheme<'_>, rows: usize, seed: u64, replicate: u64) -> Vec<f64> {
    let mut draws = Draws::new(seed, replicate);
    let mut weights = vec![0.0; rows];
    match scheme {
        Scheme::Rows => {
            for _ in 0..rows {
                weights[draws.below(rows as u64) as usize] += 1.0;
            }
        }
        Scheme::Blocks(length) => {
            let mut left = rows;
            while left > 0 {
                let start = draws.below(rows as u64) as usize;
                for row in start..start + (*length).min(left) {
                    weights[row % rows] += 1.0;
                }
                left -= (*length).min(left);
            }
        }
        Scheme::Exponential => weights.fill_with(|| draws.exponential()),
        Scheme::Clusters(clusters) => {
            let (numbers, count) = number_clusters(clusters);
            let mut of_cluster = vec![0.0; count];
            for _ in 0..count {
                of_cluster[draws.below(count as u64) as usize] += 1.0;
            }
            spread_out(&numbers, &of_cluster, &mut weights);
        }
        Scheme::ExponentialClusters(clusters) => {
            let (numbers, count) = number_clusters(clusters);
            let of_cluster: Vec<f64> = (0..count).map(|_| draws.exponential()).collect();
            spread_out(&numbers, &of_cluster, &mut weights);
        }
    }
    weights
}

/// Clusters numbered without gaps in the order of their labels, so that the order of rows changes no draw.
fn number_clusters(clusters: &[u32]) -> (Vec<usize>, usize) {
    let mut labels = clusters.to_vec();
    labels.sort_unstable();
    labels.dedup();
    let number = |label| {
        labels
            .binary_search(label)
            .expect("every label is among the labels")
    };
    (clusters.iter().map(number).collect(), labels.len())
}

fn spread_out(numbers: &[usize], of_cluster: &[f64], weights: &mut [f64]) {
    for (weight, &cluster) in weights.iter_mut().zip(numbers) {
        *weight = of_cluster[cluster];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_of_rows_add_up_to_the_number_of_rows_and_depend_on_the_seed() {
        let weights = draw_weights(&Scheme::Rows, 1000, 1, 2);
        assert_eq!(weights.iter().sum::<f64>(), 1000.0);
        assert_eq!(weights, draw_weights(&Scheme::Rows, 1000, 1, 2));
        assert_ne!(weights, draw_weights(&Scheme::Rows, 1000, 1, 3));
        assert_ne!(weights, draw_weights(&Scheme::Rows, 1000, 2, 2));
        let absent = weights.iter().filter(|&&weight| weight == 0.0).count();
        assert!(
            (300..440).contains(&absent),
            "about 1/e of the rows stay out: {absent}"
        );
    }

    #[test]
    fn clusters_stay_whole() {
        let clusters: Vec<u32> = (0..60).map(|row| row % 7 * 100).collect();
        let weights = draw_weights(&Scheme::Clusters(&clusters), 60, 3, 0);
        for row in 7..60 {
            assert_eq!(weights[row], weights[row - 7]);
        }
        assert_eq!(weights[..7].iter().sum::<f64>(), 7.0);
    }

    #[test]
    fn blocks_are_successive_rows_and_wrap_around() {
        let weights = draw_weights(&Scheme::Blocks(10), 95, 4, 0);
        assert_eq!(weights.iter().sum::<f64>(), 95.0);
        let changes = (0..95)
            .filter(|&row| weights[row] != weights[(row + 1) % 95])
            .count();
        assert!(
            changes <= 20,
            "each of ten blocks begins once and ends once: {changes}"
        );
    }

    #[test]
    fn exponential_weights_have_mean_one() {
        let weights = draw_weights(&Scheme::Exponential, 100_000, 5, 0);
        let mean = weights.iter().sum::<f64>() / 100_000.0;
        assert!((mean - 1.0).abs() < 0.02, "{mean}");
    }
}
