//! Columns of chosen rows: without their means, of length 1, in as few dimensions as they need.

/// Numbers by row and column, row after row.
#[derive(Clone, Copy, Debug)]
pub struct Table<'a> {
    values: &'a [f64],
    columns: usize,
}

impl<'a> Table<'a> {
    /// # Errors
    ///
    /// When there are more columns than a set can hold, or the numbers do not fill whole rows.
    pub fn new(values: &'a [f64], columns: usize) -> Result<Self, String> {
        if columns == 0 || columns > MOST_COLUMNS {
            return Err(format!(
                "{columns} predictors are not from 1 to {MOST_COLUMNS}"
            ));
        }
        if !values.len().is_multiple_of(columns) {
            return Err(format!(
                "{} numbers do not fill rows of {columns}",
                values.len()
            ));
        }
        Ok(Self { values, columns })
    }

    /// Number of columns.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.values.len() / self.columns
    }

    fn column(&self, column: usize, rows: &[usize]) -> Vec<f64> {
        rows.iter()
            .map(|row| self.values[row * self.columns + column])
            .collect()
    }
}

/// Most columns: a set of them is one word, and the response needs a number besides.
pub const MOST_COLUMNS: usize = 63;
/// The number of the response where it is not one of the columns.
pub(super) const RESPONSE: u8 = 63;
/// Squared length, of 1 at first, below which a column depends on those that were taken out of it.
pub(super) const DEPENDENT: f64 = 1e-16;
/// Spread below this share of the values is rounding.
const CONSTANT: f64 = 1e-13;

/// What a search is over. Distances between the columns are kept by the change of axes.
pub(super) struct Frame {
    /// Rows that were chosen.
    pub rows: usize,
    /// Length of each vector: rows - 1, or fewer where there are fewer vectors.
    pub dims: usize,
    /// Numbers of the columns that are not constant, ascending, then that of the response.
    pub names: Vec<u8>,
    /// Their vectors of length 1, one after the other; zeros for a constant response.
    pub vectors: Vec<f64>,
    /// Total sum of squares of each.
    pub totals: Vec<f64>,
}

impl Frame {
    pub(super) fn new(table: Table<'_>, response: Option<&[f64]>, rows: &[usize]) -> Self {
        let count = rows.len();
        let mut columns = Vec::with_capacity(table.columns + 1);
        for column in 0..table.columns {
            columns.push((column as u8, table.column(column, rows)));
        }
        if let Some(response) = response {
            columns.push((RESPONSE, rows.iter().map(|&row| response[row]).collect()));
        }
        let (mut names, mut kept, mut totals) = (vec![], vec![], vec![]);
        for (name, mut values) in columns {
            let total = centre(&mut values);
            if total > 0.0 || name == RESPONSE {
                names.push(name);
                kept.push(values);
                totals.push(total);
            }
        }
        let mut dims = count.saturating_sub(1);
        // The ones take the first axis, on which centred columns have nothing.
        let ones = vec![1.0; count];
        if let Some(mirror) = Mirror::new(&ones) {
            for vector in &mut kept {
                mirror.reflect(vector);
                vector.remove(0);
            }
        }
        if dims > kept.len() {
            triangulate(&mut kept);
            dims = kept.len();
            kept.iter_mut().for_each(|vector| vector.truncate(dims));
        }
        Self {
            rows: count,
            dims,
            names,
            vectors: kept.concat(),
            totals,
        }
    }

    /// Vector of a column.
    pub(super) fn vector(&self, position: usize) -> &[f64] {
        &self.vectors[position * self.dims..][..self.dims]
    }

    /// Number of columns that a subset can have: without the response.
    pub(super) fn candidates(&self) -> usize {
        self.names.len() - usize::from(self.names.last() == Some(&RESPONSE))
    }

