//! What checks of a linear model's assumptions need of its residuals, in one pass.

use rayon::prelude::*;

/// Sums over residuals e in their sequence, in units of `scale`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ResidualSums {
    /// Σe².
    pub second: f64,
    /// Σe³.
    pub third: f64,
    /// Σe⁴.
    pub fourth: f64,
    /// The largest e².
    pub largest: f64,
    /// Σ of products of neighbours.
    pub neighbours: f64,
    /// Σ of squared differences of neighbours.
    pub steps: f64,
    /// Σ of e times what the model leaves of its position.
    pub trend: f64,
    /// Σ of squares of what the model leaves of the positions.
    pub room: f64,
}

impl ResidualSums {
    fn join(self, other: Self) -> Self {
        Self {
            second: self.second + other.second,
            third: self.third + other.third,
            fourth: self.fourth + other.fourth,
            largest: self.largest.max(other.largest),
            neighbours: self.neighbours + other.neighbours,
            steps: self.steps + other.steps,
            trend: self.trend + other.trend,
            room: self.room + other.room,
        }
    }
}

/// Rows that one thread takes at a time. Fixed, so that sums are the same for any number of threads.
const ROWS_AT_A_TIME: usize = 1 << 16;

/// Mean position of the rows of each cell, counted from the middle of all; zero in an empty cell.
///
/// # Panics
/// When a cell number is not below `cells`.
pub fn mean_positions(cell_of_row: &[u32], cells: usize) -> Vec<f64> {
    let middle = (cell_of_row.len() as f64 - 1.0) / 2.0;
    let (mut sums, mut counts) = (vec![0.0; cells], vec![0.0; cells]);
    for (row, &cell) in cell_of_row.iter().enumerate() {
        sums[cell as usize] += row as f64 - middle;
        counts[cell as usize] += 1.0;
    }
    sums.iter()
        .zip(&counts)
        .map(|(sum, count)| if *count > 0.0 { sum / count } else { 0.0 })
        .collect()
}

/// Sums over `values - fitted`, where `fitted` and `positions` (what the model makes of a row's
/// position, counted from the middle) are by cell.
///
/// # Panics
/// When the slices do not fit each other.
pub fn sum_residuals(
    values: &[f64],
    cell_of_row: &[u32],
    fitted: &[f64],
    positions: &[f64],
    scale: f64,
) -> ResidualSums {
    assert_eq!(cell_of_row.len(), values.len(), "one cell for each value");
    assert_eq!(fitted.len(), positions.len(), "as many cells");
    let middle = (values.len() as f64 - 1.0) / 2.0;
    let inverse = 1.0 / scale;
    let residual = |row: usize| (values[row] - fitted[cell_of_row[row] as usize]) * inverse;
    let parts: Vec<ResidualSums> = (0..values.len().div_ceil(ROWS_AT_A_TIME))
        .into_par_iter()
        .map(|part| {
            let start = part * ROWS_AT_A_TIME;
            let end = values.len().min(start + ROWS_AT_A_TIME);
            let mut sums = ResidualSums::default();
            // The first residual of all has no neighbour before it: compared with itself it adds nothing.
            let mut last = residual(start.saturating_sub(1));
            let mut linked = if start > 0 { 1.0 } else { 0.0 };
            for row in start..end {
                let e = residual(row);
                let square = e * e;
                sums.second += square;
                sums.third += square * e;
                sums.fourth += square * square;
                sums.largest = sums.largest.max(square);
                sums.neighbours += linked * e * last;
                sums.steps += (e - last) * (e - last);
                let left = row as f64 - middle - positions[cell_of_row[row] as usize];
                sums.trend += left * e;
                sums.room += left * left;
                last = e;
                linked = 1.0;
            }
            sums
        })
        .collect();
    parts
        .into_iter()
        .fold(ResidualSums::default(), ResidualSums::join)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_of_the_definition() {
        let (values, cells) = ([1.0, 5.0, 4.0, 9.0], [0, 1, 0, 1]);
        let positions = mean_positions(&cells, 3);
        assert_eq!(positions, [-0.5, 0.5, 0.0]);
        let sums = sum_residuals(&values, &cells, &[2.0, 7.0, 0.0], &positions, 1.0);
        // Residuals -1, -2, 2, 2; what the cells leave of the positions -1, -1, 1, 1.
        assert_eq!(sums.second, 13.0);
        assert_eq!(sums.third, -1.0 - 8.0 + 8.0 + 8.0);
        assert_eq!(sums.fourth, 49.0);
        assert_eq!(sums.largest, 4.0);
        assert_eq!(sums.neighbours, 2.0 - 4.0 + 4.0);
        assert_eq!(sums.steps, 1.0 + 16.0);
        assert_eq!(sums.trend, 1.0 + 2.0 + 2.0 + 2.0);
        assert_eq!(sums.room, 4.0);
    }

    #[test]
    fn neighbours_meet_across_the_parts_of_threads() {
        let n = ROWS_AT_A_TIME + 2;
        let values: Vec<f64> = (0..n)
            .map(|row| if row % 2 == 0 { 1.0 } else { -1.0 })
            .collect();
        let sums = sum_residuals(&values, &vec![0; n], &[0.0], &[0.0], 1.0);
        assert_eq!(sums.neighbours, -(n as f64 - 1.0));
        assert_eq!(sums.steps, 4.0 * (n as f64 - 1.0));
    }
}
