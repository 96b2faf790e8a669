//! Sorted lists, one for each cell, with counts: all that the walk over vertices sees of the data.

/// The values of K cells, ascending within each, and how much lies below each of them.
///
/// A list may leave out what lies below it and above it: `before` counts it nonetheless.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lists<'a> {
    /// Values of all cells, one after the other.
    pub values: &'a [f64],
    /// Where each cell's list starts and ends (K).
    pub spans: &'a [(usize, usize)],
    /// Weight below the first value of each cell (K); zeros when the lists are whole.
    pub below: &'a [f64],
    /// Weight of the listed values before each value and after the last, and where each cell's begin in
    /// there (K); without, each value weighs 1.
    pub cumulative: Option<(&'a [f64], &'a [usize])>,
    /// Weight of each cell (K), also of what the list leaves out.
    pub totals: &'a [f64],
}

impl<'a> Lists<'a> {
    pub(crate) fn cells(&self) -> usize {
        self.totals.len()
    }

    #[inline]
    pub(crate) fn cell(&self, cell: usize) -> &'a [f64] {
        let (from, to) = self.spans[cell];
        &self.values[from..to]
    }

    /// Weight of all observations of the cell before place `index` of its list.
    #[inline]
    pub(crate) fn before(&self, cell: usize, index: usize) -> f64 {
        self.below[cell]
            + match self.cumulative {
                None => index as f64,
                Some((cumulative, begins)) => cumulative[begins[cell] + index],
            }
    }

    /// First place of the cell's list that the quantile's target does not lie beyond (left-continuous inverse).
    pub(crate) fn place_of(&self, cell: usize, target: f64) -> usize {
        let (from, to) = self.spans[cell];
        let length = to - from;
        let needed = match self.cumulative {
            None => target,
            // Sums of weights carry rounding.
            Some(_) => target - super::order::RANK_TOLERANCE * self.totals[cell],
        };
        let (mut low, mut high) = (0, length.saturating_sub(1));
        while low < high {
            let middle = low + (high - low) / 2;
            if self.before(cell, middle + 1) >= needed {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        low
    }
}