    /// `start` and, in their order, columns that do not depend on those before them, up to `size` in all.
    pub(super) fn fill(&self, start: u64, size: usize) -> Option<u64> {
        let mut basis: Vec<f64> = vec![];
        let mut set = 0u64;
        for needed in [true, false] {
            for position in 0..self.candidates() {
                let bit = 1u64 << self.names[position];
                if set.count_ones() as usize == size
                    || set & bit != 0
                    || (start & bit != 0) != needed
                {
                    continue;
                }
                let mut rest = self.vector(position).to_vec();
                project_out(&basis, &mut rest);
                let length = dot(&rest, &rest);
                if length > DEPENDENT {
                    let scale = length.sqrt().recip();
                    rest.iter_mut().for_each(|r| *r *= scale);
                    basis.extend(rest);
                    set |= bit;
                }
            }
        }
        (set.count_ones() as usize == size).then_some(set)
    }

    /// Residual sum of squares of the column at one position, a share of its total, without those at others.
    ///
    /// None when these depend on each other.
    pub(super) fn measure(
        &self,
        response: usize,
        positions: impl Iterator<Item = usize>,
    ) -> Option<f64> {
        let mut basis: Vec<f64> = Vec::with_capacity(self.dims * self.dims);
        for position in positions {
            let start = basis.len();
            if start == self.dims * self.dims {
                return None;
            }
            basis.extend_from_slice(self.vector(position));
            let (before, rest) = basis.split_at_mut(start);
            project_out(before, rest);
            let length = dot(rest, rest);
            if length <= DEPENDENT {
                return None;
            }
            let scale = length.sqrt().recip();
            rest.iter_mut().for_each(|value| *value *= scale);
        }
        let mut rest = [0.0; MOST_COLUMNS + 1];
        let rest = &mut rest[..self.dims];
        rest.copy_from_slice(self.vector(response));
        project_out(&basis, rest);
        Some(dot(rest, rest))
    }

    /// The numbers of columns at some positions.
    pub(super) fn name_set(&self, positions: u64) -> u64 {
        (0..self.names.len())
            .filter(|position| positions >> position & 1 == 1)
            .fold(0, |set, position| set | 1 << self.names[position])
    }
}

pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Twice: once leaves what rounding leaves of a nearly dependent column.
fn project_out(basis: &[f64], vector: &mut [f64]) {
    for _ in 0..2 {
        for axis in basis.chunks_exact(vector.len().max(1)) {
            let along = dot(axis, vector);
            vector
                .iter_mut()
                .zip(axis)
                .for_each(|(value, entry)| *value -= along * entry);
        }
    }
}

/// Take the mean away and make the length 1; the sum of squares before that, 0 and zeros for a constant.
fn centre(values: &mut [f64]) -> f64 {
    let count = values.len() as f64;
    let largest = values
        .iter()
        .fold(0.0f64, |most, value| most.max(value.abs()));
    if largest == 0.0 {
        return 0.0;
    }
    values.iter_mut().for_each(|value| *value /= largest);
    // The second pass takes what rounding left of a mean far from zero.
    for _ in 0..2 {
        let mean = values.iter().sum::<f64>() / count;
        values.iter_mut().for_each(|value| *value -= mean);
    }
    let length = dot(values, values).sqrt();
    if length <= CONSTANT * count.sqrt() {
        values.fill(0.0);
        return 0.0;
    }
    values.iter_mut().for_each(|value| *value /= length);
    (length * largest).powi(2)
}

/// A reflection that lays one vector on the first axis (Householder).
struct Mirror {
    normal: Vec<f64>,
    scale: f64,
}

impl Mirror {
    fn new(vector: &[f64]) -> Option<Self> {
        let length = dot(vector, vector).sqrt();
        if length == 0.0 {
            return None;
        }
        let mut normal = vector.to_vec();
        normal[0] += length.copysign(vector[0]);
        Some(Self {
            scale: (length * (length + vector[0].abs())).recip(),
            normal,
        })
    }

    fn reflect(&self, vector: &mut [f64]) {
        let along = dot(&self.normal, vector) * self.scale;
        vector
            .iter_mut()
            .zip(&self.normal)
            .for_each(|(value, n)| *value -= along * n);
    }
}

/// Turn vectors so that number i needs the first i + 1 axes only.
fn triangulate(vectors: &mut [Vec<f64>]) {
    for at in 0..vectors.len() {
        if let Some(mirror) = Mirror::new(&vectors[at][at..]) {
            vectors[at..]
                .iter_mut()
                .for_each(|vector| mirror.reflect(&mut vector[at..]));
        }
    }
}
