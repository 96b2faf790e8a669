//! What was noted of a function.

/// Which functions, data and imports were noted of the function that is read.
pub(super) struct Known {
    /// The last function that noted each, from 1 on.
    by: Vec<u32>,
    /// How many were noted.
    pub(super) count: usize,
}

impl Known {
    /// None of so many yet.
    pub(super) fn new(places: usize) -> Self {
        Self {
            by: vec![0; places],
            count: 0,
        }
    }

    /// Whether it is noted for the first time.
    #[inline(always)]
    pub(super) fn is_new(&mut self, place: usize, function: usize) -> bool {
        let function = function as u32 + 1;
        let is_new = self.by[place] != function;
        self.by[place] = function;
        self.count += usize::from(is_new);
        is_new
    }
}
