//! Branch and bound on cross products, for one response and few columns of many.
//!
//! A node keeps what is left of the cross products of its candidates, so that a subset costs a few operations
//! however many rows there are. Differences of products lose digits; how many is bounded on the way, and products
//! only exclude subsets: what they cannot exclude is computed again from the vectors. Where they cannot tell
//! whether a column depends on others the search gives up, and the tree of vectors takes over.
//!
//! The bound: a subset of S ∪ C fits no better than S ∪ C whole (Furnival and Wilson 1974). Candidates stand in
//! the sequence of a forward selection, so that what is excluded first is many poor ones.

mod last;

use super::aims::Hunt;
use super::frame::{DEPENDENT, Frame, dot};
use super::level::{Four, Lanes, STRIDE, WIDE};
use last::Seconds;

/// Rounding of one cross product of vectors of length 1, with room.
const ROUNDING: f64 = 1e-14;
/// Multiple of its rounding below which a square says nothing.
const UNSURE: f64 = 256.0;
/// Candidates and levels below from which a bound is worth its time, and to sort the candidates.
const BOUNDED: (usize, usize) = (5, 4);
const SORTED: (usize, usize) = (5, 4);

#[derive(Clone)]
struct Node {
    /// Row i has the products of candidate i with those from i + 1 on.
    products: Vec<Lanes>,
    squares: Lanes,
    with_response: Lanes,
    /// Places of the candidates in the search's order.
    names: [u8; STRIDE],
    /// No square is above it.
    largest: f64,
    count: usize,
    rss: f64,
    /// Sums of coefficients on the subset, at most, plus 1: of candidates, and of the response.
    spread: (f64, f64),
}

impl Node {
    fn new(count: usize) -> Self {
        Self {
            products: vec![[0.0; STRIDE]; count],
            squares: [0.0; STRIDE],
            with_response: [0.0; STRIDE],
            names: std::array::from_fn(|lane| lane as u8),
            largest: 1.0,
            count,
            rss: 1.0,
            spread: (1.0, 1.0),
        }
    }

    /// Bounds of the rounding of squares, of products with the response, and of sums of squares.
    fn errors(&self) -> (f64, f64, f64) {
        let (own, response) = self.spread;
        (
            ROUNDING * own * own,
            ROUNDING * own * response,
            ROUNDING * response * response,
        )
    }

    /// How the spread grows when a candidate is taken out.
    fn spread_without(&self, lane: usize) -> (f64, f64) {
        let inverse = self.squares[lane].recip();
        let (own, response) = self.spread;
        let of_response = (self.with_response[lane] * inverse).abs();
        (
            own * (1.0 + (self.largest * inverse).sqrt()),
            response + own * of_response,
        )
    }

    #[inline(always)]
    fn take_out(&self, lane: usize, into: &mut Node) {
        let (row, scale) = (&self.products[lane], self.squares[lane].recip());
        let (first, along) = (lane + 1, self.with_response[lane] * scale);
        into.count = self.count - first;
        into.rss = self.rss - along * self.with_response[lane];
        let (mut done, mut largest) = (0, 0.0);
        while done < into.count {
            let part = Four::at(row, first + done);
            let left = Four::at(&self.with_response, first + done) - part * along;
            left.put(&mut into.with_response, done);
            let squares = Four::at(&self.squares, first + done) - part * part * scale;
            squares.put(&mut into.squares, done);
            largest = squares.0.iter().fold(
                largest,
                |most: f64, square| if *square > most { *square } else { most },
            );
            done += WIDE;
        }
        into.names[..into.count].copy_from_slice(&self.names[first..self.count]);
        // Lanes beyond the last may raise it, but not above what it was.
        into.largest = largest.min(self.largest);
        for other in 0..into.count.saturating_sub(1) {
            let factor = row[first + other] * scale;
            let (source, target) = (&self.products[first + other], &mut into.products[other]);
            let mut done = (other + 1) / WIDE * WIDE;
            while done < into.count {
                let left = Four::at(source, first + done) - Four::at(row, first + done) * factor;
                left.put(target, done);
                done += WIDE;
            }
        }
    }

