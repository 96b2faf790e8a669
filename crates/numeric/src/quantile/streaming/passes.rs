//! Passes over the rows: counting leaves, then collecting the values of those that matter.

use std::sync::Mutex;

use rayon::prelude::*;

use super::leaves::Leaves;
use crate::quantile::sorting::{Scratch, sort_values};

/// Rows whose buckets are found at once: numbers that fit a byte, and few enough that work on the next
/// ones overlaps.
const BLOCK: usize = 1 << 6;
/// Rows between two visits to what the threads share.
const ROWS_AT_A_TIME: usize = 1 << 12;
/// Rows that are worth another thread.
const WORTH_A_THREAD: usize = 1 << 16;

/// Counts rows by root bucket, and writes down the bucket of each row where there is room for it.
pub(crate) fn count_roots(
    leaves: &mut Leaves,
    cell_of_row: &[u32],
    values: &[f64],
    of_row: &mut [u16],
) {
    let rows = rows_per_strip(values.len(), rayon::current_num_threads());
    let tree: &Leaves = leaves;
    let count = |((cells, values), of_row): ((&[u32], &[f64]), &mut [u16])| {
        let mut counts = vec![0u32; tree.counts.len()];
        let (roots, mut buckets) = (tree.roots(), [0u32; BLOCK]);
        let mut places = of_row.chunks_mut(BLOCK);
        for (cells, values) in cells.chunks(BLOCK).zip(values.chunks(BLOCK)) {
            let buckets = &mut buckets[..values.len()];
            roots.find(cells, values, buckets);
            for (place, &mut bucket) in places
                .next()
                .unwrap_or_default()
                .iter_mut()
                .zip(&mut *buckets)
            {
                *place = bucket as u16;
            }
            for &mut bucket in buckets {
                counts[bucket as usize] += 1;
            }
        }
        counts
    };
    let parts: Vec<Vec<u32>> = if values.len() <= rows {
        vec![count(((cell_of_row, values), of_row))]
    } else if of_row.is_empty() {
        (cell_of_row.par_chunks(rows).zip(values.par_chunks(rows)))
            .map(|part| count((part, &mut [])))
            .collect()
    } else {
        (cell_of_row.par_chunks(rows).zip(values.par_chunks(rows)))
            .zip(of_row.par_chunks_mut(rows))
            .map(count)
            .collect()
    };
    add_counts(&mut leaves.counts, parts);
}

/// Counts rows by leaf among the buckets from number `fresh` on, the earlier ones being counted already.
pub(crate) fn count_rows(leaves: &mut Leaves, cell_of_row: &[u32], values: &[f64], fresh: usize) {
    let rows = rows_per_strip(values.len(), rayon::current_num_threads());
    let tree: &Leaves = leaves;
    let count = |(cells, values): (&[u32], &[f64])| {
        let mut counts = vec![0u32; tree.counts.len() - fresh];
        let (roots, mut buckets) = (tree.roots(), [0u32; BLOCK]);
        for (cells, values) in cells.chunks(BLOCK).zip(values.chunks(BLOCK)) {
            let buckets = &mut buckets[..values.len()];
            roots.find(cells, values, buckets);
            for (&mut root, &value) in buckets.iter_mut().zip(values) {
                let bucket = tree.descend(root as usize, value);
                if bucket >= fresh {
                    counts[bucket - fresh] += 1;
                }
            }
        }
        counts
    };
    let parts: Vec<Vec<u32>> = if values.len() <= rows {
        vec![count((cell_of_row, values))]
    } else {
        (cell_of_row.par_chunks(rows).zip(values.par_chunks(rows)))
            .map(count)
            .collect()
    };
    add_counts(&mut leaves.counts[fresh..], parts);
}

fn add_counts(counts: &mut [u64], parts: Vec<Vec<u32>>) {
    for part in parts {
        for (all, one) in counts.iter_mut().zip(part) {
            *all += u64::from(one);
        }
    }
}

/// What becomes of the values of a leaf.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fate(u32);

const COLLECTED: u32 = 1 << 31;

impl Fate {
    /// Collected into place number `index`.
    pub(crate) fn collect(index: usize) -> Self {
        Self(COLLECTED | index as u32)
    }

    /// Added to sum number `index`.
    pub(crate) fn sum(index: usize) -> Self {
        Self(index as u32)
    }
}

