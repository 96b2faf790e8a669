//! A histogram for each cell that can be made finer where it matters.
//!
//! Each cell has a root of equal numbers of buckets; any bucket can be split into many narrower ones, and
//! so on down to a single double. A bucket that is not split is a leaf.

use crate::quantile::sorting::{Scale, key_of, value_of};

/// Logarithm of the number of buckets that a split makes.
const SPLIT_BITS: u32 = 10;
/// Cells whose scales are found without a check of their number.
const FEW_CELLS: usize = 64;
/// Rows between those whose buckets are found and those that are fetched meanwhile.
#[cfg(target_arch = "x86_64")]
const ROWS_AHEAD: usize = 512;
/// No children.
const NONE: u32 = u32::MAX;

/// A bucket that is not split, and holds something.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leaf {
    /// Its number among all buckets.
    pub bucket: usize,
    pub count: u64,
    /// Smallest and largest key that falls into it; not known for buckets of the root until asked for.
    keys: Option<(u64, u64)>,
}

/// A split bucket: its own buckets are `(key - low) >> shift`, from number `base` on.
#[derive(Clone, Copy, Debug)]
struct Node {
    low: u64,
    high: u64,
    shift: u32,
    base: usize,
}

/// The buckets of all cells.
#[derive(Clone, Debug)]
pub(crate) struct Leaves {
    pub cells: usize,
    bits: u32,
    pub scales: Vec<Scale>,
    nodes: Vec<Node>,
    /// Number of observations of each bucket.
    pub counts: Vec<u64>,
    children: Vec<u32>,
}

impl Leaves {
    /// Roots of `1 << bits` empty buckets.
    pub(crate) fn new(cells: usize, bits: u32) -> Self {
        Self {
            cells,
            bits,
            scales: vec![Scale::from_some(&mut []); cells],
            nodes: Vec::new(),
            counts: vec![0; cells << bits],
            children: vec![NONE; cells << bits],
        }
    }

    /// The root's bucket of a value.
    #[inline(always)]
    pub(crate) fn root_bucket(&self, cell: u32, value: f64) -> usize {
        (cell as usize) << self.bits | self.scales[cell as usize].bucket(value, self.bits - 1)
    }

