//! The impact factor of what differs between builds (EPEW 2006, section 2).

use rayon::prelude::*;

use super::layout::Nesting;
use super::means::find_moments;
use crate::draws::Draws;

/// The impact factor, and that of each draw.
#[derive(Clone, Debug, PartialEq)]
pub struct Impact {
    /// Standard deviation of execution means from different builds.
    pub between_sd: f64,
    /// Standard deviation of execution means from the same build.
    pub within_sd: f64,
    /// The first divided by the second: 1 where the build does not matter.
    pub factor: f64,
    /// The factor of each bootstrap draw of builds.
    pub draws: Vec<f64>,
}

/// A build as the factor needs it.
#[derive(Clone, Copy)]
struct Build {
    mean: f64,
    /// Variance of one of its execution means, drawn at random: squares divided by m.
    spread: f64,
    /// Half the mean squared difference of two different ones: squares divided by m − 1; NaN for one.
    within: f64,
}

/// Impact factor from all builds, and from bootstrap draws of as many builds with replacement.
///
/// Both standard deviations are those of pairs: the square is half the mean squared difference of two
/// execution means drawn at random, for `between` one each from two different builds, for `within` two
/// different ones of one build (builds with one execution are left out there). Each build counts the same. The
/// squares are unbiased, σ²_V + σ² and σ² where σ² = σ²_B + σ²_E/n, so that builds that do not matter give 1
/// up to chance; below 1 is possible, by chance. A standard deviation of draws with replacement would be
/// too small by what an execution has in common with itself. For the same reason a build that a bootstrap draw
/// has twice is not paired with itself; a draw of one and the same build throughout is drawn again. Draw r depends on
/// the seed and r alone.
///
/// NaN where no build has two executions; of squares that are both 0 as well, and infinite where only
/// `within` is 0.
///
/// # Panics
/// When there are fewer than two builds or the nesting is not that of the means.
pub fn resample_impact(
    execution_means: &[f64],
    builds: Nesting<'_>,
    draws: usize,
    seed: u64,
) -> Impact {
    assert!(builds.count() > 1, "two builds or more");
    let origin = find_moments(execution_means).0;
    let builds: Vec<Build> = builds
        .parts()
        .map(|part| {
            let m = part.len() as f64;
            let (mean, squares) = find_moments(&execution_means[part]);
            Build {
                mean: mean - origin,
                spread: squares / m,
                within: squares / (m - 1.0),
            }
        })
        .collect();
    let (between, within) = find_variances(&builds, &vec![1; builds.len()]);
    let draws = (0..draws)
        .into_par_iter()
        .with_min_len(64)
        .map_init(Vec::new, |counts: &mut Vec<u32>, draw| {
            draw_builds(counts, builds.len(), &mut Draws::new(seed, draw as u64));
            let (between, within) = find_variances(&builds, counts);
            (between / within).sqrt()
        })
        .collect();
    Impact {
        between_sd: between.sqrt(),
        within_sd: within.sqrt(),
        factor: (between / within).sqrt(),
        draws,
    }
}

/// How often each build is drawn; at least two of them are.
fn draw_builds(counts: &mut Vec<u32>, builds: usize, source: &mut Draws) {
    loop {
        counts.clear();
        counts.resize(builds, 0);
        for _ in 0..builds {
            counts[source.below(builds as u64) as usize] += 1;
        }
        if counts.iter().all(|&count| (count as usize) < builds) {
            return;
        }
    }
}

