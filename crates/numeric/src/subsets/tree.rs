//! All subsets, one column after the other, for one response or for many at once.
//!
//! A node of the tree is a subset; its children add one of the columns behind its last. What it keeps is what is
//! left of all vectors once the subset is taken out of them: the residual sum of squares of a response is the
//! squared length of its vector, found without a difference, so that a nearly exact fit is not lost in rounding.
//! A child has one dimension less: where rows are few, most subsets are near the end of the tree and cost little.
//!
//! The search does not depend on responses: any number of them is scored on the way. Where all columns are
//! responses in turn, a subset scores all columns that it does not have.

use std::ops::Range;

use super::aims::Hunt;
use super::frame::{Frame, RESPONSE};
use super::level::{Four, Lanes, Level, STRIDE, WIDE};

/// A search of subsets of at most `largest` columns.
pub(super) struct Tree<'a> {
    levels: Vec<Level>,
    largest: usize,
    /// Whether each column is a response; otherwise there is one, in the last lane.
    each: bool,
    /// By number of the column; one alone for one response.
    hunts: &'a mut [Hunt],
    /// The hunts' limits, by size and number of the response.
    limits: Vec<[f64; 64]>,
}

impl<'a> Tree<'a> {
    /// `largest` is below the dimensions of the frame, and `order` has all candidates.
    pub(super) fn new(
        frame: &Frame,
        order: &[usize],
        largest: usize,
        hunts: &'a mut [Hunt],
    ) -> Self {
        let root = Level::of_frame(frame, order);
        let each = root.candidates == root.count;
        let mut levels = vec![root];
        levels.extend((1..largest).map(|size| Level::new(frame.dims - size)));
        let limits = vec![[-1.0; 64]; largest + 1];
        let mut tree = Self {
            levels,
            largest,
            each,
            hunts,
            limits,
        };
        (0..tree.hunts.len()).for_each(|hunt| tree.renew_limits(hunt));
        tree
    }

    /// Offer all subsets that matter to the hunts.
    pub(super) fn search(&mut self) {
        self.score(0, 0);
        if self.largest == 0 {
            return;
        }
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor was asked.
            return unsafe { self.walk_wide(0, 0) };
        }
        self.walk(0, 0);
    }

    fn walk(&mut self, size: usize, set: u64) {
        if size + 1 == self.largest {
            return self.finish(size, set);
        }
        for lane in 0..self.levels[size].candidates {
            if let Some(set) = self.step(size, set, lane) {
                self.walk(size + 1, set);
            }
        }
    }

    /// The same steps with wider registers, and the same results.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn walk_wide(&mut self, size: usize, set: u64) {
        if size + 1 == self.largest {
            return self.finish(size, set);
        }
        for lane in 0..self.levels[size].candidates {
            if let Some(set) = self.step(size, set, lane) {
                self.walk_wide(size + 1, set);
            }
        }
    }

    /// Add a candidate to a subset; nothing for one that depends on it.
    #[inline(always)]
    fn step(&mut self, size: usize, set: u64, lane: usize) -> Option<u64> {
        let (above, below) = self.levels.split_at_mut(size + 1);
        let (node, child) = (&above[size], &mut below[0]);
        if node.depends(lane) {
            return None;
        }
        node.take_out(lane, self.each, child);
        let set = set | 1 << node.names[lane];
        self.score(size + 1, set);
        Some(set)
    }

    fn renew_limits(&mut self, hunt: usize) {
        let name = if self.each {
            hunt
        } else {
            usize::from(RESPONSE)
        };
        for (limits, limit) in self.limits.iter_mut().zip(&self.hunts[hunt].limits) {
            limits[name] = *limit;
        }
    }

    #[cold]
    fn offer(&mut self, name: u8, size: usize, rss: f64, set: u64) {
        let hunt = if self.each { usize::from(name) } else { 0 };
        self.hunts[hunt].offer(size, rss, set);
        self.renew_limits(hunt);
    }

    /// Score what is left of the responses.
    #[inline(always)]
    fn score(&mut self, size: usize, set: u64) {
        let node = &self.levels[size];
        let first = if self.each { 0 } else { node.count - 1 };
        let limits = &self.limits[size];
        let mut near = false;
        for (square, name) in node.squares[first..node.count]
            .iter()
            .zip(&node.names[first..node.count])
        {
            near |= *square <= limits[usize::from(*name & 63)];
        }
        if near {
            self.score_each(first, size, set);
        }
    }

    #[cold]
    fn score_each(&mut self, first: usize, size: usize, set: u64) {
        for lane in first..self.levels[size].count {
            let (name, rss) = (
                self.levels[size].names[lane],
                self.levels[size].squares[lane],
            );
            if rss <= self.limits[size][usize::from(name)] {
                self.offer(name, size, rss, set);
            }
        }
    }

    /// Score the children of a subset that may have one column more, without making them.
    #[inline(always)]
    fn finish(&mut self, size: usize, set: u64) {
        match (self.each, self.levels[size].dims) {
            (true, 2) => self.finish_each::<2, 2>(size, set),
            (true, 3) => self.finish_each::<3, 3>(size, set),
            (true, _) => self.finish_each::<0, 64>(size, set),
            (false, 2) => self.finish_one::<2, 2>(size, set),
            (false, 3) => self.finish_one::<3, 3>(size, set),
            (false, _) => self.finish_one::<0, 64>(size, set),
        }
    }

    /// For each candidate all other columns as responses, four at a time.
    #[inline(always)]
    fn finish_each<const D: usize, const N: usize>(&mut self, size: usize, set: u64) {
        let count = self.levels[size].count.min(64);
        let mut limits = [-1.0; STRIDE];
        let table = &self.limits[size + 1];
        for (limit, name) in limits.iter_mut().zip(&self.levels[size].names[..count]) {
            *limit = table[usize::from(*name & 63)];
        }
        for candidate in 0..self.levels[size].candidates {
            let node = &self.levels[size];
            if node.depends(candidate) {
                continue;
            }
            let own = std::mem::replace(&mut limits[candidate & 63], -1.0);
            let one = Vector::<D, N>::of(node, candidate);
            let mut nearest = Four([f64::INFINITY; WIDE]);
            let mut lane = 0;
            while lane < count {
                nearest = one.exceed(node, lane, Four::at(&limits, lane)).min(nearest);
                lane += WIDE;
            }
            if nearest.0.iter().any(|excess| *excess <= 0.0) {
                self.offer_each(size, set, candidate, &mut limits);
            }
            limits[candidate & 63] = own;
        }
    }

    #[cold]
    fn offer_each(&mut self, size: usize, set: u64, candidate: usize, limits: &mut Lanes) {
        let set = set | 1 << self.levels[size].names[candidate];
        let count = self.levels[size].count;
        for (lane, limit) in limits.iter_mut().enumerate().take(count) {
            let name = self.levels[size].names[lane];
            if lane == candidate || *limit < 0.0 {
                continue;
            }
            let rss = self.levels[size].square_without(lane, candidate);
            if rss <= *limit {
                self.offer(name, size + 1, rss, set);
                *limit = self.limits[size + 1][usize::from(name)];
            }
        }
    }

    /// All candidates for the one response, four at a time.
    #[inline(always)]
    fn finish_one<const D: usize, const N: usize>(&mut self, size: usize, set: u64) {
        let candidates = self.levels[size].candidates;
        let one = Vector::<D, N>::of(&self.levels[size], self.levels[size].count - 1);
        let mut lane = 0;
        while lane < candidates {
            let limit = self.limits[size + 1][usize::from(RESPONSE)];
            let excess = one.exceed_by(&self.levels[size], lane, limit);
            let end = (lane + WIDE).min(candidates);
            if excess.0[..end - lane].iter().any(|excess| *excess <= 0.0) {
                self.offer_some(size, set, lane..end);
            }
            lane += WIDE;
        }
    }

    #[cold]
    fn offer_some(&mut self, size: usize, set: u64, candidates: Range<usize>) {
        let response = self.levels[size].count - 1;
        for candidate in candidates {
            let node = &self.levels[size];
            if node.depends(candidate) {
                continue;
            }
            let (rss, name) = (
                node.square_without(response, candidate),
                node.names[candidate],
            );
            if rss <= self.limits[size + 1][usize::from(RESPONSE)] {
                self.offer(RESPONSE, size + 1, rss, set | 1 << name);
            }
        }
    }
}