    /// For finding the root's buckets of many rows.
    pub(crate) fn roots(&self) -> Roots<'_> {
        let few = (self.cells <= FEW_CELLS).then(|| {
            let mut few = [Scale::from_some(&mut []); FEW_CELLS];
            few[..self.cells].copy_from_slice(&self.scales);
            few
        });
        Roots {
            leaves: self,
            few,
            #[cfg(target_arch = "x86_64")]
            wide: is_x86_feature_detected!("avx2"),
        }
    }

    /// Whether any leaf was split.
    pub(crate) fn is_split(&self) -> bool {
        !self.nodes.is_empty()
    }

    /// The bucket of a value that falls into this one, after all splits.
    #[inline]
    pub(crate) fn descend(&self, mut bucket: usize, value: f64) -> usize {
        while let Some(node) = self.child(bucket) {
            bucket = self.node_bucket(node, value);
        }
        bucket
    }

    /// The bucket of a value in a node.
    #[inline]
    fn node_bucket(&self, node: u32, value: f64) -> usize {
        let node = self.nodes[node as usize];
        // Not a number may have any key.
        let key = key_of(value).clamp(node.low, node.high);
        node.base + ((key - node.low) >> node.shift) as usize
    }

    /// The node that a bucket was split into.
    #[inline]
    fn child(&self, bucket: usize) -> Option<u32> {
        let child = self.children[bucket];
        (child != NONE).then_some(child)
    }

    /// Number of observations of a cell.
    pub(crate) fn total(&self, cell: usize) -> u64 {
        self.counts[cell << self.bits..(cell + 1) << self.bits]
            .iter()
            .sum()
    }

    /// Smallest and largest key that falls into a cell's leaf.
    pub(crate) fn keys(&self, cell: usize, leaf: &Leaf) -> (u64, u64) {
        leaf.keys.unwrap_or_else(|| {
            let number = leaf.bucket - (cell << self.bits);
            let last = number + 1 == 1 << self.bits;
            let low = if number == 0 {
                0
            } else {
                self.edge(cell, number)
            };
            (
                low,
                if last {
                    u64::MAX
                } else {
                    self.edge(cell, number + 1) - 1
                },
            )
        })
    }

    /// Where a cell's leaf begins and ends, up to rounding; the outermost are points.
    pub(crate) fn ends(&self, cell: usize, leaf: &Leaf) -> (f64, f64) {
        match leaf.keys {
            Some((low, high)) => {
                let within = |key: u64| value_of(key.clamp(key_of(f64::MIN), key_of(f64::MAX)));
                (within(low), within(high))
            }
            None => {
                let number = leaf.bucket - (cell << self.bits);
                self.scales[cell].ends_near(number, self.bits - 1)
            }
        }
    }

    /// Makes a cell's leaf finer; the new buckets are empty until counted.
    pub(crate) fn split(&mut self, cell: usize, leaf: &Leaf) {
        let (low, high) = self.keys(cell, leaf);
        let range_bits = 64 - (high - low).leading_zeros();
        let shift = range_bits.saturating_sub(SPLIT_BITS);
        let buckets = ((high - low) >> shift) as usize + 1;
        self.children[leaf.bucket] = self.nodes.len() as u32;
        self.nodes.push(Node {
            low,
            high,
            shift,
            base: self.counts.len(),
        });
        self.counts.resize(self.counts.len() + buckets, 0);
        self.children.resize(self.counts.len(), NONE);
    }

    /// The leaves of a cell that hold something, ascending.
    pub(crate) fn list(&self, cell: usize) -> Vec<Leaf> {
        let mut leaves = Vec::new();
        self.visit(cell, |leaf| leaves.push(leaf));
        leaves
    }

    /// Calls `take` with each leaf of a cell that holds something, ascending.
    pub(crate) fn visit(&self, cell: usize, mut take: impl FnMut(Leaf)) {
        let first = cell << self.bits;
        for bucket in first..first + (1 << self.bits) {
            let count = self.counts[bucket];
            match self.child(bucket) {
                Some(child) => self.visit_node(child, &mut take),
                None if count > 0 => take(Leaf {
                    bucket,
                    count,
                    keys: None,
                }),
                None => {}
            }
        }
    }

    fn visit_node(&self, node: u32, take: &mut impl FnMut(Leaf)) {
        let node = self.nodes[node as usize];
        for number in 0..=((node.high - node.low) >> node.shift) as usize {
            let (bucket, count) = (node.base + number, self.counts[node.base + number]);
            if let Some(child) = self.child(bucket) {
                self.visit_node(child, take);
            } else if count > 0 {
                let low = node.low + ((number as u64) << node.shift);
                let high = low.saturating_add((1 << node.shift) - 1).min(node.high);
                take(Leaf {
                    bucket,
                    count,
                    keys: Some((low, high)),
                });
            }
        }
    }

    /// Smallest key of a value that falls into a root's bucket or a later one.
    fn edge(&self, cell: usize, number: usize) -> u64 {
        let scale = self.scales[cell];
        let (least, most) = (key_of(f64::NEG_INFINITY), key_of(f64::INFINITY));
        let reached = |key: u64| scale.bucket(value_of(key), self.bits - 1) >= number;
        // The edge is a few roundings from where it should be.
        let guess = key_of(scale.edge_near(number, self.bits - 1)).clamp(least, most);
        let (mut low, mut high, mut reach) = (guess, guess, 1u64);
        while low > least && reached(low) {
            low = low.saturating_sub(reach).max(least);
            reach = reach.saturating_mul(4);
        }
        reach = 1;
        while high < most && !reached(high) {
            high = high.saturating_add(reach).min(most);
            reach = reach.saturating_mul(4);
        }
        while low < high {
            let middle = low + (high - low) / 2;
            if reached(middle) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        low
    }
}

/// Finds the root's buckets of many rows at a time.
pub(crate) struct Roots<'a> {
    leaves: &'a Leaves,
    few: Option<[Scale; FEW_CELLS]>,
    #[cfg(target_arch = "x86_64")]
    wide: bool,
}

impl Roots<'_> {
    /// The root's bucket of each row.
    ///
    /// # Panics
    /// When a cell number is too large.
    #[inline(always)]
    pub(crate) fn find(&self, cells: &[u32], values: &[f64], buckets: &mut [u32]) {
        fetch_ahead(cells);
        fetch_ahead(values);
        #[cfg(target_arch = "x86_64")]
        if self.wide {
            // SAFETY: the processor was asked whether it can.
            return unsafe { self.find_wide(cells, values, buckets) };
        }
        self.find_here(cells, values, buckets);
    }

    /// The same with registers for four values: twice as fast.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn find_wide(&self, cells: &[u32], values: &[f64], buckets: &mut [u32]) {
        self.find_here(cells, values, buckets);
    }

    #[inline(always)]
    fn find_here(&self, cells: &[u32], values: &[f64], buckets: &mut [u32]) {
        let most = cells.iter().fold(0, |most, &cell| most.max(cell));
        assert!(
            (most as usize) < self.leaves.cells,
            "there is no cell {most}"
        );
        let bits = self.leaves.bits;
        let rows = cells.iter().zip(values).zip(buckets);
        if let Some(scales) = &self.few {
            // A remainder instead of a check: only so are several rows computed at once.
            for ((&cell, &value), bucket) in rows {
                let scale = scales[cell as usize % FEW_CELLS];
                *bucket = cell << bits | scale.bucket(value, bits - 1) as u32;
            }
        } else {
            for ((&cell, &value), bucket) in rows {
                *bucket = self.leaves.root_bucket(cell, value) as u32;
            }
        }
    }
}

