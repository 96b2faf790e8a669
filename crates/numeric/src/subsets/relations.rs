//! Each column in turn the response, where subsets may be as large as the rows allow.
//!
//! With n rows, n - 1 columns U nearly depend on each other whenever n - 2 of them nearly fit another one: their
//! volume is small. One search of all U, each met once, therefore serves all responses, where a search of subsets
//! meets U once for each of its columns. Volumes only exclude: what they cannot exclude is computed from the vectors.
//!
//! Residual sums of squares of r in U are 1 / [inverse of the Gram matrix of U] at r. With all of U but two columns
//! taken out of those two, S, this is 1 / [the same of S] + |b c' - b' c|² / area² for r in S: b and b' are the
//! coefficients of c and c' on r. A node keeps these coefficients besides what is left of its candidates.
//!
//! Smaller subsets are found from above: each that matters lies in one of n - 2 columns that fits no worse
//! (Furnival and Wilson 1974), so that these are kept, and searched downward at the end.

use super::aims::Hunt;
use super::downward::{Fit, search_downward};
use super::frame::Frame;
use super::level::{Four, Lanes, STRIDE, WIDE};
use super::products::Unsure;

/// Squared length, of 1 at first, below which coefficients say too little.
const SHORT: f64 = 1e-12;
/// Residual sum of squares below which a fit may be exact.
const NEARLY_EXACT: f64 = 1e-21;
/// Lengths: room for what rounding does to a residual, and relative room.
const ROUNDING: (f64, f64) = (1e-12, 1.0 + 1e-6);
/// Most fits that are kept to be searched downward.
const MOST_FITS: usize = 1 << 14;
/// Dimensions of a node whose subsets are not made one by one.
const LAST: usize = 3;

/// Members taken out of the candidates behind them.
struct Node {
    /// What is left of the candidates: a row for each dimension.
    rows: Vec<Lanes>,
    /// Coefficients of the candidates: a row for each member.
    shares: Vec<Lanes>,
    squares: Lanes,
    /// By member: its entry in the inverse of the members' Gram matrix.
    inverses: [f64; 64],
    count: usize,
}

impl Node {
    fn new(dims: usize, size: usize) -> Self {
        Self {
            rows: vec![[0.0; STRIDE]; dims],
            shares: vec![[0.0; STRIDE]; size],
            squares: [0.0; STRIDE],
            inverses: [0.0; 64],
            count: 0,
        }
    }

    fn of_frame(frame: &Frame) -> Self {
        let mut node = Self::new(frame.dims, 0);
        node.count = frame.names.len();
        for lane in 0..node.count {
            let vector = frame.vector(lane);
            for (row, value) in node.rows.iter_mut().zip(vector) {
                row[lane] = *value;
            }
            node.squares[lane] = vector.iter().map(|value| value * value).sum();
        }
        node
    }

    /// For each candidate what reflects it on the first axis: its signed length, the first entry of the normal, the
    /// normal's scale; and the inverse of its square.
    #[inline(always)]
    fn find_mirrors(&self, found: &mut [Lanes; 4]) {
        let mut at = 0;
        while at < self.count {
            let (entry, square) = (Four::at(&self.rows[0], at), Four::at(&self.squares, at));
            let length = square.root().with(entry, f64::copysign);
            let normal = entry + length;
            let [lengths, normals, scales, inverses] = &mut *found;
            length.put(lengths, at);
            normal.put(normals, at);
            (length * normal).inverse().put(scales, at);
            square.inverse().put(inverses, at);
            at += WIDE;
        }
    }

