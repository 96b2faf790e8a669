//! The design over cells as the walk needs it, and bases of its rows.

use std::ops::Deref;

use crate::quantile::sorting::Lists;

/// Below this share of its row's size, what is left of a row after elimination is rounding.
const RANK_SHARE: f64 = 1e-9;
/// Rows that are nearly combinations of others are taken into a basis only when nothing better is left.
const GOOD_SHARE: f64 = 1e-2;

/// Data and design.
pub(crate) struct Model<'a> {
    shape: &'a Shape,
    pub lists: Lists<'a>,
    /// Subtracted from every value, so that a large common offset costs no digits; 0 when it would not help.
    pub origin: f64,
}

/// The design: K cells, p columns scaled by powers of two so that none dwarfs another.
pub(crate) struct Shape {
    pub parameters: usize,
    design: Vec<f64>,
    scales: Vec<f64>,
    /// Cells with data, ascending.
    pub occupied: Vec<usize>,
    /// Coefficients of the constant 1, when the design can express it.
    constant: Option<Vec<f64>>,
    /// Sum over cells of weight times row, and the same of absolute values.
    pub weighted_rows: Vec<f64>,
    pub sizes: Vec<f64>,
}

impl Deref for Model<'_> {
    type Target = Shape;

    fn deref(&self) -> &Shape {
        self.shape
    }
}

impl<'a> Model<'a> {
    pub(crate) fn new(shape: &'a Shape, lists: Lists<'a>) -> Self {
        let origin = shape.choose_origin(&lists);
        Self {
            shape,
            lists,
            origin,
        }
    }

    /// The value at a place of a cell's list, less the origin.
    #[inline]
    pub(crate) fn value(&self, cell: usize, place: usize) -> f64 {
        self.lists.values[self.lists.spans[cell].0 + place] - self.origin
    }
}

impl Shape {
    /// None when the columns are not linearly independent over the cells of positive weight.
    pub(crate) fn new(totals: &[f64], design: &[f64], parameters: usize) -> Option<Self> {
        let p = parameters;
        let occupied: Vec<usize> = (0..totals.len())
            .filter(|&cell| totals[cell] > 0.0)
            .collect();
        let mut largest = vec![0.0f64; p];
        for &cell in &occupied {
            for (most, x) in largest.iter_mut().zip(&design[cell * p..][..p]) {
                *most = most.max(x.abs());
            }
        }
        if largest
            .iter()
            .any(|&most| !(most > 0.0 && most.is_finite()))
        {
            return None;
        }
        let scales: Vec<f64> = (largest.iter())
            .map(|most| 2f64.powi(-(most.log2().floor() as i32)))
            .collect();
        let scaled = (design.iter().enumerate())
            .map(|(index, x)| x * scales[index % p])
            .collect();
        let mut shape = Self {
            parameters,
            design: scaled,
            scales,
            occupied,
            constant: None,
            weighted_rows: vec![0.0; p],
            sizes: vec![0.0; p],
        };
        for &cell in &shape.occupied {
            for column in 0..p {
                let x = shape.design[cell * p + column] * totals[cell];
                shape.weighted_rows[column] += x;
                shape.sizes[column] += x.abs();
            }
        }
        let basis = shape.choose_basis(shape.occupied.iter().copied())?;
        shape.constant = shape.express_constant(&basis);
        Some(shape)
    }

    #[inline]
    pub(crate) fn row(&self, cell: usize) -> &[f64] {
        &self.design[cell * self.parameters..][..self.parameters]
    }

    /// Coefficients of the caller's columns, from those of scaled columns for values less the origin.
    pub(crate) fn unscale(&self, beta: &[f64], origin: f64) -> Vec<f64> {
        let offset = |column: usize| match &self.constant {
            Some(constant) if origin != 0.0 => constant[column] * origin,
            _ => 0.0,
        };
        (0..self.parameters)
            .map(|column| (beta[column] + offset(column)) * self.scales[column])
            .collect()
    }

    /// The first p rows, in the order given, that are linearly independent.
    pub(crate) fn choose_basis(
        &self,
        candidates: impl Iterator<Item = usize> + Clone,
    ) -> Option<Vec<usize>> {
        let p = self.parameters;
        let mut chosen = Vec::with_capacity(p);
        let mut reduced: Vec<(usize, Vec<f64>)> = Vec::with_capacity(p);
        let mut taken = vec![false; self.design.len() / p];
        for share in [GOOD_SHARE, RANK_SHARE] {
            for cell in candidates.clone() {
                if chosen.len() == p {
                    break;
                }
                if taken[cell] {
                    continue;
                }
                let mut row = self.row(cell).to_vec();
                let size = row.iter().fold(0.0f64, |most, x| most.max(x.abs()));
                for (pivot, earlier) in &reduced {
                    let factor = row[*pivot] / earlier[*pivot];
                    if factor != 0.0 {
                        for (x, e) in row.iter_mut().zip(earlier) {
                            *x -= factor * e;
                        }
                    }
                    row[*pivot] = 0.0;
                }
                let (pivot, left) = (row.iter().enumerate()).fold((0, 0.0f64), |best, (at, x)| {
                    if x.abs() > best.1 {
                        (at, x.abs())
                    } else {
                        best
                    }
                });
                if left > share * size {
                    taken[cell] = true;
                    chosen.push(cell);
                    reduced.push((pivot, row));
                }
            }
        }
        (chosen.len() == p).then_some(chosen)
    }

