//! Loops of a function.

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
    pub(super) fn count_loops(&self, count: u32) -> u32 {
        if !self.jumps.iter().any(|jump| jump.to <= jump.from) {
            return 0;
        }
        let mut starts: Vec<u32> = vec![0];
        starts.extend(self.jumps.iter().flat_map(|jump| [jump.to, jump.from + 1]));
        starts.extend(self.ends.iter().map(|end| end + 1));
        starts.sort_unstable();
        starts.dedup();
        starts.retain(|start| *start < count);
        let block_of = |instruction: u32| starts.partition_point(|start| *start <= instruction) - 1;
        let (mut targets, mut ranges) = (
            Vec::with_capacity(self.jumps.len() * 2),
            Vec::with_capacity(starts.len()),
        );
        let (mut next_jump, mut next_end) = (0, 0);
        for block in 0..starts.len() {
            let end = starts.get(block + 1).copied().unwrap_or(count);
            let begin = targets.len();
            while let Some(jump) = self.jumps.get(next_jump).filter(|jump| jump.from < end) {
                if jump.to < count {
                    targets.push(block_of(jump.to));
                }
                next_jump += 1;
            }
            let mut falls = end < count;
            while self.ends.get(next_end).is_some_and(|last| *last < end) {
                falls = false;
                next_end += 1;
            }
            if falls {
                targets.push(block + 1);
            }
            ranges.push(begin..targets.len());
        }
        walk(&targets, &ranges)
    }
}

fn walk(targets: &[usize], ranges: &[std::ops::Range<usize>]) -> u32 {
    const NEW: u8 = 0;
    const OPEN: u8 = 1;
    const LEFT: u8 = 2;
    let mut states = vec![NEW; ranges.len()];
    let mut heads = vec![false; ranges.len()];
    let mut stack: Vec<(usize, usize)> = Vec::new();
    for root in 0..ranges.len() {
        if states[root] != NEW {
            continue;
        }
        states[root] = OPEN;
        stack.push((root, ranges[root].start));
        while let Some((block, next)) = stack.last_mut() {
            if *next == ranges[*block].end {
                states[*block] = LEFT;
                stack.pop();
                continue;
            }
            let target = targets[*next];
            *next += 1;
            match states[target] {
                OPEN => heads[target] = true,
                NEW => {
                    states[target] = OPEN;
                    stack.push((target, ranges[target].start));
                }
                _ => {}
            }
        }
    }
    heads.iter().filter(|head| **head).count() as u32
}

#[cfg(test)]
mod tests {
    use super::{Flow, Jump};

    fn flow(jumps: &[(u32, u32)], ends: &[u32]) -> Flow {
        Flow {
            jumps: jumps.iter().map(|&(from, to)| Jump { from, to }).collect(),
            ends: ends.to_vec(),
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