    /// Take a candidate out of those behind it, by a reflection that lays it on an axis.
    #[inline(always)]
    fn take_out(&self, lane: usize, scratch: &mut [[f64; 64]; 2], into: &mut Node) {
        let (first, inverse) = (lane + 1, self.squares[lane].recip());
        let [normal, own] = scratch;
        for (entry, row) in normal.iter_mut().zip(&self.rows) {
            *entry = row[lane];
        }
        let length = self.squares[lane].sqrt().copysign(normal[0]);
        let scale = (length * (length + normal[0])).recip();
        normal[0] += length;
        for (share, row) in own.iter_mut().zip(&self.shares) {
            *share = row[lane];
        }
        into.count = self.count - first;
        let members = self.shares.len();
        let mut done = 0;
        while done < into.count {
            let mut along = Four([0.0; WIDE]);
            for (row, entry) in self.rows.iter().zip(&*normal) {
                along = along + Four::at(row, first + done) * *entry;
            }
            let share = (along - Four::at(&self.rows[0], first + done) * length) * inverse;
            along = along * scale;
            let mut squares = Four([0.0; WIDE]);
            for ((row, entry), result) in
                self.rows[1..].iter().zip(&normal[1..]).zip(&mut into.rows)
            {
                let rest = Four::at(row, first + done) - along * *entry;
                rest.put(result, done);
                squares = squares + rest * rest;
            }
            squares.put(&mut into.squares, done);
            for ((row, own), result) in self.shares.iter().zip(&*own).zip(&mut into.shares) {
                (Four::at(row, first + done) - share * *own).put(result, done);
            }
            share.put(&mut into.shares[members], done);
            done += WIDE;
        }
        for ((result, old), own) in into
            .inverses
            .iter_mut()
            .zip(&self.inverses)
            .zip(&own[..members])
        {
            *result = old + own * own * inverse;
        }
        into.inverses[members] = inverse;
    }
}

/// What is left of the candidates behind one of the last node, in the plane.
struct Plane {
    across: Lanes,
    upward: Lanes,
    squares: Lanes,
    /// Four times a bound of limits times squared coefficients, over the members and the candidate itself.
    weights: Lanes,
    count: usize,
}

struct Search<'a> {
    frame: &'a Frame,
    hunts: &'a mut [Hunt],
    nodes: Vec<Node>,
    plane: Plane,
    /// Of the last node: bounds of roots of limits times coefficients, and what `find_mirrors` says.
    weights: Lanes,
    mirrors: [Lanes; 4],
    /// A vector, and a candidate's coefficients.
    scratch: [[f64; 64]; 2],
    /// Positions in the frame of what was taken out.
    members: Vec<usize>,
    /// By position: the largest sum of squares that matters at any size, and its root with room.
    limits: [f64; 64],
    roots: Lanes,
    fits: Vec<Fit>,
}

/// Whether this search applies: all columns are candidates, subsets may have n - 2, and there are enough of them.
pub(super) fn suits(frame: &Frame, largest: usize) -> bool {
    let count = frame.names.len();
    frame.dims + 1 == frame.rows
        && frame.candidates() == count
        && largest + 1 == frame.dims
        && frame.dims > LAST
        && count > frame.dims
}

/// Offer all subsets that matter to the hunts, by number of the column.
pub(super) fn search_relations(frame: &Frame, hunts: &mut [Hunt]) -> Result<(), Unsure> {
    let root = Node::of_frame(frame);
    let mut nodes = vec![root];
    nodes.extend((1..=frame.dims - LAST).map(|size| Node::new(frame.dims - size, size)));
    let zeros = [0.0; STRIDE];
    let mut search = Search {
        frame,
        hunts,
        nodes,
        plane: Plane {
            across: zeros,
            upward: zeros,
            squares: zeros,
            weights: zeros,
            count: 0,
        },
        weights: zeros,
        mirrors: [zeros; 4],
        scratch: [[0.0; 64]; 2],
        members: vec![],
        limits: [0.0; 64],
        roots: zeros,
        fits: vec![],
    };
    (0..frame.names.len()).for_each(|position| search.renew(position));
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor was asked.
        unsafe { search.walk_wide(0)? };
        return search.finish();
    }
    search.walk(0)?;
    search.finish()
}