    /// Put the candidates in the sequence of what each would add, so that what is behind them adds little.
    fn sort(&mut self, into: &mut Node) {
        let mut gains = [0.0; STRIDE];
        let mut places = [0; STRIDE];
        for lane in 0..self.count {
            let gain = self.with_response[lane].powi(2) / self.squares[lane].max(DEPENDENT);
            let mut at = lane;
            while at > 0 && gains[at - 1] < gain {
                (gains[at], places[at]) = (gains[at - 1], places[at - 1]);
                at -= 1;
            }
            (gains[at], places[at]) = (gain, lane);
        }
        for (lane, place) in places[..self.count].iter().enumerate() {
            into.squares[lane] = self.squares[*place];
            into.with_response[lane] = self.with_response[*place];
            into.names[lane] = self.names[*place];
            for (other, behind) in places[..self.count].iter().enumerate().skip(lane + 1) {
                let (low, high) = (*place.min(behind), *place.max(behind));
                into.products[lane][other] = self.products[low][high];
            }
        }
        std::mem::swap(&mut self.products, &mut into.products);
        let count = (self.count + WIDE).min(STRIDE);
        self.squares[..count].copy_from_slice(&into.squares[..count]);
        self.with_response[..count].copy_from_slice(&into.with_response[..count]);
        self.names[..count].copy_from_slice(&into.names[..count]);
    }

    /// Sum of squares that is left at least with the subset and all candidates from each on.
    #[inline(always)]
    fn find_bounds(&self, dims: usize, rest: &mut Node, bounds: &mut Lanes) {
        // With no dimension left nothing is excluded. The last candidate is taken out first.
        let kept = self.count.min(dims.saturating_sub(1));
        let last = self.count - 1;
        bounds[..self.count].fill(0.0);
        for at in 0..kept {
            rest.squares[at] = self.squares[last - at];
            rest.with_response[at] = self.with_response[last - at];
            for other in at + 1..kept {
                rest.products[at][other] = self.products[last - other][last - at];
            }
        }
        (rest.rss, rest.spread, rest.largest) = (self.rss, self.spread, self.largest);
        for at in 0..kept {
            let square = rest.squares[at];
            if square <= UNSURE * rest.errors().0 {
                // Where rounding decides nothing is excluded either.
                break;
            }
            let inverse = square.recip();
            let along = rest.with_response[at] * inverse;
            // A mean instead of the root that `spread_without` takes: never less, and quicker.
            let (own, response) = rest.spread;
            let growth = 1.5 + 0.5 * rest.largest * inverse;
            rest.spread = (own * growth, response + own * along.abs());
            rest.rss -= along * rest.with_response[at];
            bounds[last - at] = (rest.rss - rest.errors().2).max(0.0);
            let (taken, behind) = rest.products.split_at_mut(at + 1);
            let row = &taken[at];
            let mut lane = at + 1;
            while lane < kept {
                let part = Four::at(row, lane);
                let left = Four::at(&rest.with_response, lane) - part * along;
                left.put(&mut rest.with_response, lane);
                let left = Four::at(&rest.squares, lane) - part * part * inverse;
                left.put(&mut rest.squares, lane);
                lane += WIDE;
            }
            for (other, target) in (at + 1..kept).zip(behind) {
                let factor = row[other] * inverse;
                let mut lane = other + 1;
                while lane < kept {
                    (Four::at(target, lane) - Four::at(row, lane) * factor).put(target, lane);
                    lane += WIDE;
                }
            }
        }
    }
}

struct Search<'a> {
    frame: &'a Frame,
    /// Positions of the candidates in the frame.
    order: &'a [usize],
    nodes: Vec<Node>,
    /// By size of the subset: what is left at least with the candidates from each on, 0 where nothing is known.
    bounds: Vec<Lanes>,
    /// Room to work in.
    rest: Node,
    seconds: Seconds,
    hunt: &'a mut Hunt,
}

/// The products could not tell; nothing that was offered holds.
pub(super) struct Unsure;

/// Offer all subsets that matter to the hunt; `order` has the positions of the candidates.
pub(super) fn search_products(
    frame: &Frame,
    order: &[usize],
    largest: usize,
    hunt: &mut Hunt,
) -> Result<(), Unsure> {
    let mut root = Node::new(order.len());
    let response = frame.vector(frame.names.len() - 1);
    for (lane, position) in order.iter().enumerate() {
        let vector = frame.vector(*position);
        root.squares[lane] = dot(vector, vector);
        root.with_response[lane] = dot(vector, response);
        for (other, behind) in order.iter().enumerate().skip(lane + 1) {
            root.products[lane][other] = dot(vector, frame.vector(*behind));
        }
    }
    root.rss = dot(response, response);
    if root.rss <= hunt.limits[0] {
        hunt.offer(0, root.rss, 0);
    }
    if largest == 0 {
        return Ok(());
    }
    let rest = root.clone();
    let nodes = vec![root; largest];
    let mut search = Search {
        frame,
        order,
        nodes,
        bounds: vec![[0.0; STRIDE]; largest],
        rest,
        seconds: Seconds::new(),
        hunt,
    };
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        // SAFETY: the processor was asked.
        return unsafe { search.walk_wide(0, 0, largest) };
    }
    search.walk(0, 0, largest)
}

