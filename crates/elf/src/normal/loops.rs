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
    /// Which instructions begin a block: 64 in a word.
    starts: Vec<u64>,
    blocks: Vec<Block>,
    /// Where blocks lead, one's behind the other's: the instruction, and once all are known the block that begins there.
    edges: Vec<u32>,
    /// The number of the block that begins at an instruction, where one does.
    block_at: Vec<u32>,
    stack: Vec<(u32, u32)>,
}

/// Instructions of which only the first is jumped to and only the last may not lead to the next.
#[derive(Clone, Copy)]
struct Block {
    /// The first of its edges; those of the next block follow.
    first: u32,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    Open,
    /// Open, and a loop goes back to it.
    Head,
    Left,
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
        self.find_starts(count);
        self.list_blocks(count);
        self.walk()
    }

    /// What is behind the last instruction begins a block too: jumps and falls there lead out.
    fn find_starts(&mut self, count: u32) {
        self.starts.clear();
        self.starts.resize(count as usize / 64 + 1, 0);
        let mut begin = |start: u32| {
            if let Some(word) = self.starts.get_mut(start as usize / 64) {
                *word |= 1 << (start % 64);
            }
        };
        begin(0);
        begin(count);
        // Behind a jump that may not be taken a block goes on: nothing enters it there.
        for jump in &self.jumps {
            begin(jump.to);
        }
        for end in &self.ends {
            begin(end + 1);
        }
    }

    fn list_blocks(&mut self, count: u32) {
        self.blocks.clear();
        self.edges.clear();
        if self.block_at.len() <= count as usize {
            self.block_at.resize(count as usize + 1, 0);
        }
        let (mut jump, mut end) = (0, 0);
        for (index, word) in self.starts.iter().enumerate() {
            let mut left = *word;
            while left != 0 {
                let start = index as u32 * 64 + left.trailing_zeros();
                left &= left - 1;
                // Where a block begins, the one before it ends.
                while let Some(one) = self.jumps.get(jump).filter(|jump| jump.from < start) {
                    self.edges.push(one.to);
                    jump += 1;
                }
                let mut falls = start != 0;
                while self.ends.get(end).is_some_and(|end| *end < start) {
                    end += 1;
                    falls = false;
                }
                if falls {
                    self.edges.push(start);
                }
                self.block_at[start as usize] = self.blocks.len() as u32;
                self.blocks.push(Block {
                    first: self.edges.len() as u32,
                    state: State::New,
                });
            }
        }
        for edge in &mut self.edges {
            *edge = self.block_at[*edge as usize];
        }
        if let Some(behind) = self.blocks.last_mut() {
            behind.state = State::Left;
        }
    }

    fn walk(&mut self) -> u32 {
        let (blocks, stack) = (self.blocks.as_mut_slice(), &mut self.stack);
        let mut heads = 0;
        // Where the edges of one end those of the next begin: the last has none.
        for root in 0..blocks.len() - 1 {
            if blocks[root].state != State::New {
                continue;
            }
            stack.push((root as u32, blocks[root].enter()));
            while let Some((block, next)) = stack.last_mut() {
                let (block, edge) = (*block as usize, *next);
                *next += 1;
                if edge == blocks[block + 1].first {
                    blocks[block].state = State::Left;
                    stack.pop();
                    continue;
                }
                let target = self.edges[edge as usize];
                let reached = &mut blocks[target as usize];
                match reached.state {
                    State::New => stack.push((target, reached.enter())),
                    // Each is counted once.
                    State::Open => {
                        reached.state = State::Head;
                        heads += 1;
                    }
                    State::Head | State::Left => {}
                }
            }
        }
        heads
    }
}

impl Block {
    /// Opens it, and returns the first of its edges.
    fn enter(&mut self) -> u32 {
        self.state = State::Open;
        self.first
    }
}

#[cfg(test)]
mod tests {
    use super::{Flow, Jump, State};

    fn flow(jumps: &[(u32, u32)], ends: &[u32]) -> Flow {
        Flow {
            jumps: jumps.iter().map(|&(from, to)| Jump { from, to }).collect(),
            ends: ends.to_vec(),
            ..Flow::default()
        }
    }

    /// The same walk over single instructions: enters the one at `at`, and returns how many heads were found.
    fn visit(flow: &Flow, states: &mut [State], at: u32) -> u32 {
        states[at as usize] = State::Open;
        let jumps = flow.jumps.iter().filter(|jump| jump.from == at);
        let next = (!flow.ends.contains(&at)).then_some(at + 1);
        let mut heads = 0;
        for to in jumps.map(|jump| jump.to).chain(next) {
            match states.get(to as usize) {
                Some(State::New) => heads += visit(flow, states, to),
                Some(State::Open) => {
                    states[to as usize] = State::Head;
                    heads += 1;
                }
                _ => {}
            }
        }
        states[at as usize] = State::Left;
        heads
    }

    #[test]
    fn blocks_have_the_loops_of_their_instructions() {
        let mut seed = 20u64;
        let mut below = |limit: u32| {
            seed = seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            (seed >> 33) as u32 % limit
        };
        let mut found = 0;
        for _ in 0..20_000 {
            let count = 1 + below(14);
            let mut one = Flow::default();
            for from in 0..count {
                // Half of them jump, some to two instructions; a target may lie behind the last.
                let jumps = [0, 0, 0, 1, 1, 2][below(6) as usize];
                for _ in 0..jumps {
                    let to = below(count + 1);
                    one.jumps.push(Jump { from, to });
                }
                if below(4) == 0 {
                    one.ends.push(from);
                }
            }
            let mut states = vec![State::New; count as usize];
            let expected = (0..count)
                .map(|root| match states[root as usize] {
                    State::New => visit(&one, &mut states, root),
                    _ => 0,
                })
                .sum::<u32>();
            assert_eq!(one.count_loops(count), expected);
            found += expected;
        }
        assert!(found > 10_000, "{found}");
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
