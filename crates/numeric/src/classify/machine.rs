//! A support vector machine of two classes by sequential minimal optimisation (Fan, Chen and Lin 2005, WSS 3).

use super::Cases;

/// How two rows are compared.
#[derive(Clone, Copy)]
pub enum Kernel {
    /// tanh(gamma x·y)
    Sigmoid,
    /// (gamma x·y)³
    Polynomial,
    /// exp(-gamma |x - y|²)
    Rbf,
}

/// Coefficients of all rows (0 for those that are no support vectors) and the bias of the decision value.
pub struct Machine {
    /// A label's sign times alpha, of each row.
    pub coefficients: Vec<f64>,
    /// What is added to the sum.
    pub bias: f64,
    /// Whether the violation of the optimum got below its bound.
    pub converged: bool,
}

/// Rows of which the kernel's matrix is held.
pub const MOST_ROWS: usize = 6000;
const TOLERANCE: f64 = 1e-3;
/// What a curvature that is not above 0 is taken as: the sigmoid is no kernel of Mercer's.
const LEAST_CURVATURE: f64 = 1e-12;

/// Solves the dual problem; a row's bound is `cost` times its weight.
pub fn fit(cases: Cases<'_>, kernel: Kernel, gamma: f64, cost: f64) -> Result<Machine, String> {
    let rows = cases.rows();
    if rows > MOST_ROWS {
        return Err(format!("{rows} rows are more than {MOST_ROWS}"));
    }
    let signs: Vec<f64> = cases
        .labels
        .iter()
        .map(|label| if *label { 1.0 } else { -1.0 })
        .collect();
    let bounds: Vec<f64> = cases.weights.iter().map(|weight| cost * weight).collect();
    let matrix = compare_all(cases, kernel, gamma);
    let mut alphas = vec![0.0; rows];
    // Of half a'Qa - e'a with Q = y y' K.
    let mut gradient = vec![-1.0; rows];
    let mut converged = false;
    for _ in 0..100 * rows.max(1000) {
        let Some((first, second)) = choose_pair(&alphas, &gradient, &signs, &bounds, &matrix)
        else {
            converged = true;
            break;
        };
        let (old_first, old_second) = (alphas[first], alphas[second]);
        step(
            &mut alphas,
            &gradient,
            &signs,
            &bounds,
            &matrix,
            (first, second),
        );
        let (change_first, change_second) =
            (alphas[first] - old_first, alphas[second] - old_second);
        for row in 0..rows {
            gradient[row] += signs[row]
                * (signs[first] * matrix[first * rows + row] * change_first
                    + signs[second] * matrix[second * rows + row] * change_second);
        }
    }
    let bias = find_bias(&alphas, &gradient, &signs, &bounds);
    Ok(Machine {
        coefficients: alphas
            .iter()
            .zip(&signs)
            .map(|(a, sign)| a * sign)
            .collect(),
        bias,
        converged,
    })
}

fn compare_all(cases: Cases<'_>, kernel: Kernel, gamma: f64) -> Vec<f64> {
    let rows = cases.rows();
    let mut matrix = vec![0.0; rows * rows];
    for first in 0..rows {
        for second in 0..=first {
            let value = compare(cases.row(first), cases.row(second), kernel, gamma);
            matrix[first * rows + second] = value;
            matrix[second * rows + first] = value;
        }
    }
    matrix
}

fn compare(first: &[f64], second: &[f64], kernel: Kernel, gamma: f64) -> f64 {
    let pairs = first.iter().zip(second);
    match kernel {
        Kernel::Rbf => (-gamma * pairs.map(|(x, y)| (x - y).powi(2)).sum::<f64>()).exp(),
        Kernel::Sigmoid => (gamma * pairs.map(|(x, y)| x * y).sum::<f64>()).tanh(),
        Kernel::Polynomial => (gamma * pairs.map(|(x, y)| x * y).sum::<f64>()).powi(3),
    }
}

fn may_rise(alpha: f64, sign: f64, bound: f64) -> bool {
    if sign > 0.0 {
        alpha < bound
    } else {
        alpha > 0.0
    }
}

fn may_fall(alpha: f64, sign: f64, bound: f64) -> bool {
    if sign > 0.0 {
        alpha > 0.0
    } else {
        alpha < bound
    }
}

/// The pair that violates the optimum most, by the second order; none at the optimum.
fn choose_pair(
    alphas: &[f64],
    gradient: &[f64],
    signs: &[f64],
    bounds: &[f64],
    matrix: &[f64],
) -> Option<(usize, usize)> {
    let rows = alphas.len();
    let mut first = None;
    let mut most = f64::NEG_INFINITY;
    for row in 0..rows {
        let value = -signs[row] * gradient[row];
        if may_rise(alphas[row], signs[row], bounds[row]) && value > most {
            (first, most) = (Some(row), value);
        }
    }
    let first = first?;
    let (mut second, mut least, mut best) = (None, f64::INFINITY, 0.0);
    for row in 0..rows {
        if !may_fall(alphas[row], signs[row], bounds[row]) {
            continue;
        }
        let value = -signs[row] * gradient[row];
        least = f64::min(least, value);
        let difference = most - value;
        if difference > 0.0 {
            let gain = difference * difference / find_curvature(matrix, rows, first, row);
            if gain > best {
                (second, best) = (Some(row), gain);
            }
        }
    }
    if most - least < TOLERANCE {
        return None;
    }
    second.map(|second| (first, second))
}

fn find_curvature(matrix: &[f64], rows: usize, first: usize, second: usize) -> f64 {
    let found = matrix[first * rows + first] + matrix[second * rows + second]
        - 2.0 * matrix[first * rows + second];
    if found > 0.0 { found } else { LEAST_CURVATURE }
}

