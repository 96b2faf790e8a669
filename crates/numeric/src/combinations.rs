//! Which combination of levels each row has, numbered among those that occur.

use rayon::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};

/// Rows that one thread takes at a time.
const ROWS_AT_A_TIME: usize = 1 << 16;

/// The level of every row as its index, in the width that it came in.
#[derive(Clone, Copy, Debug)]
pub enum Codes<'a> {
    /// Of fewer than 256 levels.
    Narrow(&'a [u8]),
    /// Of any number of levels.
    Wide(&'a [u32]),
}

impl Codes<'_> {
    /// Number of rows.
    pub fn len(&self) -> usize {
        match self {
            Codes::Narrow(codes) => codes.len(),
            Codes::Wide(codes) => codes.len(),
        }
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends the codes of rows `start..` as lowest digits; false where one is not below `size`.
    fn append(&self, start: usize, size: u32, rows: &mut [u32]) -> bool {
        match self {
            Codes::Narrow(codes) => append_codes(&codes[start..], size, rows),
            Codes::Wide(codes) => append_codes(&codes[start..], size, rows),
        }
    }
}

fn append_codes<T: Copy + Into<u32>>(codes: &[T], size: u32, rows: &mut [u32]) -> bool {
    let mut largest = 0;
    for (row, &code) in rows.iter_mut().zip(codes) {
        let code = code.into();
        largest = largest.max(code);
        // Out of range only where a code is too large, which is refused.
        *row = row.wrapping_mul(size).wrapping_add(code);
    }
    largest < size || rows.is_empty()
}

/// Numbers the combinations of codes that occur, in their order with the first column slowest.
///
/// Returns these combinations (each as one number, the first column's code times the product of the
/// others' sizes, and so on) and writes the index of every row's among them to `of_row`; None where a
/// code is not below its column's size. Memory grows with the product of the sizes, which must fit
/// 32 bits.
///
/// # Panics
/// When the columns and `of_row` differ in length.
pub fn number_combinations(
    columns: &[Codes<'_>],
    sizes: &[u32],
    of_row: &mut [u32],
) -> Option<Vec<u32>> {
    assert_eq!(columns.len(), sizes.len(), "one size for each column");
    assert!(
        columns.iter().all(|column| column.len() == of_row.len()),
        "columns of one length"
    );
    let possible: usize = sizes.iter().map(|&size| size as usize).product();
    assert!(u32::try_from(possible).is_ok(), "too many combinations");
    let present: Vec<AtomicBool> = (0..possible).map(|_| AtomicBool::new(false)).collect();
    let fits = of_row
        .par_chunks_mut(ROWS_AT_A_TIME)
        .enumerate()
        .all(|(part, rows)| {
            rows.fill(0);
            let start = part * ROWS_AT_A_TIME;
            if !columns
                .iter()
                .zip(sizes)
                .all(|(column, &size)| column.append(start, size, rows))
            {
                return false;
            }
            for &row in rows.iter() {
                // Reading is free where all threads only read; most combinations are met early.
                let seen = &present[row as usize];
                if !seen.load(Ordering::Relaxed) {
                    seen.store(true, Ordering::Relaxed);
                }
            }
            true
        });
    if !fits {
        return None;
    }
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
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn combinations_that_do_not_occur_get_no_number() {
        let mut of_row = [0; 4];
        let columns = [Codes::Wide(&[1, 0, 1, 1]), Codes::Narrow(&[2, 0, 2, 1])];
        let found = number_combinations(&columns, &[2, 3], &mut of_row);
        assert_eq!(found, Some(vec![0, 4, 5]));
        assert_eq!(of_row, [2, 0, 2, 1]);
    }

    #[test]
    fn every_part_of_many_rows_is_numbered() {
        let codes: Vec<u32> = (0..200_000).map(|row| row % 7).collect();
        let mut of_row = vec![9; codes.len()];
        let found = number_combinations(&[Codes::Wide(&codes)], &[9], &mut of_row);
        assert_eq!(found, Some(vec![0, 1, 2, 3, 4, 5, 6]));
        assert_eq!(of_row, codes);
    }

    #[test]
    fn a_code_beyond_its_size_is_refused() {
        assert_eq!(
            number_combinations(&[Codes::Wide(&[3])], &[3], &mut [0]),
            None
        );
        assert_eq!(
            number_combinations(
                &[Codes::Narrow(&[0, 9]), Codes::Narrow(&[0, 1])],
                &[3, 2],
                &mut [0; 2]
            ),
            None
        );
    }
}
