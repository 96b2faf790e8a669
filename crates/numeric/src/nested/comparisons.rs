//! Comparisons of a version with itself: how often each rule sees a change (EPEW 2006, section 4).

use rayon::prelude::*;

use super::groups::{Build, Group, Mean, are_apart, compare_by_welch, sum_up_builds, sum_up_group};
use super::layout::Nesting;
use super::means::NestedMeans;
use crate::draws::{Draws, scramble};

/// Comparisons that one thread makes at a time.
const AT_A_TIME: usize = 256;
/// Count of a rule that the data leave undefined.
pub const UNDEFINED: i64 = -1;

/// What comparisons of two groups of builds find, by the number of builds in a group.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparisons {
    /// Whether the two groups had no build in common.
    pub disjoint: bool,
    /// Comparisons whose intervals by equation 17 do not overlap; `UNDEFINED` for one build a group.
    pub paper: i64,
    /// Comparisons whose intervals of execution means, taken as if independent, do not overlap.
    pub executions: i64,
    /// Welch's statistic of build means, second group minus first; NaN for one build a group.
    pub welch_t: Vec<f64>,
    /// Its degrees of freedom.
    pub welch_df: Vec<f64>,
    /// Welch's statistic of execution means taken as if independent.
    pub execution_t: Vec<f64>,
    /// Its degrees of freedom.
    pub execution_df: Vec<f64>,
}

/// Compares two groups of builds of one version, again and again, for each of the group `sizes`.
///
/// The two groups have 2l different builds where there are as many, and are drawn independently and with
/// replacement from all builds otherwise. Intervals are `critical` standard errors to both sides. Comparison r
/// of l builds depends on the seed, on l and on r alone.
///
/// Unbalanced data: a group's mean is that of its build means; S²_B and S²_E are pooled by their degrees of
/// freedom, and 1/m and 1/(mn) of equation 17 become averages over the builds. A level that is not repeated
/// anywhere adds nothing: its variance is in the level above.
///
/// # Panics
/// When there are fewer than two builds, a size is 0, or the nestings are not those of the means.
pub fn simulate_comparisons(
    means: &NestedMeans,
    executions: Nesting<'_>,
    builds: Nesting<'_>,
    sizes: &[usize],
    repetitions: usize,
    critical: f64,
    seed: u64,
) -> Vec<Comparisons> {
    let builds = sum_up_builds(means, executions, builds);
    let repeated = builds.iter().all(Build::is_repeated);
    sizes
        .iter()
        .map(|&size| {
            let pairs = draw_pairs(&builds, size, repetitions, seed);
            let count = |model: fn(&Group) -> Mean| {
                let apart = |(a, b): &&(Group, Group)| are_apart(model(a), model(b), critical);
                pairs.iter().filter(apart).count() as i64
            };
            let welch = |model: fn(&Group) -> Mean| {
                pairs
                    .iter()
                    .map(|(a, b)| compare_by_welch(model(a), model(b)))
                    .unzip()
            };
            let (welch_t, welch_df) = welch(|group| group.builds);
            let (execution_t, execution_df) = welch(|group| group.executions);
            Comparisons {
                disjoint: 2 * size <= builds.len(),
                paper: if size > 1 {
                    count(Group::by_equation_17)
                } else {
                    UNDEFINED
                },
                executions: if size > 1 || repeated {
                    count(|group| group.executions)
                } else {
                    UNDEFINED
                },
                welch_t,
                welch_df,
                execution_t,
                execution_df,
            }
        })
        .collect()
}

/// How many comparisons of one build with one other see a change when intervals know of executions and
/// measurements alone: the two-level model of Figure 2's first column, variance S²_E/(mn) + S²_B/m.
///
/// `UNDEFINED` where a build has one execution.
///
/// # Panics
/// As `simulate_comparisons`.
pub fn compare_single_builds(
    means: &NestedMeans,
    executions: Nesting<'_>,
    builds: Nesting<'_>,
    repetitions: usize,
    critical: f64,
    seed: u64,
) -> i64 {
    let builds = sum_up_builds(means, executions, builds);
    if !builds.iter().all(Build::is_repeated) {
        return UNDEFINED;
    }
    draw_pairs(&builds, 1, repetitions, seed)
        .iter()
        .filter(|(a, b)| are_apart(a.without_builds(), b.without_builds(), critical))
        .count() as i64
}