    /// Inverse of the rows of the basis' cells, by columns: column k belongs to the k-th cell.
    pub(crate) fn invert(&self, cells: &[usize]) -> Option<Vec<f64>> {
        let p = self.parameters;
        let mut left: Vec<Vec<f64>> = cells.iter().map(|&cell| self.row(cell).to_vec()).collect();
        let mut right: Vec<Vec<f64>> = (0..p)
            .map(|row| {
                (0..p)
                    .map(|column| f64::from(u8::from(row == column)))
                    .collect()
            })
            .collect();
        for column in 0..p {
            let pivot = (column..p).max_by(|&one, &other| {
                left[one][column]
                    .abs()
                    .total_cmp(&left[other][column].abs())
            })?;
            left.swap(column, pivot);
            right.swap(column, pivot);
            let head = left[column][column];
            if head == 0.0 || !head.is_finite() {
                return None;
            }
            for x in left[column].iter_mut().chain(right[column].iter_mut()) {
                *x /= head;
            }
            let (own_left, own_right) = (left[column].clone(), right[column].clone());
            for row in (0..p).filter(|&row| row != column) {
                let factor = left[row][column];
                if factor != 0.0 {
                    for (x, own) in left[row].iter_mut().zip(&own_left) {
                        *x -= factor * own;
                    }
                    for (x, own) in right[row].iter_mut().zip(&own_right) {
                        *x -= factor * own;
                    }
                }
            }
        }
        let mut inverse = vec![0.0; p * p];
        for (row, values) in right.iter().enumerate() {
            for (column, &value) in values.iter().enumerate() {
                inverse[column * p + row] = value;
            }
        }
        Some(inverse)
    }

    fn express_constant(&self, basis: &[usize]) -> Option<Vec<f64>> {
        let p = self.parameters;
        let is_one = |coefficients: &[f64]| {
            self.occupied
                .iter()
                .all(|&cell| (dot(self.row(cell), coefficients) - 1.0).abs() <= 1e-9)
        };
        // A column of ones is expressed exactly.
        for column in 0..p {
            let mut unit = vec![0.0; p];
            unit[column] = 1.0 / self.row(basis[0])[column];
            if unit[column].is_finite() && is_one(&unit) {
                return Some(unit);
            }
        }
        let inverse = self.invert(basis)?;
        let sum: Vec<f64> = (0..p)
            .map(|row| (0..p).map(|column| inverse[column * p + row]).sum())
            .collect();
        is_one(&sum).then_some(sum)
    }

    /// A value amid the data when all of them lie far from zero compared with their spread.
    fn choose_origin(&self, lists: &Lists<'_>) -> f64 {
        let firsts = |cell: &usize| lists.cell(*cell).first().copied();
        let lasts = |cell: &usize| lists.cell(*cell).last().copied();
        let mut middles: Vec<f64> = (self.occupied.iter())
            .filter_map(|&cell| lists.cell(cell).get(lists.cell(cell).len() / 2).copied())
            .collect();
        middles.sort_unstable_by(f64::total_cmp);
        let low = self
            .occupied
            .iter()
            .filter_map(firsts)
            .fold(f64::INFINITY, f64::min);
        let high = self
            .occupied
            .iter()
            .filter_map(lasts)
            .fold(f64::NEG_INFINITY, f64::max);
        match middles.get(middles.len() / 2) {
            Some(&middle) if self.helps_to_subtract(low, high) => middle,
            _ => 0.0,
        }
    }

    /// Whether differences of values from `low` to `high` are exact, and the design can put back what was subtracted.
    pub(crate) fn helps_to_subtract(&self, low: f64, high: f64) -> bool {
        // Differences of doubles of one sign within a factor of two of each other (Sterbenz 1974).
        self.constant.is_some()
            && (low > 0.0 || high < 0.0)
            && low.abs().min(high.abs()) * 2.0 >= low.abs().max(high.abs())
    }
}

#[inline]
pub(crate) fn dot(one: &[f64], other: &[f64]) -> f64 {
    sum_products(one, other, |product| product)
}

#[inline]
pub(crate) fn dot_sizes(one: &[f64], other: &[f64]) -> f64 {
    sum_products(one, other, f64::abs)
}

/// Several sums at a time, always the same ones: one sum would wait for each addition.
#[inline(always)]
fn sum_products(one: &[f64], other: &[f64], of: impl Fn(f64) -> f64) -> f64 {
    let (chunks, others) = (one.chunks_exact(8), other.chunks_exact(8));
    let rest: f64 = (chunks.remainder().iter().zip(others.remainder()))
        .map(|(x, y)| of(x * y))
        .sum();
    let mut lanes = [0.0; 8];
    for (chunk, other) in chunks.zip(others) {
        for (lane, (x, y)) in lanes.iter_mut().zip(chunk.iter().zip(other)) {
            *lane += of(x * y);
        }
    }
    lanes.iter().sum::<f64>() + rest
}
