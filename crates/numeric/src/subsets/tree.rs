//! All subsets, one column after the other, for one response or for many at once.
//!
//! A node of the tree is a subset; its children add one of the columns behind its last. What it keeps is what is
//! left of all vectors once the subset is taken out of them: the residual sum of squares of a response is the
//! squared length of its vector, found without a difference, so that a nearly exact fit is not lost in rounding.
//! A child has one dimension less: where rows are few, most subsets are near the end of the tree and cost little.
//!
//! The search does not depend on responses: any number of them is scored on the way. Where all columns are
//! responses in turn, a subset scores all columns that it does not have.

use super::aims::Hunt;
use super::frame::Frame;
use super::level::{Level, WIDE, four};

/// A search of subsets of at most `largest` columns.
pub(super) struct Tree<'a> {
    levels: Vec<Level>,
    largest: usize,
    /// Whether each column is a response; otherwise there is one, in the last lane.
    each: bool,
    /// By number of the column; one alone for one response.
    hunts: &'a mut [Hunt],
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
        Self {
            levels,
            largest,
            each,
            hunts,
        }
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

    /// Score what is left of the responses.
    #[inline(always)]
    fn score(&mut self, size: usize, set: u64) {
        let node = &self.levels[size];
        let scored = if self.each {
            0..node.count
        } else {
            node.count - 1..node.count
        };
        for lane in scored {
            let hunt = &mut self.hunts[if self.each {
                usize::from(node.names[lane])
            } else {
                0
            }];
            if node.squares[lane] <= hunt.limits[size] {
                hunt.offer(size, node.squares[lane], set);
            }
        }
    }

    /// Score the children of a subset that may have one column more, without making them.
    #[inline(always)]
    fn finish(&mut self, size: usize, set: u64) {
        match (self.each, self.levels[size].dims) {
            (true, 2) => self.finish_each::<2>(size, set),
            (true, 3) => self.finish_each::<3>(size, set),
            (true, _) => self.finish_each::<0>(size, set),
            (false, 2) => self.finish_one::<2>(size, set),
            (false, 3) => self.finish_one::<3>(size, set),
            (false, _) => self.finish_one::<0>(size, set),
        }
    }

    /// For each candidate all other columns as responses, four at a time.
    #[inline(always)]
    fn finish_each<const D: usize>(&mut self, size: usize, set: u64) {
        let node = &self.levels[size];
        let mut limits = [-1.0; 72];
        for lane in 0..node.count {
            limits[lane] = self.hunts[usize::from(node.names[lane])].limits[size + 1];
        }
        for candidate in 0..node.candidates {
            if node.depends(candidate) {
                continue;
            }
            let own = std::mem::replace(&mut limits[candidate], -1.0);
            let mut nearest = [f64::INFINITY; WIDE];
            let mut lane = 0;
            while lane < node.count {
                let excess = exceed::<D>(node, candidate, lane, four(&limits, lane));
                for at in 0..WIDE {
                    nearest[at] = if excess[at] < nearest[at] {
                        excess[at]
                    } else {
                        nearest[at]
                    };
                }
                lane += WIDE;
            }
            if nearest.iter().any(|excess| *excess <= 0.0) {
                let set = set | 1 << node.names[candidate];
                for lane in 0..node.count {
                    let hunt = &mut self.hunts[usize::from(node.names[lane])];
                    if lane != candidate && hunt.limits[size + 1] >= 0.0 {
                        let rss = node.square_without(lane, candidate);
                        if rss <= hunt.limits[size + 1] {
                            hunt.offer(size + 1, rss, set);
                            limits[lane] = hunt.limits[size + 1];
                        }
                    }
                }
            }
            limits[candidate] = own;
        }
    }

    /// All candidates for the one response, four at a time.
    #[inline(always)]
    fn finish_one<const D: usize>(&mut self, size: usize, set: u64) {
        let node = &self.levels[size];
        let response = node.count - 1;
        let hunt = &mut self.hunts[0];
        let mut lane = 0;
        while lane < node.candidates {
            let excess = exceed_by::<D>(node, response, lane, hunt.limits[size + 1]);
            let end = (lane + WIDE).min(node.candidates);
            if excess[..end - lane].iter().any(|excess| *excess <= 0.0) {
                for candidate in lane..end {
                    if node.depends(candidate) {
                        continue;
                    }
                    let rss = node.square_without(response, candidate);
                    if rss <= hunt.limits[size + 1] {
                        hunt.offer(size + 1, rss, set | 1 << node.names[candidate]);
                    }
                }
            }
            lane += WIDE;
        }
    }
}

/// Rounding of a difference of two squares, as a share of the larger.
const ROUNDING: f64 = 1e-14;

/// By how much four responses exceed their limits once a candidate is taken out of them, times its square.
///
/// Room is left for rounding: what is not above zero has to be looked at.
#[inline(always)]
fn exceed<const D: usize>(
    node: &Level,
    candidate: usize,
    lane: usize,
    limits: &[f64; WIDE],
) -> [f64; WIDE] {
    let square = node.squares[candidate];
    let mut excess = [0.0; WIDE];
    if D == 2 {
        // The area of two vectors needs no difference of squares.
        let (x, y) = (node.row(0)[candidate], node.row(1)[candidate]);
        let (xs, ys) = (four(node.row(0), lane), four(node.row(1), lane));
        for at in 0..WIDE {
            let area = x * ys[at] - y * xs[at];
            excess[at] = area * area * (1.0 - ROUNDING) - square * limits[at];
        }
        return excess;
    }
    let mut along = [0.0; WIDE];
    let dims = if D == 0 { node.dims } else { D };
    for dim in 0..dims {
        let (row, values) = (node.row(dim)[candidate], four(node.row(dim), lane));
        for at in 0..WIDE {
            along[at] += row * values[at];
        }
    }
    let squares = four(&node.squares, lane);
    for at in 0..WIDE {
        let left = squares[at] * square * (1.0 - ROUNDING) - along[at] * along[at];
        excess[at] = left - square * limits[at];
    }
    excess
}

/// The same for one response and four candidates.
#[inline(always)]
fn exceed_by<const D: usize>(
    node: &Level,
    response: usize,
    lane: usize,
    limit: f64,
) -> [f64; WIDE] {
    let squares = four(&node.squares, lane);
    let mut excess = [0.0; WIDE];
    if D == 2 {
        let (x, y) = (node.row(0)[response], node.row(1)[response]);
        let (xs, ys) = (four(node.row(0), lane), four(node.row(1), lane));
        for at in 0..WIDE {
            let area = x * ys[at] - y * xs[at];
            excess[at] = area * area * (1.0 - ROUNDING) - squares[at] * limit;
        }
        return excess;
    }
    let mut along = [0.0; WIDE];
    let dims = if D == 0 { node.dims } else { D };
    for dim in 0..dims {
        let (row, values) = (node.row(dim)[response], four(node.row(dim), lane));
        for at in 0..WIDE {
            along[at] += row * values[at];
        }
    }
    for at in 0..WIDE {
        let left = node.squares[response] * squares[at] * (1.0 - ROUNDING) - along[at] * along[at];
        excess[at] = left - squares[at] * limit;
    }
    excess
}