/// What may lie below a candidate: sizes up to `cap`.
struct Below {
    lanes: u64,
    cap: usize,
}

impl Search<'_> {
    fn walk(&mut self, size: usize, lanes: u64, cap: usize) -> Result<(), Unsure> {
        self.find_bounds(size, cap);
        for lane in 0..self.nodes[size].count {
            if let Some(below) = self.open::<false>(size, lanes, cap, lane)? {
                self.walk(size + 1, below.lanes, below.cap)?;
            }
        }
        Ok(())
    }

    /// The same steps with wider registers, and the same results.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    fn walk_wide(&mut self, size: usize, lanes: u64, cap: usize) -> Result<(), Unsure> {
        self.find_bounds(size, cap);
        for lane in 0..self.nodes[size].count {
            if let Some(below) = self.open::<true>(size, lanes, cap, lane)? {
                self.walk_wide(size + 1, below.lanes, below.cap)?;
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn find_bounds(&mut self, size: usize, cap: usize) {
        let (node, bounds) = (&self.nodes[size], &mut self.bounds[size]);
        if node.count >= BOUNDED.0 && cap >= size + BOUNDED.1 {
            node.find_bounds(self.frame.dims - size, &mut self.rest, bounds);
        } else {
            bounds[..node.count].fill(0.0);
        }
    }

    /// The largest size below a candidate that the bound leaves; none below what the subset has already.
    #[inline(always)]
    fn limit_depth(&self, size: usize, cap: usize, lane: usize) -> usize {
        let cap = cap.min(size + self.nodes[size].count - lane);
        let bound = self.bounds[size][lane];
        let limits = &self.hunt.limits;
        (size + 1..=cap)
            .rev()
            .find(|of| bound <= limits[*of])
            .unwrap_or(size)
    }

    /// Score a subset with one candidate more and, where one more is the last, those with two.
    #[inline(always)]
    fn open<const FUSED: bool>(
        &mut self,
        size: usize,
        lanes: u64,
        cap: usize,
        lane: usize,
    ) -> Result<Option<Below>, Unsure> {
        let cap = self.limit_depth(size, cap, lane);
        if cap == size {
            return Ok(None);
        }
        let (above, below) = self.nodes.split_at_mut(size + 1);
        let node = &above[size];
        let lanes = lanes | 1 << node.names[lane];
        let (square, with_response) = (node.squares[lane], node.with_response[lane]);
        if square <= UNSURE * node.errors().0 {
            // A dependent column adds nothing; of another one the products do not know enough.
            return if self.measure(lanes).is_none() {
                Ok(None)
            } else {
                Err(Unsure)
            };
        }
        let inverse = square.recip();
        let along = with_response * inverse;
        let rss = node.rss - along * with_response;
        let response_spread = node.spread.1 + node.spread.0 * along.abs();
        let error = ROUNDING * response_spread * response_spread;
        let near = rss <= self.hunt.limits[size + 1] + error;
        if cap > size + 3 {
            node.take_out(lane, &mut below[0]);
            below[0].spread = node.spread_without(lane);
            if below[0].count >= SORTED.0 && cap > size + SORTED.1 {
                below[0].sort(&mut self.rest);
            }
        }
        if near {
            self.offer(size + 1, lanes);
        }
        if cap == size + 2 {
            self.finish(size, lanes, lane, inverse, response_spread);
        } else if cap == size + 3 {
            self.finish_pairs::<FUSED>(size, lanes, lane, inverse, response_spread)?;
        }
        Ok((cap > size + 3).then_some(Below { lanes, cap }))
    }

    /// Compute a subset from the vectors and offer it.
    #[cold]
    fn offer(&mut self, size: usize, lanes: u64) {
        let Some(rss) = self.measure(lanes) else {
            return;
        };
        if rss <= self.hunt.limits[size] {
            let members = (0..self.order.len()).filter(|lane| lanes >> lane & 1 == 1);
            let set = members.fold(0, |set, lane| set | 1 << self.frame.names[self.order[lane]]);
            self.hunt.offer(size, rss, set);
        }
    }

    /// Residual sum of squares of a subset; none when its columns depend on each other.
    fn measure(&self, lanes: u64) -> Option<f64> {
        let members = (0..self.order.len()).filter(|lane| lanes >> lane & 1 == 1);
        let response = self.frame.names.len() - 1;
        self.frame
            .measure(response, members.map(|lane| self.order[lane]))
    }
}
