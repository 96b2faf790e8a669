//! Groups of builds of one version: their means, and what each model takes for the variance of these.

use super::layout::Nesting;
use super::means::{NestedMeans, find_moments};

/// A build as comparisons need it; means are those of the data minus the mean of all builds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Build {
    mean: f64,
    executions: f64,
    /// Squares of execution means and their degrees of freedom.
    means_ss: f64,
    means_df: f64,
    /// Squares of values inside executions and their degrees of freedom.
    values_ss: f64,
    values_df: f64,
    /// What a unit of σ²_B adds to the variance of the build's mean: 1/m.
    per_execution: f64,
    /// What a unit of σ²_E adds to it: 1/(mn).
    per_value: f64,
}

/// Mean, its variance, and the degrees of freedom of that.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mean {
    mean: f64,
    variance: f64,
    df: f64,
}

/// A group of builds, summed up under each of the models.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    /// Variance of the mean from executions and measurements alone: (S²_E/n + S²_B)/(lm).
    below: f64,
    /// Builds are the independent observations.
    pub builds: Mean,
    /// Executions are taken as if they were.
    pub executions: Mean,
}

impl Build {
    /// Whether it was executed more than once.
    pub fn is_repeated(&self) -> bool {
        self.means_df > 0.0
    }
}

impl Group {
    /// The variance of equation 17, which has that of the lower levels in it twice.
    pub fn by_equation_17(&self) -> Mean {
        Mean {
            variance: self.below + self.builds.variance,
            ..self.builds
        }
    }

    /// Builds are taken for equal: S²_E/(lmn) + S²_B/(lm), the two-level model.
    pub fn without_builds(&self) -> Mean {
        Mean {
            variance: self.below,
            ..self.builds
        }
    }
}

/// All builds of a version.
///
/// # Panics
/// When there are fewer than two.
pub(super) fn sum_up_builds(
    means: &NestedMeans,
    executions: Nesting<'_>,
    builds: Nesting<'_>,
) -> Vec<Build> {
    assert!(builds.count() > 1, "two builds or more");
    let lengths: Vec<f64> = executions.parts().map(|part| part.len() as f64).collect();
    let origin = find_moments(&means.build_means).0;
    builds
        .parts()
        .enumerate()
        .map(|(build, part)| {
            let m = part.len() as f64;
            let lengths = &lengths[part.clone()];
            Build {
                mean: means.build_means[build] - origin,
                executions: m,
                means_ss: means.build_ss[build],
                means_df: m - 1.0,
                values_ss: means.execution_ss[part].iter().sum(),
                values_df: lengths.iter().sum::<f64>() - m,
                per_execution: 1.0 / m,
                per_value: lengths.iter().map(|n| 1.0 / n).sum::<f64>() / (m * m),
            }
        })
        .collect()
}

/// The builds drawn, one or more of them.
pub(super) fn sum_up_group(builds: &[Build], drawn: &[u32]) -> Group {
    let chosen = || drawn.iter().map(|&build| &builds[build as usize]);
    let mut sum = Build::default();
    let mut total = 0.0;
    for build in chosen() {
        sum.mean += build.mean;
        sum.executions += build.executions;
        sum.means_ss += build.means_ss;
        sum.means_df += build.means_df;
        sum.values_ss += build.values_ss;
        sum.values_df += build.values_df;
        sum.per_execution += build.per_execution;
        sum.per_value += build.per_value;
        total += build.executions * build.mean;
    }
    let l = drawn.len() as f64;
    let (mean, mean_of_executions) = (sum.mean / l, total / sum.executions);
    let (mut between, mut between_executions) = (0.0, 0.0);
    for build in chosen() {
        between += (build.mean - mean).powi(2);
        between_executions += build.executions * (build.mean - mean_of_executions).powi(2);
    }
    let divide = |squares: f64, df: f64| if df > 0.0 { squares / df } else { 0.0 };
    let below = divide(sum.means_ss, sum.means_df) * sum.per_execution
        + divide(sum.values_ss, sum.values_df) * sum.per_value;
    Group {
        below: below / (l * l),
        builds: Mean {
            mean,
            variance: between / (l - 1.0) / l,
            df: l - 1.0,
        },
        executions: Mean {
            mean: mean_of_executions,
            variance: (sum.means_ss + between_executions) / (sum.executions - 1.0) / sum.executions,
            df: sum.executions - 1.0,
        },
    }
}

