//! Sorting the values of each cell: spread over buckets that fit the cache, then finished there.

use rayon::prelude::*;

use super::order::{key_of, value_of};
use super::scale::{Scale, find_scales};

/// Observations that a bucket should hold: few enough for the first cache, with room for a copy.
const PER_BUCKET: usize = 512;
/// Most buckets in all; writing to more places at once than the caches have lines is slow.
const MOST_BUCKETS: usize = 1 << 15;
/// Below this many rows one thread is faster than several.
const WORTH_THREADS: usize = 1 << 15;

/// The values of each cell, ascending, one cell after the other, and where each cell starts (cells + 1).
///
/// # Panics
/// When the slices differ in length or a cell number is not below `cells`.
pub(crate) fn sort_cells(
    cell_of_row: &[u32],
    values: &[f64],
    cells: usize,
) -> (Vec<f64>, Vec<usize>) {
    assert_eq!(cell_of_row.len(), values.len(), "one cell for each value");
    let n = values.len();
    let strips = if n < WORTH_THREADS {
        1
    } else {
        rayon::current_num_threads()
    };
    let bits = choose_bits(n, cells);
    if bits == 0 {
        let spread = spread_rows(cell_of_row, values, cells, strips, |cell, _| cell as usize);
        return finish(spread, 1, cells);
    }
    let scales = find_scales(cell_of_row, values, cells);
    let scales: &[Scale] = &scales;
    let spread = spread_rows(cell_of_row, values, cells << bits, strips, |cell, value| {
        (cell as usize) << bits | scales[cell as usize].bucket(value, bits - 1)
    });
    finish(spread, 1 << bits, cells)
}

/// Logarithm of the number of buckets of a cell; 0 when cells are small enough as they are.
fn choose_bits(n: usize, cells: usize) -> u32 {
    let wanted = (n / PER_BUCKET).min(MOST_BUCKETS) / cells.max(1);
    // The scale needs a few bits for its octaves.
    match wanted.checked_ilog2() {
        Some(bits) if bits >= 4 => bits,
        _ => 0,
    }
}

struct Spread {
    keys: Vec<f64>,
    starts: Vec<usize>,
}

/// A stable distribution of the rows' keys over buckets (as bits of doubles), by counting.
fn spread_rows<F>(
    cell_of_row: &[u32],
    values: &[f64],
    buckets: usize,
    strips: usize,
    bucket_of: F,
) -> Spread
where
    F: Fn(u32, f64) -> usize + Sync,
{
    let n = values.len();
    let rows = n.div_ceil(strips).max(1);
    let count = |(cells, values): (&[u32], &[f64])| {
        let mut counts = vec![0usize; buckets];
        for (&cell, &value) in cells.iter().zip(values) {
            counts[bucket_of(cell, value)] += 1;
        }
        counts
    };
    let mut parts: Vec<Vec<usize>> = if strips == 1 {
        vec![count((cell_of_row, values))]
    } else {
        cell_of_row
            .par_chunks(rows)
            .zip(values.par_chunks(rows))
            .map(count)
            .collect()
    };
    let mut starts = Vec::with_capacity(buckets + 1);
    let mut total = 0;
    for bucket in 0..buckets {
        starts.push(total);
        for part in &mut parts {
            total += std::mem::replace(&mut part[bucket], total);
        }
    }
    starts.push(total);
    assert_eq!(total, n, "every row has its place");

    let mut keys = vec![0.0; n];
    let target = Places(keys.as_mut_ptr());
    let place = |((cells, values), mut next): ((&[u32], &[f64]), Vec<usize>)| {
        let target = &target;
        for (&cell, &value) in cells.iter().zip(values) {
            let slot = &mut next[bucket_of(cell, value)];
            assert!(*slot < n, "the rows changed while they were read");
            // SAFETY: the place is inside; the same rows were counted with the same function, so that
            // each place is written once, by one thread.
            unsafe { target.0.add(*slot).write(f64::from_bits(key_of(value))) };
            *slot += 1;
        }
    };
    if strips == 1 {
        place(((cell_of_row, values), parts.pop().unwrap_or_default()));
    } else {
        cell_of_row
            .par_chunks(rows)
            .zip(values.par_chunks(rows))
            .zip(parts.into_par_iter())
            .for_each(place);
    }
    Spread { keys, starts }
}

struct Places(*mut f64);
// SAFETY: threads write to disjoint places.
unsafe impl Sync for Places {}

/// Sorts each bucket and turns keys into values again.
fn finish(spread: Spread, per_cell: usize, cells: usize) -> (Vec<f64>, Vec<usize>) {
    let Spread { mut keys, starts } = spread;
    // Some buckets at a time: enough work for a thread, little enough to share evenly.
    let group = (starts.len() - 1).div_ceil(256).max(1);
    let mut parts: Vec<(&mut [f64], &[usize])> = Vec::new();
    let mut rest: &mut [f64] = &mut keys;
    for bounds in (0..starts.len() - 1).step_by(group) {
        let end = (bounds + group).min(starts.len() - 1);
        let (part, later) = rest.split_at_mut(starts[end] - starts[bounds]);
        parts.push((part, &starts[bounds..=end]));
        rest = later;
    }
    let sort_part = |(part, bounds): (&mut [f64], &[usize])| {
        let mut scratch = Scratch::default();
        for pair in bounds.windows(2) {
            let bucket = &mut part[pair[0] - bounds[0]..pair[1] - bounds[0]];
            sort_as_keys(bucket, &mut scratch);
        }
    };
    if *starts.last().unwrap_or(&0) < WORTH_THREADS {
        parts.into_iter().for_each(sort_part);
    } else {
        parts.into_par_iter().for_each(sort_part);
    }
    let of_cells = (0..=cells).map(|cell| starts[cell * per_cell]).collect();
    (keys, of_cells)
}