/// Variances between and within builds of which each was drawn so many times.
fn find_variances(builds: &[Build], counts: &[u32]) -> (f64, f64) {
    let drawn = || {
        builds
            .iter()
            .zip(counts)
            .map(|(build, &count)| (build, f64::from(count)))
            .filter(|&(_, count)| count > 0.0)
    };
    let total: f64 = drawn().map(|(_, count)| count).sum();
    let mean = drawn()
        .map(|(build, count)| count * build.mean)
        .sum::<f64>()
        / total;
    let (mut apart, mut pairs, mut within, mut repeated) = (0.0, 0.0, 0.0, 0.0);
    for (build, count) in drawn() {
        // Over ordered pairs of draws, those of the same build left out (there the means differ by nothing).
        let others = count * (total - count);
        apart += total * count * (build.mean - mean).powi(2) + others * build.spread;
        pairs += others;
        if !build.within.is_nan() {
            within += count * build.within;
            repeated += count;
        }
    }
    (apart / pairs, within / repeated)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(means: &[f64], builds: &[i64], draws: usize) -> Impact {
        let nesting = Nesting::new(builds, means.len(), "builds").unwrap();
        resample_impact(means, nesting, draws, 3)
    }

    #[test]
    fn variances_are_half_the_mean_squared_differences_of_pairs() {
        let (means, builds) = ([2.0, 7.0, 3.0, 10.0, 14.0, 6.0], [0_i64, 3, 5, 6]);
        let build_of = [0, 0, 0, 1, 1, 2];
        // Each build counts the same: the mean over pairs of builds of the means over pairs of executions.
        let (mut between, mut within) = (0.0, 0.0);
        for (a, b) in [(0, 1), (0, 2), (1, 2)] {
            let (mut sum, mut pairs) = (0.0, 0.0);
            for i in 0..6 {
                for j in 0..6 {
                    if build_of[i] == a && build_of[j] == b {
                        sum += (means[i] - means[j]) * (means[i] - means[j]) / 2.0;
                        pairs += 1.0;
                    }
                }
            }
            between += sum / pairs / 3.0;
        }
        // 2, 7, 3: differences 5, 1, 4; and 10, 14; the third build has one execution.
        within += ((25.0 + 1.0 + 16.0) / 2.0 / 3.0 + 16.0 / 2.0) / 2.0;
        for origin in [0.0, 1e9] {
            let found = find(&means.map(|mean| mean + origin), &builds, 0);
            assert!((found.between_sd - f64::sqrt(between)).abs() < 1e-9);
            assert!((found.within_sd - f64::sqrt(within)).abs() < 1e-9);
            assert!((found.factor - f64::sqrt(between / within)).abs() < 1e-9);
        }
    }

    #[test]
    fn a_build_drawn_twice_is_not_paired_with_itself() {
        let build = |mean| Build {
            mean,
            spread: 1.0,
            within: 2.0,
        };
        let builds = [build(0.0), build(4.0), build(9.0)];
        // Pairs of draws 0-1 and 0'-1: (16 + 1 + 1) / 2 each.
        assert_eq!(find_variances(&builds, &[2, 1, 0]), (9.0, 2.0));
    }

    #[test]
    fn builds_that_do_not_matter_have_factor_1_on_average_however_few_executions_there_are() {
        // Two executions a build; all squares are estimated from the same small groups.
        let mut source = Draws::new(1, 0);
        let mut normal = || {
            (0..12)
                .map(|_| source.below(1 << 30) as f64 / f64::from(1 << 30))
                .sum::<f64>()
        };
        let (mut between, mut within, mut drawn) = (0.0, 0.0, 0.0);
        for _ in 0..3000 {
            let means: Vec<f64> = (0..12).map(|_| normal()).collect();
            let found = find(&means, &[0, 2, 4, 6, 8, 10, 12], 5);
            between += found.between_sd.powi(2);
            within += found.within_sd.powi(2);
            drawn +=
                found.draws.iter().map(|draw| draw.ln()).sum::<f64>() / 5.0 - found.factor.ln();
        }
        assert!(
            (between / within - 1.0).abs() < 0.03,
            "{}",
            between / within
        );
        assert!((drawn / 3000.0).abs() < 0.06, "{}", drawn / 3000.0);
    }

    #[test]
    fn squares_that_are_zero_leave_the_factor_infinite_or_undefined() {
        let found = find(&[1.0, 1.0, 2.0, 2.0], &[0, 2, 4], 3);
        assert_eq!(found.factor, f64::INFINITY);
        assert!(find(&[1.0; 4], &[0, 2, 4], 3).factor.is_nan());
        assert!(find(&[1.0, 2.0], &[0, 1, 2], 3).factor.is_nan());
    }
}