/// Both groups of every comparison.
fn draw_pairs(builds: &[Build], size: usize, repetitions: usize, seed: u64) -> Vec<(Group, Group)> {
    assert!(size > 0, "one build or more in a group");
    let all: Vec<u32> = (0..builds.len() as u32).collect();
    let seed = scramble(seed) ^ size as u64;
    (0..repetitions)
        .into_par_iter()
        .with_min_len(AT_A_TIME)
        .map_init(Vec::new, |drawn: &mut Vec<u32>, repetition| {
            let mut source = Draws::new(seed, repetition as u64);
            drawn.clear();
            if 2 * size <= all.len() {
                drawn.extend_from_slice(&all);
                for at in 0..2 * size {
                    let left = (all.len() - at) as u64;
                    drawn.swap(at, at + source.below(left) as usize);
                }
            } else {
                let any = |_| source.below(all.len() as u64) as u32;
                drawn.extend((0..2 * size).map(any));
            }
            let (first, second) = drawn[..2 * size].split_at(size);
            (sum_up_group(builds, first), sum_up_group(builds, second))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nested::nested_means;

    fn simulate(
        values: &[f64],
        executions: &[i64],
        builds: &[i64],
        sizes: &[usize],
        repetitions: usize,
    ) -> (Vec<Comparisons>, i64) {
        let count = executions.len() - 1;
        let executions = Nesting::new(executions, values.len(), "executions").unwrap();
        let builds = Nesting::new(builds, count, "builds").unwrap();
        let means = nested_means(values, executions, builds);
        let single = compare_single_builds(&means, executions, builds, repetitions, 2.0, 5);
        (
            simulate_comparisons(&means, executions, builds, sizes, repetitions, 2.0, 5),
            single,
        )
    }

    #[test]
    fn builds_that_differ_while_their_executions_agree_deceive_intervals_from_executions() {
        // Builds at -1 and 1 by turns; executions within 0.001 of that.
        let values: Vec<f64> = (0..20_u32)
            .flat_map(|build| [0.0, 0.001].map(|off| f64::from(build % 2) * 2.0 - 1.0 + off))
            .collect();
        let (executions, builds): (Vec<i64>, Vec<i64>) =
            ((0..=40).collect(), (0..=40).step_by(2).collect());
        let (found, single) = simulate(&values, &executions, &builds, &[1, 2, 10, 15], 4000);
        // Of 19 other builds 10 are of the other kind.
        let expected = 4000.0 * 10.0 / 19.0;
        assert!((single as f64 - expected).abs() < 5.0 * 32.0, "{single}");
        assert_eq!(
            found[0].executions, single,
            "one value an execution: the same interval"
        );
        assert_eq!(found[0].paper, UNDEFINED);
        assert!(found[0].welch_t.iter().all(|t| t.is_nan()));
        assert!(found[0].execution_t.iter().all(|t| !t.is_nan()));
        assert_eq!(
            found.iter().map(|found| found.disjoint).collect::<Vec<_>>(),
            [true, true, true, false]
        );
        // Two a group: apart where one group has both at -1 and the other both at 1.
        let expected = 4000.0 * 2.0 * (10.0 * 9.0 * 10.0 * 9.0) / (20.0 * 19.0 * 18.0 * 17.0);
        assert!(
            (found[1].paper as f64 - expected).abs() < 5.0 * 23.0,
            "{}",
            found[1].paper
        );
        // Twenty executions for ten builds: 380 in place of 180 divides the same squares.
        for (of_builds, of_executions) in found[2].welch_t.iter().zip(&found[2].execution_t) {
            let expected = of_builds * (380.0_f64 / 180.0).sqrt();
            assert!((of_executions - expected).abs() <= 1e-3 * expected.abs());
        }
    }

    #[test]
    fn a_comparison_depends_on_seed_size_and_number_alone() {
        let values: Vec<f64> = (0..60).map(|at| (f64::from(at) * 1.3).sin()).collect();
        let executions: Vec<i64> = (0..=60).step_by(2).collect();
        let builds: Vec<i64> = (0..=30).step_by(3).collect();
        let (many, _) = simulate(&values, &executions, &builds, &[2, 5, 9], 600);
        let (few, _) = simulate(&values, &executions, &builds, &[5], 7);
        assert_eq!(many[1].welch_t[..7], few[0].welch_t);
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(1)
            .build()
            .unwrap();
        let alone = pool.install(|| simulate(&values, &executions, &builds, &[2, 5, 9], 600).0);
        assert_eq!(many, alone);
    }

    #[test]
    fn one_execution_a_build_leaves_the_two_level_model_undefined() {
        let (found, single) = simulate(&[1.0, 2.0, 3.0], &[0, 1, 2, 3], &[0, 1, 2, 3], &[1, 2], 50);
        assert_eq!((single, found[0].executions), (UNDEFINED, UNDEFINED));
        assert!(found[1].executions >= 0 && found[1].paper >= 0);
        assert_eq!(found[1].welch_t, found[1].execution_t);
    }
}