/// Rounding of a difference of two squares, as a share of the larger.
const ROUNDING: f64 = 1e-14;

/// One vector of a level, of `D` dimensions, 0: of as many as there are; room for `N`.
struct Vector<const D: usize, const N: usize> {
    entries: [f64; N],
    square: f64,
}

impl<const D: usize, const N: usize> Vector<D, N> {
    #[inline(always)]
    fn of(node: &Level, lane: usize) -> Self {
        let mut entries = [0.0; N];
        let dims = if D == 0 { node.dims } else { D };
        for (dim, entry) in entries[..dims].iter_mut().enumerate() {
            *entry = node.row(dim)[lane];
        }
        Self {
            entries,
            square: node.squares[lane],
        }
    }

    /// By how much four responses exceed their limits once this vector is taken out of them, times its square.
    ///
    /// Room is left for rounding: what is not above zero has to be looked at.
    #[inline(always)]
    fn exceed(&self, node: &Level, lane: usize, limits: Four) -> Four {
        self.multiply(node, lane) - limits * self.square
    }

    /// By how much this response exceeds its limit once one of four vectors is taken out, times their squares.
    #[inline(always)]
    fn exceed_by(&self, node: &Level, lane: usize, limit: f64) -> Four {
        self.multiply(node, lane) - Four::at(&node.squares, lane) * limit
    }

    /// Squared areas between this vector and four others.
    #[inline(always)]
    fn multiply(&self, node: &Level, lane: usize) -> Four {
        if D == 2 {
            // In a plane it needs no difference of squares.
            let area = Four::at(node.row(1), lane) * self.entries[0]
                - Four::at(node.row(0), lane) * self.entries[1];
            return area * area * (1.0 - ROUNDING);
        }
        let dims = if D == 0 { node.dims } else { D };
        let mut along = Four([0.0; WIDE]);
        for (dim, entry) in self.entries[..dims].iter().enumerate() {
            along = along + Four::at(node.row(dim), lane) * *entry;
        }
        Four::at(&node.squares, lane) * (self.square * (1.0 - ROUNDING)) - along * along
    }
}