/// Asks for the memory that comes after a block of rows, so that it is there when its turn comes.
///
/// Processors do so by themselves only to the end of a page; this makes a pass over many rows a third faster.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn fetch_ahead<T>(rows: &[T]) {
    for line in (0..size_of_val(rows)).step_by(64) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let ahead = (rows.as_ptr())
            .wrapping_add(ROWS_AHEAD)
            .wrapping_byte_add(line);
        // SAFETY: this is a hint, for which an address need not be one of ours or of anything.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(ahead.cast()) };
    }
}

/// Elsewhere processors are left to it.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn fetch_ahead<T>(_rows: &[T]) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_part_the_keys_as_counting_does() {
        let samples: [&[f64]; 5] = [
            &[1.0, 2.0, 3.0, 4.0, 50.0],
            &[-1e300, 0.0, 1e300],
            &[5.0],
            &[1e9, 1e9 + 1.0, 1e9 + 2.0],
            &[0.0, 5e-324],
        ];
        for some in samples {
            let mut leaves = Leaves::new(1, 7);
            leaves.scales[0] = Scale::from_some(&mut some.to_vec());
            leaves.counts.fill(1);
            let listed = leaves.list(0);
            let mut next = 0;
            for (number, leaf) in listed.iter().enumerate() {
                let (low, high) = leaves.keys(0, leaf);
                assert_eq!(low, next, "{some:?} {number}");
                next = high.wrapping_add(1);
                for key in [low, high] {
                    let value = value_of(key);
                    if low <= high && value.is_finite() {
                        assert_eq!(leaves.root_bucket(0, value), number, "{some:?}");
                    }
                }
            }
            assert_eq!(next, 0, "the last leaf ends with the last key");
        }
    }

    #[test]
    fn rows_of_a_block_get_the_buckets_that_each_gets_alone() {
        let odd = [f64::MIN, -0.0, 0.0, 5e-324, 1.0, 1e9, f64::MAX, -7.5];
        for cells in [1, 3, FEW_CELLS, FEW_CELLS + 1, 1000] {
            let mut leaves = Leaves::new(cells, 6);
            for (cell, scale) in leaves.scales.iter_mut().enumerate() {
                let start = cell as f64 - 1.0;
                *scale = Scale::from_some(&mut [start, start + 0.5, start + 3.0, 9.0 * start]);
            }
            for rows in [0, 1, 63, 64, 1000] {
                let numbers: Vec<u32> = (0..rows).map(|row| row * 31 % cells as u32).collect();
                let values: Vec<f64> = (0..rows)
                    .map(|row| odd[row as usize % 8] * f64::from(row % 13))
                    .collect();
                let alone: Vec<u32> = (numbers.iter().zip(&values))
                    .map(|(&cell, &value)| leaves.root_bucket(cell, value) as u32)
                    .collect();
                let roots = leaves.roots();
                let mut found = vec![0; rows as usize];
                roots.find(&numbers, &values, &mut found);
                assert_eq!(found, alone, "{cells} cells, {rows} rows");
                found.fill(0);
                roots.find_here(&numbers, &values, &mut found);
                assert_eq!(found, alone, "without wide registers");
            }
        }
    }

    #[test]
    #[should_panic(expected = "there is no cell 2")]
    fn a_cell_that_does_not_exist_is_noticed() {
        (Leaves::new(2, 6).roots()).find(&[0, 2], &[1.0, 1.0], &mut [0, 0]);
    }

    #[test]
    fn splits_end_at_single_doubles() {
        let mut leaves = Leaves::new(1, 4);
        let value = 0.1;
        let mut depth = 0;
        loop {
            let mut bucket = leaves.root_bucket(0, value);
            while let Some(child) = leaves.child(bucket) {
                bucket = leaves.node_bucket(child, value);
            }
            leaves.counts[bucket] = 1;
            let listed = leaves.list(0);
            let [leaf] = &listed[..] else {
                panic!("one leaf holds something")
            };
            let (low, high) = leaves.keys(0, leaf);
            assert!((low..=high).contains(&key_of(value)));
            if low == high {
                break;
            }
            leaves.split(0, leaf);
            depth += 1;
        }
        assert!(depth <= 7, "{depth}");
    }
}