/// Values of some leaves, and sums of the others.
#[derive(Debug)]
pub(crate) struct Collection {
    /// By bucket.
    pub fates: Vec<Fate>,
    /// Where each collected leaf's values begin, and the end.
    pub bounds: Vec<usize>,
    pub values: Vec<f64>,
    filled: Vec<usize>,
    /// Sums of values less the middle of their cell's scale.
    pub sums: Vec<f64>,
    with_sums: bool,
}

impl Collection {
    /// Room for leaves of these counts and this number of sums; `None` when sums are not needed.
    pub(crate) fn new(fates: Vec<Fate>, counts: &[u64], sums: Option<usize>) -> Self {
        let mut bounds = vec![0];
        for &count in counts {
            bounds.push(bounds[bounds.len() - 1] + count as usize);
        }
        Self {
            fates,
            values: vec![0.0; bounds[counts.len()]],
            filled: bounds[..counts.len()].to_vec(),
            bounds,
            sums: vec![0.0; sums.unwrap_or(0)],
            with_sums: sums.is_some(),
        }
    }

    /// Whether each leaf got as many values as were counted.
    pub(crate) fn is_complete(&self) -> bool {
        self.filled[..] == self.bounds[1..]
    }

    /// Sorts the values of each collected leaf.
    pub(crate) fn sort_leaves(&mut self) {
        let many = self.values.len() > WORTH_A_THREAD;
        let mut rest: &mut [f64] = &mut self.values;
        let mut parts = Vec::with_capacity(self.bounds.len());
        for pair in self.bounds.windows(2) {
            let (part, later) = rest.split_at_mut(pair[1] - pair[0]);
            parts.push(part);
            rest = later;
        }
        let order = |scratch: &mut Scratch, part: &mut [f64]| sort_values(part, scratch);
        if many {
            parts.into_par_iter().for_each_init(Scratch::default, order);
        } else {
            let mut scratch = Scratch::default();
            (parts.into_iter()).for_each(|part| order(&mut scratch, part));
        }
    }

    /// Takes what it needs of some rows; false when they are not those that were counted.
    pub(crate) fn read(&mut self, leaves: &Leaves, cell_of_row: &[u32], values: &[f64]) -> bool {
        match (self.with_sums, leaves.is_split()) {
            (true, true) => self.read_rows::<true, true>(leaves, cell_of_row, values),
            (true, false) => self.read_rows::<true, false>(leaves, cell_of_row, values),
            (false, true) => self.read_rows::<false, true>(leaves, cell_of_row, values),
            (false, false) => self.read_rows::<false, false>(leaves, cell_of_row, values),
        }
    }

    /// Takes what it needs of rows whose root buckets are known; no leaf is split, and no sums are needed.
    pub(crate) fn read_known(&mut self, of_row: &[u16], values: &[f64]) -> bool {
        /// Rows of which most often none is needed.
        const FEW: usize = 8;
        let rows = rows_per_strip(values.len(), rayon::current_num_threads());
        // As large as the numbers may be, so that no access needs a check.
        let mut keeps = vec![0u8; 1 << 16];
        for (keep, &Fate(fate)) in keeps.iter_mut().zip(&self.fates) {
            *keep = u8::from(fate & COLLECTED != 0);
        }
        let Ok(keeps) = <&[u8; 1 << 16]>::try_from(&keeps[..]) else {
            return false;
        };
        let fates = &self.fates;
        let scan = |(of_row, values): (&[u16], &[f64])| {
            let mut found = Vec::new();
            let mut look = |of_row: &[u16], values: &[f64]| {
                for (&bucket, &value) in of_row.iter().zip(values) {
                    if keeps[usize::from(bucket)] != 0 {
                        found.push((fates[usize::from(bucket)].0 & !COLLECTED, value));
                    }
                }
            };
            let (groups, rest) = of_row.as_chunks::<FEW>();
            for (group, values) in groups.iter().zip(values.chunks_exact(FEW)) {
                if group
                    .iter()
                    .fold(0, |any, &bucket| any | keeps[usize::from(bucket)])
                    != 0
                {
                    look(group, values);
                }
            }
            look(rest, &values[values.len() - rest.len()..]);
            found
        };
        let parts: Vec<Vec<(u32, f64)>> = if values.len() <= rows {
            vec![scan((of_row, values))]
        } else {
            (of_row.par_chunks(rows).zip(values.par_chunks(rows)))
                .map(scan)
                .collect()
        };
        parts.iter().all(|found| self.store(found))
    }

