//! Counts, means and squares within the cells of a factorial design.

use rayon::prelude::*;

/// What least squares needs of one cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CellMoments {
    /// Number of observations.
    pub count: u64,
    /// Mean of the observations' deviations from the origin.
    pub mean: f64,
    /// Sum of squares about the cell's mean.
    pub within_ss: f64,
    /// Smallest deviation from the origin; infinity in an empty cell.
    pub min: f64,
    /// Largest deviation from the origin; minus infinity in an empty cell.
    pub max: f64,
}

impl CellMoments {
    const EMPTY: Self = Self {
        count: 0,
        mean: 0.0,
        within_ss: 0.0,
        min: f64::INFINITY,
        max: f64::NEG_INFINITY,
    };

    /// Corrects what rounding of the mean left, given the sum of the residuals about it.
    fn correct(&mut self, rest: f64) {
        if self.count > 0 {
            let correction = rest / self.count as f64;
            self.mean += correction;
            self.within_ss = (self.within_ss - rest * correction).max(0.0);
        }
    }

    /// Joins the moments of two parts of a cell (Chan, Golub and LeVeque 1979).
    fn join(self, other: Self) -> Self {
        if self.count == 0 {
            return other;
        }
        if other.count == 0 {
            return self;
        }
        let (n, m) = (self.count as f64, other.count as f64);
        let gap = other.mean - self.mean;
        Self {
            count: self.count + other.count,
            mean: self.mean + gap * (m / (n + m)),
            within_ss: self.within_ss + other.within_ss + gap * gap * (n * m / (n + m)),
            min: self.min.min(other.min),
            max: self.max.max(other.max),
        }
    }
}

/// Rows that are summed one after the other. Fixed, so that sums are the same for any number of threads.
const ROWS_AT_A_TIME: usize = 1 << 16;
/// Such parts that one thread sums side by side: the additions of one would wait for each other.
const SIDE_BY_SIDE: usize = 4;

/// The largest of the cell numbers; 0 where there are none.
pub fn find_largest(cell_of_row: &[u32]) -> u32 {
    // Folded, unlike `max`, this takes several numbers at a time.
    (cell_of_row.par_chunks(ROWS_AT_A_TIME))
        .map(|rows| rows.iter().copied().fold(0, u32::max))
        .max()
        .unwrap_or(0)
}

/// Gathers the moments of `values - origin` by cell; `cell_of_row` holds numbers below `cells`.
///
/// # Panics
/// When the slices differ in length or a cell number is not below `cells`.
pub fn gather_moments(
    cell_of_row: &[u32],
    values: &[f64],
    cells: usize,
    origin: f64,
) -> Vec<CellMoments> {
    assert_eq!(cell_of_row.len(), values.len(), "one cell for each value");
    let parts: Vec<Vec<CellMoments>> = if cells == 1 {
        values
            .par_chunks(SIDE_BY_SIDE * ROWS_AT_A_TIME)
            .flat_map_iter(|values| gather_one_cell(values, origin))
            .map(|moments| vec![moments])
            .collect()
    } else {
        cell_of_row
            .par_chunks(ROWS_AT_A_TIME)
            .zip(values.par_chunks(ROWS_AT_A_TIME))
            .map(|(rows, values)| gather_part(rows, values, cells, origin))
            .collect()
    };
    let mut moments = vec![CellMoments::EMPTY; cells];
    for part in parts {
        for (all, one) in moments.iter_mut().zip(part) {
            *all = all.join(one);
        }
    }
    moments
}

/// Two passes over a part that fits the cache: the mean first, then squares about it.
fn gather_part(cell_of_row: &[u32], values: &[f64], cells: usize, origin: f64) -> Vec<CellMoments> {
    let mut moments = vec![CellMoments::EMPTY; cells];
    for (&cell, &value) in cell_of_row.iter().zip(values) {
        let moment = &mut moments[cell as usize];
        let deviation = value - origin;
        moment.count += 1;
        moment.mean += deviation;
        moment.min = moment.min.min(deviation);
        moment.max = moment.max.max(deviation);
    }
    for moment in &mut moments {
        if moment.count > 0 {
            moment.mean /= moment.count as f64;
        }
    }
    let mut rest = vec![0.0; cells];
    for (&cell, &value) in cell_of_row.iter().zip(values) {
        let moment = &mut moments[cell as usize];
        let residual = value - origin - moment.mean;
        moment.within_ss += residual * residual;
        rest[cell as usize] += residual;
    }
    for (moment, rest) in moments.iter_mut().zip(rest) {
        moment.correct(rest);
    }
    moments
}

