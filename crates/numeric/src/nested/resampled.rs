//! Bootstrap of comparisons over builds.

use rayon::prelude::*;

use super::means::find_moments;
use crate::draws::Draws;

/// Draws that one thread makes at a time.
const AT_A_TIME: usize = 256;

/// What changes from one version to the other, by draw.
#[derive(Clone, Debug, PartialEq)]
pub struct Differences {
    /// Mean of the second version minus that of the first.
    pub differences: Vec<f64>,
    /// Mean of the second version divided by that of the first.
    pub ratios: Vec<f64>,
}

/// Draws as many builds as each version has, with replacement, and compares their means (Efron 1979).
///
/// A build is drawn whole, as its mean: builds are the independent observations. Draw r depends on the seed
/// and r alone.
///
/// # Panics
/// When a version has no builds.
pub fn resample_builds(first: &[f64], second: &[f64], draws: usize, seed: u64) -> Differences {
    let versions = [first, second].map(|means| {
        let origin = find_moments(means).0;
        let rests: Vec<f64> = means.iter().map(|mean| mean - origin).collect();
        (origin, rests)
    });
    let [(origin_a, rests_a), (origin_b, rests_b)] = versions;
    let apart = origin_b - origin_a;
    let (differences, ratios) = (0..draws)
        .into_par_iter()
        .with_min_len(AT_A_TIME)
        .map(|draw| {
            let mut source = Draws::new(seed, draw as u64);
            let rest_a = draw_mean(&rests_a, &mut source);
            let rest_b = draw_mean(&rests_b, &mut source);
            (
                apart + (rest_b - rest_a),
                (origin_b + rest_b) / (origin_a + rest_a),
            )
        })
        .unzip();
    Differences {
        differences,
        ratios,
    }
}

fn draw_mean(rests: &[f64], source: &mut Draws) -> f64 {
    let bound = rests.len() as u64;
    let sum: f64 = (0..bound)
        .map(|_| rests[source.below(bound) as usize])
        .sum();
    sum / bound as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_of_equal_builds_are_their_means() {
        let found = resample_builds(&[2.0; 3], &[3.0; 7], 5, 1);
        assert_eq!(found.differences, [1.0; 5]);
        assert_eq!(found.ratios, [1.5; 5]);
    }

    #[test]
    fn differences_spread_as_two_means_of_independent_builds_do() {
        // Variances of the drawn means: 8/3 and 2/3 (divided by n) over 3 builds each.
        let found = resample_builds(&[1e6 + 2.0, 1e6, 1e6 + 4.0], &[6.0, 5.0, 7.0], 100_000, 7);
        let (mean, squares) = find_moments(&found.differences);
        assert!((mean - (6.0 - 1e6 - 2.0)).abs() < 0.015, "{mean}");
        let expected = (8.0 / 3.0 + 2.0 / 3.0) / 3.0;
        assert!((squares / 1e5 - expected).abs() < 0.02, "{}", squares / 1e5);
    }

    #[test]
    fn a_draw_depends_on_the_seed_and_its_number_alone() {
        let (first, second) = ([1.0, 2.0, 4.0, 8.0], [3.0, 5.0, 9.0]);
        let many = resample_builds(&first, &second, 1000, 11);
        let few = resample_builds(&first, &second, 10, 11);
        assert_eq!(many.differences[..10], few.differences);
        assert_eq!(many.ratios[..10], few.ratios);
        assert_ne!(many, resample_builds(&first, &second, 1000, 12));
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(1)
            .build()
            .unwrap();
        assert_eq!(
            many,
            pool.install(|| resample_builds(&first, &second, 1000, 11))
        );
    }
}