/// Sorts values, both zeros as the positive one.
pub(crate) fn sort_values(values: &mut [f64], scratch: &mut Scratch) {
    for value in values.iter_mut() {
        *value = f64::from_bits(key_of(*value));
    }
    sort_as_keys(values, scratch);
}

/// Sorts what holds keys as the bits of doubles, and turns them into values.
fn sort_as_keys(values: &mut [f64], scratch: &mut Scratch) {
    // SAFETY: a double and an integer of 64 bits have the same size and alignment, and any bits are both.
    let keys =
        unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast::<u64>(), values.len()) };
    sort_keys(keys, scratch);
    for value in values {
        *value = value_of(value.to_bits());
    }
}

/// Room that sorting needs, for use again.
#[derive(Default)]
pub(crate) struct Scratch {
    keys: Vec<u64>,
    ends: Vec<u32>,
}

/// Sorts keys that are likely spread evenly: one pass over small ranges, then insertion.
fn sort_keys(keys: &mut [u64], scratch: &mut Scratch) {
    const SMALL: usize = 24;
    let n = keys.len();
    if n <= SMALL {
        insert_all(keys);
        return;
    }
    let (low, high) = keys.iter().fold((u64::MAX, 0), |(low, high), &key| {
        (low.min(key), high.max(key))
    });
    if low == high {
        return;
    }
    if n > 1 << 16 {
        keys.sort_unstable();
        return;
    }
    let range_bits = 64 - (high - low).leading_zeros();
    let shift = range_bits.saturating_sub(n.ilog2() + 1);
    let ranges = ((high - low) >> shift) as usize + 1;
    let Scratch { keys: copy, ends } = scratch;
    ends.clear();
    ends.resize(ranges, 0);
    for &key in keys.iter() {
        ends[((key - low) >> shift) as usize] += 1;
    }
    let (mut total, mut fullest) = (0, 0);
    for end in ends.iter_mut() {
        fullest = fullest.max(*end);
        total += *end;
        *end = total;
    }
    copy.clear();
    copy.extend_from_slice(keys);
    for &key in copy.iter() {
        let end = &mut ends[((key - low) >> shift) as usize];
        *end -= 1;
        keys[*end as usize] = key;
    }
    if fullest as usize <= SMALL {
        insert_all(keys);
        return;
    }
    for range in 0..ranges {
        let end = ends.get(range + 1).map_or(n, |&next| next as usize);
        let part = &mut keys[ends[range] as usize..end];
        if part.len() <= SMALL {
            insert_all(part);
        } else {
            part.sort_unstable();
        }
    }
}

/// Insertion: the fastest when no key is far from its place.
fn insert_all(keys: &mut [u64]) {
    for index in 1..keys.len() {
        let key = keys[index];
        let mut place = index;
        while place > 0 && keys[place - 1] > key {
            keys[place] = keys[place - 1];
            place -= 1;
        }
        keys[place] = key;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that look random and are the same every time.
    fn noise(seed: u64) -> impl Iterator<Item = u64> {
        (seed..).map(|step| {
            let mut x = step.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            x ^ (x >> 31)
        })
    }

    fn check(cell_of_row: &[u32], values: &[f64], cells: usize) {
        let (sorted, starts) = sort_cells(cell_of_row, values, cells);
        for cell in 0..cells {
            let mut wanted: Vec<f64> = (cell_of_row.iter().zip(values))
                .filter(|&(&row, _)| row as usize == cell)
                .map(|(_, &value)| value)
                .collect();
            wanted.sort_unstable_by(f64::total_cmp);
            assert!(sorted[starts[cell]..starts[cell + 1]] == wanted[..]);
        }
    }

    #[test]
    fn each_cell_is_sorted_whatever_the_values() {
        let shapes: [fn(u64) -> f64; 7] = [
            |x| x as f64,
            |x| (x % 5) as f64,
            |x| (x as f64 / 1e19 - 0.5).tan(),
            |x| 1e9 + (x % 1000) as f64 * 1e-6,
            |x| {
                let bits = f64::from_bits(x);
                if bits.is_finite() { bits } else { 0.0 }
            },
            |_| -7.25,
            |x| if x % 50 == 0 { 1e300 } else { 0.0 },
        ];
        for (seed, shape) in shapes.into_iter().enumerate() {
            for (n, cells) in [
                (0, 3),
                (1, 1),
                (100, 7),
                (50_000, 3),
                (120_000, 16),
                (3000, 5000),
            ] {
                let values: Vec<f64> = noise(seed as u64).take(n).map(shape).collect();
                let rows: Vec<u32> = noise(99).take(n).map(|x| (x % cells) as u32).collect();
                check(&rows, &values, cells as usize);
                let lopsided: Vec<u32> =
                    noise(7).take(n).map(|x| u32::from(x % 997 == 0)).collect();
                check(&lopsided, &values, cells as usize + 1);
            }
        }
    }

    #[test]
    fn rows_in_order_are_no_harder_than_others() {
        let n = 200_000;
        let values: Vec<f64> = (0..n).map(f64::from).collect();
        let falling: Vec<f64> = values.iter().rev().copied().collect();
        let rows: Vec<u32> = (0..n as u32).map(|row| row / 20_000).collect();
        check(&rows, &values, 10);
        check(&rows, &falling, 10);
    }

    #[test]
    fn not_a_number_is_put_last_and_breaks_nothing() {
        let mut values = vec![1.0; 70_000];
        values[5] = f64::NAN;
        values[6] = f64::INFINITY;
        let (sorted, _) = sort_cells(&vec![0; 70_000], &values, 1);
        assert!(sorted[69_999].is_nan());
        assert_eq!(sorted[69_998], f64::INFINITY);
    }
}
