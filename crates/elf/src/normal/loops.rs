//! Loops of a function.

use super::ranks::Ranks;

/// A jump inside a function, by the numbers of instructions.
#[derive(Clone, Copy)]
pub(super) struct Jump {
    pub(super) from: u32,
    pub(super) to: u32,
}

/// How control goes on, in the order of instructions.
#[derive(Default)]
pub(super) struct Flow {
    /// Jumps with a fixed target and the targets of tables, by ascending `from`.
    pub(super) jumps: Vec<Jump>,
    /// Instructions after which the next is not reached, ascending.
    pub(super) ends: Vec<u32>,
    starts: Ranks,
    /// The blocks that may come after each block: their numbers, and how many those of the blocks up to it are.
    targets: Vec<u32>,
    ranges: Vec<u32>,
    states: Vec<u8>,
    stack: Vec<(u32, u32)>,
}

impl Flow {
    pub(super) fn clear(&mut self) {
        self.jumps.clear();
        self.ends.clear();
    }

    /// The number of loops among `count` instructions: distinct targets of edges that a depth-first walk finds going back
    /// to a block which it has not left. Blocks that nothing jumps to are entered in their order.
    ///
    /// For code whose loops have one entry each this is the number of natural loops.
    /// Source: Aho, Lam, Sethi, Ullman, Compilers, 9.6.
    pub(super) fn count_loops(&mut self, count: u32) -> u32 {
        if !self.jumps.iter().any(|jump| jump.to <= jump.from) {
            return 0;
        }
        self.starts.begin(count as usize);
        let starts = &mut self.starts;
        let mut begin = |start: u32| {
            if start < count {
                starts.insert(start as usize);
            }
        };
        begin(0);
        for jump in &self.jumps {
            begin(jump.to);
            begin(jump.from + 1);
        }
        for end in &self.ends {
            begin(end + 1);
        }
        let blocks = self.starts.count();
        self.list_targets(count, blocks);
        self.walk(blocks)
    }

    fn list_targets(&mut self, count: u32, blocks: u32) {
        self.targets.clear();
        self.ranges.clear();
        let mut jumps = self.jumps.iter().peekable();
        let mut ends = self.ends.iter().peekable();
        let mut take = |end: u32| {
            while let Some(jump) = jumps.next_if(|jump| jump.from < end) {
                if jump.to < count {
                    // A block begins there.
                    self.targets.push(self.starts.before(jump.to as usize));
                }
            }
            let mut falls = end < count;
            while ends.next_if(|last| **last < end).is_some() {
                falls = false;
            }
            let after = self.ranges.len() as u32 + 1;
            if falls {
                self.targets.push(after);
            }
            self.ranges.push(self.targets.len() as u32);
        };
        self.starts.numbers().skip(1).for_each(&mut take);
        take(count);
        debug_assert_eq!(self.ranges.len(), blocks as usize);
    }

    fn walk(&mut self, blocks: u32) -> u32 {
        const NEW: u8 = 0;
        const OPEN: u8 = 1;
        const LEFT: u8 = 2;
        /// A block that a loop goes back to.
        const HEAD: u8 = 4;
        let first = |ranges: &[u32], block: u32| match block {
            0 => 0,
            block => ranges[block as usize - 1],
        };
        self.states.clear();
        self.states.resize(blocks as usize, NEW);
        let mut heads = 0;
        for root in 0..blocks {
            if self.states[root as usize] != NEW {
                continue;
            }
            self.states[root as usize] = OPEN;
            self.stack.push((root, first(&self.ranges, root)));
            while let Some((block, next)) = self.stack.last_mut() {
                if *next == self.ranges[*block as usize] {
                    self.states[*block as usize] = LEFT;
                    self.stack.pop();
                    continue;
                }
                let target = self.targets[*next as usize];
                *next += 1;
                let state = &mut self.states[target as usize];
                match *state {
                    // Each is counted once.
                    OPEN => {
                        *state = OPEN | HEAD;
                        heads += 1;
                    }
                    NEW => {
                        *state = OPEN;
                        self.stack.push((target, first(&self.ranges, target)));
                    }
                    _ => {}
                }
            }
        }
        heads
    }
}

#[cfg(test)]
mod tests {
    use super::{Flow, Jump};

    fn flow(jumps: &[(u32, u32)], ends: &[u32]) -> Flow {
        Flow {
            jumps: jumps.iter().map(|&(from, to)| Jump { from, to }).collect(),
            ends: ends.to_vec(),
            ..Flow::default()
        }
    }

    #[test]
    fn nested_loops_are_counted_each() {
        assert_eq!(flow(&[(4, 2), (6, 1)], &[7]).count_loops(8), 2);
    }

    #[test]
    fn a_jump_back_from_a_part_that_was_moved_to_the_end_is_no_loop() {
        // 1 jumps to 6, which jumps back to 2: an unlikely branch.
        assert_eq!(flow(&[(1, 6), (7, 2)], &[5, 7]).count_loops(8), 0);
    }

    #[test]
    fn two_jumps_to_one_target_are_one_loop() {
        assert_eq!(flow(&[(3, 1), (5, 1)], &[6]).count_loops(7), 1);
    }
}
