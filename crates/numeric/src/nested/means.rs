//! Means and mean squares of the levels (EPEW 2006, equations 14 to 16).

use rayon::prelude::*;

use super::layout::Nesting;

/// Values from which on both cores pay.
const MANY: usize = 1 << 18;
/// Sums kept side by side: independent additions, in the same order for any width of the registers.
const LANES: usize = 16;

/// Means of executions and builds.
#[derive(Clone, Debug, PartialEq)]
pub struct NestedMeans {
    /// Mean of each execution.
    pub execution_means: Vec<f64>,
    /// Sum of squared deviations from its mean inside each execution.
    pub execution_ss: Vec<f64>,
    /// Mean of each build's execution means, each of which counts the same.
    pub build_means: Vec<f64>,
    /// Sum of squared deviations of each build's execution means.
    pub build_ss: Vec<f64>,
}

/// The mean and the mean squares of the three levels; a mean square without degrees of freedom is NaN.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeanSquares {
    /// Mean of the build means, each of which counts the same.
    pub mean: f64,
    /// S²_V: of build means (equation 16).
    pub version: f64,
    /// S²_B: of execution means inside builds, pooled (equation 15).
    pub build: f64,
    /// S²_E: of values inside executions, pooled (equation 14).
    pub execution: f64,
}

/// Means and sums of squares of all executions and builds.
///
/// Two passes over each execution, the second of which corrects the mean of the first: what all values have
/// in common costs no digits.
///
/// # Panics
/// When the nestings are not those of the values.
pub fn nested_means(values: &[f64], executions: Nesting<'_>, builds: Nesting<'_>) -> NestedMeans {
    let moments = |part| find_moments(&values[executions.part(part)]);
    let (execution_means, execution_ss): (Vec<f64>, Vec<f64>) = if values.len() < MANY {
        (0..executions.count()).map(moments).unzip()
    } else {
        (0..executions.count())
            .into_par_iter()
            .with_min_len((executions.count() / 64).max(1))
            .map(moments)
            .unzip()
    };
    let (build_means, build_ss) = builds
        .parts()
        .map(|part| find_moments(&execution_means[part]))
        .unzip();
    NestedMeans {
        execution_means,
        execution_ss,
        build_means,
        build_ss,
    }
}

/// The mean and the three mean squares; unbalanced data are pooled by their degrees of freedom.
///
/// # Panics
/// When the nestings are not those of the values.
pub fn nested_mean_squares(
    values: &[f64],
    executions: Nesting<'_>,
    builds: Nesting<'_>,
) -> MeanSquares {
    let means = nested_means(values, executions, builds);
    let divide = |squares: f64, freedom: usize| {
        if freedom > 0 {
            squares / freedom as f64
        } else {
            f64::NAN
        }
    };
    let (mean, squares) = find_moments(&means.build_means);
    let (e, l) = (executions.count(), builds.count());
    MeanSquares {
        mean,
        version: divide(squares, l - 1),
        build: divide(means.build_ss.iter().sum(), e - l),
        execution: divide(means.execution_ss.iter().sum(), values.len() - e),
    }
}

/// Mean and sum of squared deviations from it.
pub(super) fn find_moments(values: &[f64]) -> (f64, f64) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2.
        return unsafe { find_moments_wide(values) };
    }
    find_moments_narrow(values)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn find_moments_wide(values: &[f64]) -> (f64, f64) {
    find_moments_narrow(values)
}

#[inline(always)]
fn find_moments_narrow(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let first = {
        let mut sums = [0.0; LANES];
        let (whole, rest) = values.as_chunks::<LANES>();
        for chunk in whole {
            for (sum, value) in sums.iter_mut().zip(chunk) {
                *sum += value;
            }
        }
        (add_up(&sums) + rest.iter().sum::<f64>()) / n
    };
    let (mut errors, mut squares) = ([0.0; LANES], [0.0; LANES]);
    let (whole, rest) = values.as_chunks::<LANES>();
    for chunk in whole {
        for lane in 0..LANES {
            let error = chunk[lane] - first;
            errors[lane] += error;
            squares[lane] += error * error;
        }
    }
    for (lane, value) in rest.iter().enumerate() {
        let error = value - first;
        errors[lane] += error;
        squares[lane] += error * error;
    }
    let off = add_up(&errors) / n;
    (first + off, (add_up(&squares) - n * off * off).max(0.0))
}