/// Moves two alphas along the constraint as far as is best and their bounds allow.
fn step(
    alphas: &mut [f64],
    gradient: &[f64],
    signs: &[f64],
    bounds: &[f64],
    matrix: &[f64],
    (first, second): (usize, usize),
) {
    let rows = alphas.len();
    let wanted = (-signs[first] * gradient[first] + signs[second] * gradient[second])
        / find_curvature(matrix, rows, first, second);
    // The sum of signs times alphas stays: the first moves by sign * length, the second by -sign * length.
    let room = |row: usize, rises: bool| {
        if rises {
            bounds[row] - alphas[row]
        } else {
            alphas[row]
        }
    };
    let first_room = room(first, signs[first] > 0.0);
    let second_room = room(second, signs[second] < 0.0);
    let length = wanted.min(first_room).min(second_room).max(0.0);
    let place = |alpha: f64, bound: f64, full: bool, rises: bool| match (full, rises) {
        (true, true) => bound,
        (true, false) => 0.0,
        (false, true) => (alpha + length).min(bound),
        (false, false) => (alpha - length).max(0.0),
    };
    alphas[first] = place(
        alphas[first],
        bounds[first],
        length >= first_room,
        signs[first] > 0.0,
    );
    alphas[second] = place(
        alphas[second],
        bounds[second],
        length >= second_room,
        signs[second] < 0.0,
    );
}

/// The mean over free vectors; without any, the middle of what the bound ones allow.
fn find_bias(alphas: &[f64], gradient: &[f64], signs: &[f64], bounds: &[f64]) -> f64 {
    let (mut sum, mut free) = (0.0, 0_u32);
    let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
    for row in 0..alphas.len() {
        let value = -signs[row] * gradient[row];
        if alphas[row] > 0.0 && alphas[row] < bounds[row] {
            sum += value;
            free += 1;
        }
        if may_rise(alphas[row], signs[row], bounds[row]) {
            low = f64::max(low, value);
        }
        if may_fall(alphas[row], signs[row], bounds[row]) {
            high = f64::min(high, value);
        }
    }
    if free > 0 {
        return sum / f64::from(free);
    }
    match (low.is_finite(), high.is_finite()) {
        (true, true) => f64::midpoint(low, high),
        (true, false) => low,
        (false, true) => high,
        (false, false) => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decide(machine: &Machine, cases: Cases<'_>, kernel: Kernel, gamma: f64, row: &[f64]) -> f64 {
        let sum: f64 = (0..cases.rows())
            .map(|other| {
                machine.coefficients[other] * compare(cases.row(other), row, kernel, gamma)
            })
            .sum();
        machine.bias + sum
    }

    #[test]
    fn two_points_have_the_boundary_between_them() {
        // K(x, x) = 1 and K(x, y) = e^-1: alpha = 1 / (1 - e^-1) without a bound that matters.
        let values = [0.0, 1.0];
        let labels = [false, true];
        let cases = Cases::new(&values, &labels, &[1.0, 1.0], 1).unwrap();
        let machine = fit(cases, Kernel::Rbf, 1.0, 100.0).unwrap();
        let alpha = 1.0 / (1.0 - (-1.0_f64).exp());
        assert!(machine.converged);
        assert!((machine.coefficients[1] - alpha).abs() < 1e-6);
        assert!((machine.coefficients[0] + alpha).abs() < 1e-6);
        assert!(machine.bias.abs() < 1e-9);
        assert!(decide(&machine, cases, Kernel::Rbf, 1.0, &[0.9]) > 0.0);
        assert!(decide(&machine, cases, Kernel::Rbf, 1.0, &[0.1]) < 0.0);
    }

    #[test]
    fn the_optimum_fulfils_the_conditions_of_karush_kuhn_and_tucker() {
        let rows = 60_u32;
        let values: Vec<f64> = (0..rows)
            .flat_map(|row| [f64::from(row % 10) / 10.0, f64::from(row * 7 % 13) / 13.0])
            .collect();
        let labels: Vec<bool> = (0..rows).map(|row| (row * row + row / 7) % 5 < 2).collect();
        let weights = vec![1.0; rows as usize];
        let cases = Cases::new(&values, &labels, &weights, 2).unwrap();
        for kernel in [Kernel::Rbf, Kernel::Polynomial] {
            let machine = fit(cases, kernel, 2.0, 1.0).unwrap();
            assert!(machine.converged);
            assert!(machine.coefficients.iter().sum::<f64>().abs() < 1e-9);
            for (row, &label) in labels.iter().enumerate() {
                let sign = if label { 1.0 } else { -1.0 };
                let margin = sign * decide(&machine, cases, kernel, 2.0, cases.row(row));
                let alpha = machine.coefficients[row] * sign;
                assert!((-1e-12..=1.0 + 1e-12).contains(&alpha));
                if alpha < 1e-9 {
                    assert!(margin > 1.0 - 2e-3);
                } else if alpha > 1.0 - 1e-9 {
                    assert!(margin < 1.0 + 2e-3);
                } else {
                    assert!((margin - 1.0).abs() < 2e-3);
                }
            }
        }
    }

    #[test]
    fn a_sigmoid_ends_although_it_is_no_kernel() {
        let values: Vec<f64> = (0..40).map(|row| f64::from(row) / 40.0).collect();
        let labels: Vec<bool> = (0..40).map(|row| row % 3 == 0).collect();
        let cases = Cases::new(&values, &labels, &[1.0; 40], 1).unwrap();
        let machine = fit(cases, Kernel::Sigmoid, 4.0, 1.0).unwrap();
        assert!(machine.bias.is_finite());
    }
}