    /// Stores values at their leaves; false when there are more than were counted.
    fn store(&mut self, found: &[(u32, f64)]) -> bool {
        let mut fits = true;
        for &(index, value) in found {
            let place = &mut self.filled[index as usize];
            if *place < self.bounds[index as usize + 1] {
                self.values[*place] = value + 0.0;
                *place += 1;
            } else {
                fits = false;
            }
        }
        fits
    }

    fn read_rows<const SUMS: bool, const SPLIT: bool>(
        &mut self,
        leaves: &Leaves,
        cell_of_row: &[u32],
        values: &[f64],
    ) -> bool {
        // A number of strips that does not depend on the threads, as sums depend on it.
        let strips = (1 << 20) / (self.sums.len() + 1);
        let rows = rows_per_strip(values.len(), strips.clamp(1, 32));
        let (fates, bounds, width) = (&self.fates, &self.bounds, self.sums.len());
        // Smaller than the fates, of which only those of collected rows are looked at.
        let keeps: Vec<u8> = if SUMS {
            Vec::new()
        } else {
            let kept = |&Fate(fate): &Fate| u8::from(fate & COLLECTED != 0);
            fates.iter().map(kept).collect()
        };
        let middles: Vec<f64> = leaves.scales.iter().map(|scale| scale.middle()).collect();
        let (keeps, middles): (&[u8], &[f64]) = (&keeps, &middles);
        let shared = Mutex::new((&mut self.values, &mut self.filled, true));
        let store = |found: &[(u32, f64)]| {
            let Ok(mut guard) = shared.lock() else { return };
            let (values, filled, fits) = &mut *guard;
            for &(index, value) in found {
                let place = &mut filled[index as usize];
                if *place < bounds[index as usize + 1] {
                    values[*place] = value + 0.0;
                    *place += 1;
                } else {
                    *fits = false;
                }
            }
        };
        let buffer = || vec![(0u32, 0.0); ROWS_AT_A_TIME + 1];
        let scan = |found: &mut Vec<(u32, f64)>, (cells, values): (&[u32], &[f64])| {
            let mut sums = vec![0.0; width + 1];
            let (roots, mut buckets) = (leaves.roots(), [0u32; BLOCK]);
            let mut rows_kept = [0u8; BLOCK];
            let parts = cells
                .chunks(ROWS_AT_A_TIME)
                .zip(values.chunks(ROWS_AT_A_TIME));
            for (cells, values) in parts {
                let mut count = 0;
                for (cells, values) in cells.chunks(BLOCK).zip(values.chunks(BLOCK)) {
                    let buckets = &mut buckets[..values.len()];
                    roots.find(cells, values, buckets);
                    if SPLIT {
                        for (bucket, &value) in buckets.iter_mut().zip(values) {
                            *bucket = leaves.descend(*bucket as usize, value) as u32;
                        }
                    }
                    // Written always and kept sometimes: cheaper than a branch that nobody can foresee.
                    let mut kept = 0;
                    if SUMS {
                        let rows = cells.iter().zip(values).zip(&*buckets);
                        for (row, ((&cell, &value), &bucket)) in rows.enumerate() {
                            let Fate(fate) = fates[bucket as usize];
                            sums[(fate as usize).min(width)] += value - middles[cell as usize];
                            rows_kept[kept % BLOCK] = row as u8;
                            kept += (fate / COLLECTED) as usize;
                        }
                    } else {
                        for (row, &bucket) in buckets.iter().enumerate() {
                            rows_kept[kept % BLOCK] = row as u8;
                            kept += usize::from(keeps[bucket as usize]);
                        }
                    }
                    for &row in &rows_kept[..kept] {
                        let Fate(fate) = fates[buckets[row as usize] as usize];
                        found[count] = (fate & !COLLECTED, values[row as usize]);
                        count += 1;
                    }
                }
                store(&found[..count]);
            }
            sums.truncate(width);
            sums
        };
        let parts: Vec<Vec<f64>> = if values.len() <= rows {
            vec![scan(&mut buffer(), (cell_of_row, values))]
        } else {
            (cell_of_row.par_chunks(rows).zip(values.par_chunks(rows)))
                .map_init(buffer, scan)
                .collect()
        };
        let fits = shared.into_inner().is_ok_and(|(_, _, fits)| fits);
        for part in parts {
            for (all, one) in self.sums.iter_mut().zip(part) {
                *all += one;
            }
        }
        fits
    }
}

fn rows_per_strip(n: usize, strips: usize) -> usize {
    n.div_ceil(strips).max(WORTH_A_THREAD)
}