#[inline(always)]
fn add_up(sums: &[f64; LANES]) -> f64 {
    let mut sums = *sums;
    let mut width = LANES / 2;
    while width > 0 {
        for lane in 0..width {
            sums[lane] += sums[lane + width];
        }
        width /= 2;
    }
    sums[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two builds of two executions of two measurements.
    const VALUES: [f64; 8] = [1.0, 3.0, 5.0, 9.0, 10.0, 10.0, 13.0, 15.0];

    fn nestings<'a>(executions: &'a [i64], builds: &'a [i64]) -> (Nesting<'a>, Nesting<'a>) {
        (
            Nesting::new(
                executions,
                *executions.last().unwrap() as usize,
                "executions",
            )
            .unwrap(),
            Nesting::new(builds, executions.len() - 1, "builds").unwrap(),
        )
    }

    #[test]
    fn means_and_mean_squares_are_those_of_the_equations() {
        let (executions, builds) = nestings(&[0, 2, 4, 6, 8], &[0, 2, 4]);
        for origin in [0.0, 1e9, -1e12] {
            let values = VALUES.map(|value| value + origin);
            let found = nested_means(&values, executions, builds);
            let expected = [2.0, 7.0, 10.0, 14.0].map(|mean| mean + origin);
            assert_eq!(found.execution_means, expected);
            assert_eq!(found.execution_ss, [2.0, 8.0, 0.0, 2.0]);
            assert_eq!(found.build_means, [4.5 + origin, 12.0 + origin]);
            assert_eq!(found.build_ss, [12.5, 8.0]);
            let squares = nested_mean_squares(&values, executions, builds);
            assert_eq!(squares.mean, 8.25 + origin);
            assert_eq!(squares.execution, 12.0 / 4.0);
            assert_eq!(squares.build, 20.5 / 2.0);
            assert_eq!(squares.version, 2.0 * 3.75 * 3.75);
        }
    }

    #[test]
    fn executions_of_a_build_count_the_same_however_many_measurements_they_have() {
        let (executions, builds) = nestings(&[0, 1, 4, 6], &[0, 2, 3]);
        let values = [1.0, 3.0, 3.0, 6.0, 7.0, 9.0];
        let found = nested_means(&values, executions, builds);
        assert_eq!(found.execution_means, [1.0, 4.0, 8.0]);
        assert_eq!(found.execution_ss, [0.0, 6.0, 2.0]);
        assert_eq!(found.build_means, [2.5, 8.0]);
        let squares = nested_mean_squares(&values, executions, builds);
        assert_eq!(squares.mean, 5.25);
        assert_eq!(squares.execution, 8.0 / 3.0);
        assert_eq!(squares.build, 4.5);
        assert_eq!(squares.version, 2.0 * 2.75 * 2.75);
    }

    #[test]
    fn a_level_without_repetition_has_no_mean_square() {
        let (executions, builds) = nestings(&[0, 1, 2], &[0, 1, 2]);
        let squares = nested_mean_squares(&[1.0, 3.0], executions, builds);
        assert_eq!((squares.mean, squares.version), (2.0, 2.0));
        assert!(squares.build.is_nan() && squares.execution.is_nan());
        let (executions, builds) = nestings(&[0, 2], &[0, 1]);
        let squares = nested_mean_squares(&[1.0, 3.0], executions, builds);
        assert_eq!((squares.mean, squares.execution), (2.0, 2.0));
        assert!(squares.build.is_nan() && squares.version.is_nan());
    }

    #[test]
    fn one_value_among_many_on_a_large_offset_keeps_its_square() {
        let mut values = vec![1e9; 1001];
        values[500] += 1.0;
        let (mean, squares) = find_moments(&values);
        assert_eq!(mean, 1e9 + 1.0 / 1001.0);
        assert!((squares - (1.0 - 1.0 / 1001.0)).abs() < 1e-12, "{squares}");
    }

    #[test]
    fn many_values_give_the_same_on_both_cores() {
        let values: Vec<f64> = (0..MANY + 7).map(|at| (at as f64 * 0.7).sin()).collect();
        let executions: Vec<i64> = (0..values.len() as i64)
            .step_by(101)
            .chain([values.len() as i64])
            .collect();
        let builds = [0, executions.len() as i64 - 1];
        let (executions, builds) = nestings(&executions, &builds);
        let found = nested_means(&values, executions, builds);
        for (part, mean) in executions.parts().zip(&found.execution_means) {
            assert_eq!(find_moments(&values[part]).0, *mean);
        }
    }
}