/// Whether intervals of so many standard errors to both sides do not overlap.
pub(super) fn are_apart(a: Mean, b: Mean, critical: f64) -> bool {
    (a.mean - b.mean).abs() > critical * (a.variance.sqrt() + b.variance.sqrt())
}

/// Welch's statistic with the degrees of freedom of Satterthwaite; without any variance, 0 or infinite.
pub(super) fn compare_by_welch(a: Mean, b: Mean) -> (f64, f64) {
    if a.df == 0.0 || b.df == 0.0 {
        return (f64::NAN, f64::NAN);
    }
    let (apart, variance) = (b.mean - a.mean, a.variance + b.variance);
    if variance == 0.0 {
        let t = if apart == 0.0 {
            0.0
        } else {
            f64::INFINITY.copysign(apart)
        };
        return (t, a.df + b.df);
    }
    let (share_a, share_b) = (a.variance / variance, b.variance / variance);
    let df = 1.0 / (share_a * share_a / a.df + share_b * share_b / b.df);
    (apart / variance.sqrt(), df)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nested::nested_means;

    fn builds_of(values: &[f64], executions: &[i64], builds: &[i64]) -> Vec<Build> {
        let count = executions.len() - 1;
        let executions = Nesting::new(executions, values.len(), "executions").unwrap();
        let builds = Nesting::new(builds, count, "builds").unwrap();
        sum_up_builds(
            &nested_means(values, executions, builds),
            executions,
            builds,
        )
    }

    #[test]
    fn a_group_has_the_variances_of_the_three_models() {
        // Execution means 2, 7, 10, 14; build means 4.5, 12; S²_V 28.125, S²_B 10.25, S²_E 3.
        let values = [1.0, 3.0, 5.0, 9.0, 10.0, 10.0, 13.0, 15.0];
        let builds = builds_of(&values, &[0, 2, 4, 6, 8], &[0, 2, 4]);
        let group = sum_up_group(&builds, &[0, 1]);
        assert_eq!(group.builds.mean, 0.0);
        assert_eq!(group.builds.variance, 28.125 / 2.0);
        assert_eq!(group.below, 3.0 / 8.0 + 10.25 / 4.0);
        assert_eq!(
            group.by_equation_17().variance,
            3.0 / 8.0 + 10.25 / 4.0 + 28.125 / 2.0
        );
        // Squares of 2, 7, 10, 14 about 8.25.
        assert_eq!(group.executions.variance, 76.75 / 3.0 / 4.0);
        let one = sum_up_group(&builds, &[1]);
        assert_eq!(one.builds.mean, 3.75);
        assert_eq!(one.below, 1.0 / 4.0 + 8.0 / 2.0);
        assert_eq!(one.executions.variance, 8.0 / 2.0);
    }

    #[test]
    fn a_group_of_unbalanced_builds_averages_what_their_means_vary() {
        // Execution means 1, 4 of 1 and 3 values; 8 of 2 values.
        let builds = builds_of(&[1.0, 3.0, 3.0, 6.0, 7.0, 9.0], &[0, 1, 4, 6], &[0, 2, 3]);
        let group = sum_up_group(&builds, &[0, 1]);
        let per_value = (1.0 + 1.0 / 3.0) / 4.0 + 1.0 / 2.0;
        let expected = (4.5 * 1.5 + 8.0 / 3.0 * per_value) / 4.0;
        assert!((group.below - expected).abs() < 1e-14);
        assert!((group.executions.mean - (13.0 / 3.0 - 5.25)).abs() < 1e-14);
    }

    #[test]
    fn welch_is_that_of_the_textbook() {
        let (a, b) = (
            Mean {
                mean: 1.0,
                variance: 2.0,
                df: 4.0,
            },
            Mean {
                mean: 4.0,
                variance: 7.0,
                df: 9.0,
            },
        );
        let (t, df) = compare_by_welch(a, b);
        assert_eq!(t, 1.0);
        assert!((df - 81.0 / (4.0 / 4.0 + 49.0 / 9.0)).abs() < 1e-12);
        let none = |mean| Mean {
            mean,
            variance: 0.0,
            df: 2.0,
        };
        assert_eq!(compare_by_welch(none(1.0), none(1.0)), (0.0, 4.0));
        assert_eq!(
            compare_by_welch(none(1.0), none(0.0)),
            (f64::NEG_INFINITY, 4.0)
        );
    }
}