/// The same for each part of the values, all of which are of one cell.
fn gather_one_cell(values: &[f64], origin: f64) -> Vec<CellMoments> {
    let parts: Vec<&[f64]> = values.chunks(ROWS_AT_A_TIME).collect();
    match <[&[f64]; SIDE_BY_SIDE]>::try_from(&parts[..]) {
        Ok(parts) if parts[SIDE_BY_SIDE - 1].len() == ROWS_AT_A_TIME => {
            gather_side_by_side(parts, origin).to_vec()
        }
        _ => (parts.into_iter())
            .flat_map(|part| gather_side_by_side([part], origin))
            .collect(),
    }
}

/// Smallest and largest deviation from the origin, and no other moment.
fn find_extremes(values: &[f64], origin: f64) -> CellMoments {
    let (mut lows, mut highs) = ([f64::INFINITY; 8], [f64::NEG_INFINITY; 8]);
    let (groups, rest) = values.as_chunks::<8>();
    // Comparisons, unlike `min`, take one instruction for several numbers.
    for group in groups {
        for lane in 0..8 {
            let deviation = group[lane] - origin;
            lows[lane] = if deviation < lows[lane] {
                deviation
            } else {
                lows[lane]
            };
            highs[lane] = if deviation > highs[lane] {
                deviation
            } else {
                highs[lane]
            };
        }
    }
    let rest = rest.iter().map(|value| value - origin);
    CellMoments {
        min: lows
            .into_iter()
            .chain(rest.clone())
            .fold(f64::INFINITY, f64::min),
        max: highs
            .into_iter()
            .chain(rest)
            .fold(f64::NEG_INFINITY, f64::max),
        ..CellMoments::EMPTY
    }
}

/// Two passes over parts that are equally long, each of which is summed in the order of its values.
fn gather_side_by_side<const PARTS: usize>(
    parts: [&[f64]; PARTS],
    origin: f64,
) -> [CellMoments; PARTS] {
    let count = parts[0].len();
    let parts = parts.map(|part| &part[..count]);
    let mut moments = parts.map(|part| find_extremes(part, origin));
    for row in 0..count {
        for (moment, part) in moments.iter_mut().zip(&parts) {
            moment.mean += part[row] - origin;
        }
    }
    for moment in &mut moments {
        moment.count = count as u64;
        moment.mean /= count as f64;
    }
    let mut rests = [0.0; PARTS];
    for row in 0..count {
        for ((moment, rest), part) in moments.iter_mut().zip(&mut rests).zip(&parts) {
            let residual = part[row] - origin - moment.mean;
            moment.within_ss += residual * residual;
            *rest += residual;
        }
    }
    for (moment, rest) in moments.iter_mut().zip(rests) {
        moment.correct(rest);
    }
    moments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_of_two_cells_are_those_of_their_values() {
        let moments = gather_moments(&[0, 1, 0, 1, 0], &[1.0, 10.0, 2.0, 14.0, 6.0], 3, 0.0);
        assert_eq!(moments[0].count, 3);
        assert_eq!(moments[0].mean, 3.0);
        assert_eq!(moments[0].within_ss, 14.0);
        assert_eq!((moments[1].min, moments[1].max), (10.0, 14.0));
        assert_eq!(moments[2].count, 0);
    }

    #[test]
    fn one_cell_has_the_bits_that_it_has_among_others() {
        for n in [
            1,
            1000,
            3 * ROWS_AT_A_TIME,
            SIDE_BY_SIDE * ROWS_AT_A_TIME + 77,
        ] {
            let values: Vec<f64> = (0..n).map(|row| (row as f64 * 0.37).sin()).collect();
            let cells = vec![0; n];
            let alone = gather_moments(&cells, &values, 1, 0.25);
            assert_eq!(
                alone[0],
                gather_moments(&cells, &values, 2, 0.25)[0],
                "{n} rows"
            );
        }
    }

    #[test]
    fn a_large_offset_costs_no_digits() {
        let values: Vec<f64> = (0..200_000).map(|i| 1e12 + f64::from(i % 3)).collect();
        let cells = vec![0; values.len()];
        let moments = gather_moments(&cells, &values, 1, 1e12);
        let n = values.len() as f64;
        let thirds = [66667.0, 66667.0, 66666.0];
        let mean = (thirds[1] + 2.0 * thirds[2]) / n;
        let squares = thirds[1] + 4.0 * thirds[2] - n * mean * mean;
        assert!((moments[0].mean - mean).abs() < 1e-15);
        assert!((moments[0].within_ss / squares - 1.0).abs() < 1e-12);
    }
}
