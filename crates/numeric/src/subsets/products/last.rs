//! The last candidates of subsets: scored without writing down what is left of the products.

use super::super::level::{Four, Lanes, STRIDE, WIDE};
use super::{ROUNDING, Search, UNSURE, Unsure};

/// What is left of candidates once one was taken out, and what decides about those behind each of them.
pub(super) struct Seconds {
    /// Multiple of the first candidate's products that is taken from each one's.
    factors: Lanes,
    squares: Lanes,
    inverses: Lanes,
    /// Product with the response, and that divided by the square.
    left: Lanes,
    along: Lanes,
    /// What a third candidate has to explain, and the rounding that it is granted.
    needs: Lanes,
    rooms: Lanes,
}

impl Seconds {
    pub(super) fn new() -> Self {
        Self {
            factors: [0.0; STRIDE],
            squares: [0.0; STRIDE],
            inverses: [0.0; STRIDE],
            left: [0.0; STRIDE],
            along: [0.0; STRIDE],
            needs: [0.0; STRIDE],
            rooms: [0.0; STRIDE],
        }
    }
}

impl Search<'_> {
    /// Score the subsets with a candidate and one or two behind it, without writing down what is left of products.
    #[inline(always)]
    pub(super) fn finish_pairs<const FUSED: bool>(
        &mut self,
        size: usize,
        lanes: u64,
        lane: usize,
        scale: f64,
        response: f64,
    ) -> Result<(), Unsure> {
        let node = &self.nodes[size];
        let (count, largest) = (node.count, node.largest);
        let along = node.with_response[lane] * scale;
        let rss = node.rss - along * node.with_response[lane];
        let own = node.spread.0 * (1.0 + (largest * scale).sqrt());
        let (near, far) = (self.hunt.limits[size + 2], self.hunt.limits[size + 3]);
        let least = UNSURE * ROUNDING * own * own;
        let seconds = &mut self.seconds;
        let mut noted = 0u64;
        let mut at = lane + 1;
        while at < count {
            let part = Four::at(&node.products[lane], at);
            let left = Four::at(&node.with_response, at) - part * along;
            let square = Four::at(&node.squares, at) - part * part * scale;
            let inverse = square.map(f64::recip);
            let along = left * inverse;
            let rss = Four([rss; WIDE]) - along * left;
            let response = Four([response; WIDE]) + along.map(f64::abs) * own;
            let error = response * response * ROUNDING;
            // Means instead of roots: never less, and quicker.
            let own = (inverse * (0.5 * largest) + Four([1.5; WIDE])) * own;
            let cross = own * response * ROUNDING;
            let need = (rss - error - Four([far; WIDE])).map(|need| need.max(0.0));
            let sizes = rss.map(|rss| rss.max(0.0)) + error + Four([largest; WIDE]);
            let room = cross * sizes + cross * cross + need * own * own * ROUNDING;
            let close = (rss - error).find_up_to(near) | square.find_up_to(least);
            noted |= close << at;
            (part * scale).put(&mut seconds.factors, at);
            left.put(&mut seconds.left, at);
            square.put(&mut seconds.squares, at);
            inverse.put(&mut seconds.inverses, at);
            along.put(&mut seconds.along, at);
            need.put(&mut seconds.needs, at);
            room.put(&mut seconds.rooms, at);
            at += WIDE;
        }
        // Lanes from the last on do not count.
        noted &= (1 << count) - 1;
        for second in lane + 1..count {
            if noted >> second & 1 == 1 && !self.note_second(size, lanes, second, least)? {
                continue;
            }
            self.finish_second::<FUSED>(size, lanes, lane, second);
        }
        Ok(())
    }

    /// Offer a subset that ends with a second candidate; whether others can follow it.
    #[cold]
    #[inline(never)]
    fn note_second(
        &mut self,
        size: usize,
        lanes: u64,
        second: usize,
        least: f64,
    ) -> Result<bool, Unsure> {
        let lanes = lanes | 1 << self.nodes[size].names[second];
        if self.seconds.squares[second] <= least {
            // A dependent column adds nothing; of another one the products do not know enough.
            return if self.measure(lanes).is_none() {
                Ok(false)
            } else {
                Err(Unsure)
            };
        }
        self.offer(size + 2, lanes);
        Ok(true)
    }

    /// Score the subsets with two candidates and one behind them, four at a time.
    #[inline(always)]
    fn finish_second<const FUSED: bool>(
        &mut self,
        size: usize,
        lanes: u64,
        lane: usize,
        second: usize,
    ) {
        let (node, seconds) = (&self.nodes[size], &self.seconds);
        let (of_first, of_second) = (&node.products[lane], &node.products[second]);
        let (count, factor) = (node.count, seconds.factors[second]);
        let (along, inverse) = (seconds.along[second], seconds.inverses[second]);
        let (need, room) = (seconds.needs[second], seconds.rooms[second]);
        let mut noted = 0u64;
        let mut at = second + 1;
        while at < count {
            let part = Four::at(of_second, at).less::<FUSED>(Four::at(of_first, at), factor);
            let left = Four::at(&seconds.left, at).less::<FUSED>(part, along);
            let square = Four::at(&seconds.squares, at).less::<FUSED>(part * inverse, part);
            let excess = (square * need).less::<FUSED>(left, left);
            noted |= excess.find_up_to(room) << at;
            at += WIDE;
        }
        // Lanes from the last on do not count.
        noted &= (1 << count) - 1;
        if noted != 0 {
            self.note_thirds(size, lanes, second, noted);
        }
    }

    #[cold]
    #[inline(never)]
    fn note_thirds(&mut self, size: usize, lanes: u64, second: usize, noted: u64) {
        let names = self.nodes[size].names;
        for other in (0..64).filter(|other| noted >> other & 1 == 1) {
            self.offer(size + 3, lanes | 1 << names[second] | 1 << names[other]);
        }
    }

    /// Score the subsets with a candidate and one behind it, four at a time.
    #[inline(always)]
    pub(super) fn finish(
        &mut self,
        size: usize,
        lanes: u64,
        lane: usize,
        scale: f64,
        response: f64,
    ) {
        let node = &self.nodes[size];
        let count = node.count;
        let along = node.with_response[lane] * scale;
        let rss = node.rss - along * node.with_response[lane];
        let largest = node.largest;
        // Means instead of the roots that `spread_without` takes: never less, and quicker.
        let own = node.spread.0 * (1.5 + 0.5 * largest * scale);
        let error = ROUNDING * response * response;
        let cross = ROUNDING * own * response;
        let needed = |limit: f64| (rss - limit - error).max(0.0);
        let slack = |needed: f64| {
            cross * (rss.max(0.0) + error + largest) + cross * cross + needed * ROUNDING * own * own
        };
        let mut need = needed(self.hunt.limits[size + 2]);
        let mut room = slack(need);
        let mut at = lane + 1;
        while at < count {
            let node = &self.nodes[size];
            let part = Four::at(&node.products[lane], at);
            let left = Four::at(&node.with_response, at) - part * along;
            let square = Four::at(&node.squares, at) - part * part * scale;
            let excess = square * need - left * left;
            let end = (at + WIDE).min(count);
            if excess.0[..end - at].iter().any(|excess| *excess <= room) {
                for other in at..end {
                    if excess.0[other - at] <= room {
                        let name = self.nodes[size].names[other];
                        self.offer(size + 2, lanes | 1 << name);
                    }
                }
                need = needed(self.hunt.limits[size + 2]);
                room = slack(need);
            }
            at += WIDE;
        }
    }
}
