//! Which combination of levels each row has, numbered among those that occur.

use rayon::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};

/// Rows that one thread takes at a time.
const ROWS_AT_A_TIME: usize = 1 << 16;

/// Numbers the combinations of codes that occur, in their order with the first column slowest.
///
/// Returns these combinations (each as one number, the first column's code times the product of the
/// others' sizes, and so on) and the index of every row's among them. Memory grows with the product
/// of the sizes, which must fit 32 bits.
///
/// # Panics
/// When the columns differ in length or a code is not below its column's size.
pub fn number_combinations(columns: &[&[u32]], sizes: &[u32]) -> (Vec<u32>, Vec<u32>) {
    assert_eq!(columns.len(), sizes.len(), "one size for each column");
    let n = columns.first().map_or(0, |column| column.len());
    assert!(
        columns.iter().all(|column| column.len() == n),
        "columns of one length"
    );
    let possible: usize = sizes.iter().map(|&size| size as usize).product();
    assert!(u32::try_from(possible).is_ok(), "too many combinations");
    let present: Vec<AtomicBool> = (0..possible).map(|_| AtomicBool::new(false)).collect();
    let mut of_row = vec![0_u32; n];
    of_row
        .par_chunks_mut(ROWS_AT_A_TIME)
        .enumerate()
        .for_each(|(part, rows)| {
            let start = part * ROWS_AT_A_TIME;
            for (column, &size) in columns.iter().zip(sizes) {
                for (row, &code) in rows.iter_mut().zip(&column[start..]) {
                    assert!(code < size, "a code beyond its column's size");
                    *row = *row * size + code;
                }
            }
            for &row in rows.iter() {
                // Reading is free where all threads only read; most combinations are met early.
                let seen = &present[row as usize];
                if !seen.load(Ordering::Relaxed) {
                    seen.store(true, Ordering::Relaxed);
                }
            }
        });
    let mut rank = vec![0_u32; possible];
    let mut found = Vec::new();
    for (combination, seen) in present.iter().enumerate() {
        if seen.load(Ordering::Relaxed) {
            rank[combination] = found.len() as u32;
            found.push(combination as u32);
        }
    }
    if found.len() < possible {
        of_row.par_chunks_mut(ROWS_AT_A_TIME).for_each(|rows| {
            for row in rows {
                *row = rank[*row as usize];
            }
        });
    }
    (found, of_row)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn combinations_that_do_not_occur_get_no_number() {
        let (found, of_row) = number_combinations(&[&[1, 0, 1, 1], &[2, 0, 2, 1]], &[2, 3]);
        assert_eq!(found, [0, 4, 5]);
        assert_eq!(of_row, [2, 0, 2, 1]);
    }

    #[test]
    fn every_part_of_many_rows_is_numbered() {
        let codes: Vec<u32> = (0..200_000).map(|row| row % 7).collect();
        let (found, of_row) = number_combinations(&[&codes], &[9]);
        assert_eq!(found, [0, 1, 2, 3, 4, 5, 6]);
        assert_eq!(of_row, codes);
    }

    #[test]
    #[should_panic(expected = "beyond its column's size")]
    fn a_code_beyond_its_size_is_refused() {
        number_combinations(&[&[3]], &[3]);
    }
}