impl Search<'_> {
    fn walk(&mut self, size: usize) -> Result<(), Unsure> {
        if self.frame.dims - size == LAST {
            return self.close(size);
        }
        for lane in 0..self.count_lanes(size) {
            self.open(size, lane)?;
            self.walk(size + 1)?;
            self.members.pop();
        }
        Ok(())
    }

    /// The same steps with wider registers, and the same results.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn walk_wide(&mut self, size: usize) -> Result<(), Unsure> {
        if self.frame.dims - size == LAST {
            return self.close(size);
        }
        for lane in 0..self.count_lanes(size) {
            self.open(size, lane)?;
            self.walk_wide(size + 1)?;
            self.members.pop();
        }
        Ok(())
    }

    /// Candidates with enough others behind them.
    fn count_lanes(&self, size: usize) -> usize {
        (self.nodes[size].count + 1).saturating_sub(self.frame.dims - size)
    }

    fn first(&self, size: usize) -> usize {
        self.frame.names.len() - self.nodes[size].count
    }

    #[inline(always)]
    fn open(&mut self, size: usize, lane: usize) -> Result<(), Unsure> {
        let (above, below) = self.nodes.split_at_mut(size + 1);
        if above[size].squares[lane] <= SHORT {
            return Err(Unsure);
        }
        above[size].take_out(lane, &mut self.scratch, &mut below[0]);
        let position = self.first(size) + lane;
        self.members.push(position);
        Ok(())
    }

    fn renew(&mut self, position: usize) {
        let hunt = &self.hunts[usize::from(self.frame.names[position])];
        let limit = hunt
            .limits
            .iter()
            .fold(0.0f64, |most, limit| most.max(*limit));
        self.limits[position] = limit;
        self.roots[position] = limit.sqrt() * ROUNDING.1 + ROUNDING.0;
    }

    /// All volumes with three of the candidates.
    #[inline(always)]
    fn close(&mut self, size: usize) -> Result<(), Unsure> {
        let first = self.first(size);
        let node = &self.nodes[size];
        let mut at = 0;
        while at < node.count {
            let mut most = Four::at(&self.roots, first + at);
            for (row, member) in node.shares.iter().zip(&self.members) {
                most = (Four::at(row, at).abs() * self.roots[*member]).max(most);
            }
            most.put(&mut self.weights, at);
            at += WIDE;
        }
        // Whether members among themselves are far from what would matter.
        let closest = node
            .inverses
            .iter()
            .zip(&self.members)
            .map(|(inverse, member)| inverse * self.limits[*member])
            .fold(0.0, |most, value| if value > most { value } else { most });
        let apart = 4.0 * closest <= 1.0;
        node.find_mirrors(&mut self.mirrors);
        for lane in 0..self.count_lanes(size) {
            let square = self.nodes[size].squares[lane];
            if square <= SHORT {
                return Err(Unsure);
            }
            let apart = apart && 4.0 * self.weights[lane] * self.weights[lane] <= square;
            self.lay_out(size, lane);
            if !apart || self.is_near() {
                self.look(size, lane)?;
            }
        }
        Ok(())
    }

    /// Take a candidate of the last node out of those behind it.
    #[inline(always)]
    fn lay_out(&mut self, size: usize, lane: usize) {
        let (weights, mirrors) = (&self.weights, &self.mirrors);
        let (node, plane) = (&self.nodes[size], &mut self.plane);
        let first = lane + 1;
        let [x, y, z, ..] = &node.rows[..] else {
            return;
        };
        let [length, entry, scale, inverse] = [0, 1, 2, 3].map(|of: usize| mirrors[of][lane]);
        let (second, third, own) = (y[lane], z[lane], weights[lane]);
        plane.count = node.count - first;
        let mut done = 0;
        while done < plane.count {
            let at = first + done;
            let first_entry = Four::at(x, at);
            let dot = first_entry * entry + Four::at(y, at) * second + Four::at(z, at) * third;
            let share = (dot - first_entry * length) * inverse;
            let along = dot * scale;
            let across = Four::at(y, at) - along * second;
            let upward = Four::at(z, at) - along * third;
            across.put(&mut plane.across, done);
            upward.put(&mut plane.upward, done);
            (across * across + upward * upward).put(&mut plane.squares, done);
            let weight = Four::at(weights, at) + share.abs() * own;
            // Two for the square of a sum, two for members that are not quite apart.
            (weight * weight * 4.0).put(&mut plane.weights, done);
            done += WIDE;
        }
        // What is no number is never near.
        Four([f64::NAN; WIDE]).put(&mut plane.across, plane.count);
    }

    /// Whether any two candidates of the plane are so nearly parallel that they have to be looked at.
    #[inline(always)]
    fn is_near(&self) -> bool {
        let plane = &self.plane;
        let mut nearest = Four([f64::INFINITY; WIDE]);
        for one in 0..plane.count - 1 {
            let (x, y) = (plane.across[one], plane.upward[one]);
            let (square, weight) = (plane.squares[one], plane.weights[one]);
            let mut other = one + 1;
            while other < plane.count {
                let area = Four::at(&plane.upward, other) * x - Four::at(&plane.across, other) * y;
                let allowed = Four::at(&plane.weights, other) * square
                    + Four::at(&plane.squares, other) * weight;
                nearest = (area * area - allowed).min(nearest);
                other += WIDE;
            }
        }
        nearest.0.iter().any(|excess| *excess <= 0.0)
    }

    /// Compute for each two candidates behind one which columns they and the members may fit.
    #[cold]
    fn look(&mut self, size: usize, lane: usize) -> Result<(), Unsure> {
        let first = self.first(size);
        for one in lane + 1..self.nodes[size].count {
            for other in one + 1..self.nodes[size].count {
                let near = self.find_near(size, [lane, one, other]);
                if near == 0 {
                    continue;
                }
                let mut union = self.members.clone();
                union.extend([lane, one, other].map(|lane| first + lane));
                for place in (0..union.len()).filter(|place| near >> place & 1 == 1) {
                    self.measure(&union, place)?;
                }
            }
        }
        Ok(())
    }

    /// Places, among members and three candidates, of the columns whose sum of squares may matter.
    fn find_near(&self, size: usize, [lane, one, other]: [usize; 3]) -> u64 {
        let (node, first) = (&self.nodes[size], self.first(size));
        let inverse = node.squares[lane].recip();
        let dot = |a: usize, b: usize| -> f64 { node.rows.iter().map(|row| row[a] * row[b]).sum() };
        let shares = [one, other].map(|lane_| dot(lane, lane_) * inverse);
        let [[x, y, z], [u, v, w]] = [(one, shares[0]), (other, shares[1])].map(|(of, share)| {
            [0, 1, 2].map(|dim| node.rows[dim][of] - share * node.rows[dim][lane])
        });
        let area = (x * v - y * u).powi(2) + (y * w - z * v).powi(2) + (z * u - x * w).powi(2);
        let squares = [x * x + y * y + z * z, u * u + v * v + w * w];
        let between = x * u + y * v + z * w;
        let near = |position: usize, inverse: f64, [b, c]: [f64; 2]| {
            let root = self.roots[position];
            let across = b * b * squares[1] + c * c * squares[0] - 2.0 * b * c * between;
            let room = 1e-13 * (b * b * squares[1] + c * c * squares[0]);
            // Also what is no number has to be looked at.
            let far = area * (1.0 - root * root * inverse) > root * root * (across.max(0.0) + room);
            !far
        };
        let mut found = 0;
        for (place, position) in self.members.iter().enumerate() {
            let row = &node.shares[place];
            let own = row[lane];
            let coefficients = [row[one] - shares[0] * own, row[other] - shares[1] * own];
            let inverse = node.inverses[place] + own * own * inverse;
            found |= u64::from(near(*position, inverse, coefficients)) << place;
        }
        found |= u64::from(near(first + lane, inverse, shares)) << size;
        found |= u64::from(near(first + one, 0.0, [1.0, 0.0])) << (size + 1);
        found | u64::from(near(first + other, 0.0, [0.0, 1.0])) << (size + 2)
    }

    /// Compute how the rest of `union` fits one of it, and offer it.
    fn measure(&mut self, union: &[usize], place: usize) -> Result<(), Unsure> {
        let response = union[place];
        let others = union
            .iter()
            .copied()
            .filter(|position| *position != response);
        let set = others
            .clone()
            .fold(0u64, |set, position| set | 1 << position);
        let rss = self.frame.measure(response, others).ok_or(Unsure)?;
        if rss > self.limits[response] {
            return Ok(());
        }
        if rss <= NEARLY_EXACT {
            return Err(Unsure);
        }
        if self.fits.len() == MOST_FITS {
            let limits = &self.limits;
            self.fits.retain(|fit| fit.rss <= limits[fit.response]);
            if 2 * self.fits.len() > MOST_FITS {
                return Err(Unsure);
            }
        }
        self.fits.push(Fit { response, set, rss });
        let hunt = &mut self.hunts[usize::from(self.frame.names[response])];
        if rss <= hunt.limits[union.len() - 1] {
            hunt.offer(union.len() - 1, rss, self.frame.name_set(set));
            self.renew(response);
        }
        Ok(())
    }

    fn finish(self) -> Result<(), Unsure> {
        search_downward(self.frame, self.hunts, self.fits)
    }
}
