//! Rows in the order of their cells, and back.

use std::borrow::Cow;

/// Rows that are worth putting in the order of their cells, and rows of a cell that make a run.
const WORTH_ORDERING: usize = 1 << 14;
const ROWS_WORTH_A_RUN: usize = 256;

/// The order of the cells, and within a cell that of the rows as given.
///
/// A permutation would take as much memory again as the cells do, and hardly any row is asked for.
#[derive(Clone, Debug)]
pub(crate) struct CellOrder<'a> {
    /// Cell of each row as given.
    cells: Cow<'a, [u32]>,
    /// Where the rows of each cell begin in this order, and the end.
    starts: Vec<usize>,
}

impl<'a> CellOrder<'a> {
    /// Whether passes are so much faster in this order that it pays.
    pub fn pays(rows: usize, cells: usize) -> bool {
        rows >= WORTH_ORDERING && rows / ROWS_WORTH_A_RUN >= cells
    }

    /// Of rows whose cells are given, each below `count`.
    pub fn new(cells: Cow<'a, [u32]>, count: usize) -> Self {
        let mut starts = vec![0; count + 1];
        for &cell in &*cells {
            starts[cell as usize + 1] += 1;
        }
        for cell in 0..count {
            starts[cell + 1] += starts[cell];
        }
        Self { cells, starts }
    }

    /// Where the rows of each cell begin, and the end.
    pub fn starts(&self) -> &[usize] {
        &self.starts
    }

    /// Numbers by row as given, in this order.
    pub fn sort(&self, numbers: &[f64]) -> Vec<f64> {
        let mut next = self.starts.clone();
        let mut out = vec![0.0; numbers.len()];
        for (&number, &cell) in numbers.iter().zip(&*self.cells) {
            let place = &mut next[cell as usize];
            out[*place] = number;
            *place += 1;
        }
        out
    }

    /// Turns the basic rows of fits from this order into rows as given, ascending, in one pass for all.
    pub fn restore_rows(&self, bases: &mut [&mut Vec<usize>]) {
        let mut asked: Vec<usize> = bases
            .iter()
            .flat_map(|basis| basis.iter())
            .copied()
            .collect();
        asked.sort_unstable();
        asked.dedup();
        // By cell, the asked rows that are not found yet.
        let mut waiting: Vec<&[usize]> = (self.starts.windows(2))
            .map(|own| {
                let place = |row: usize| asked.partition_point(|&asked| asked < row);
                &asked[place(own[0])..place(own[1])]
            })
            .collect();
        let mut next = self.starts.clone();
        let mut given = vec![0; asked.len()];
        let mut missing = asked.len();
        for (row, &cell) in self.cells.iter().enumerate() {
            if missing == 0 {
                break;
            }
            let cell = cell as usize;
            if let Some((&first, rest)) = waiting[cell].split_first()
                && first == next[cell]
            {
                let at = asked.partition_point(|&asked| asked < first);
                given[at] = row;
                waiting[cell] = rest;
                missing -= 1;
            }
            next[cell] += 1;
        }
        for basis in bases {
            for row in basis.iter_mut() {
                *row = given[asked.partition_point(|asked| asked < row)];
            }
            basis.sort_unstable();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_find_their_way_back() {
        // In the order of the cells: rows 1, 4 of cell 0; none of cell 1; 0, 3 of cell 2; 2, 5 of cell 3.
        let order = CellOrder::new(Cow::Borrowed(&[2, 0, 3, 2, 0, 3]), 4);
        assert_eq!(order.starts(), [0, 2, 2, 4, 6]);
        let numbers = [10.0, 11.0, 12.0, 13.0, 14.0, 15.0];
        assert_eq!(order.sort(&numbers), [11.0, 14.0, 10.0, 13.0, 12.0, 15.0]);
        let mut bases = [vec![0, 2, 5], vec![1, 2, 4], vec![3]];
        order.restore_rows(&mut bases.each_mut());
        assert_eq!(bases, [vec![0, 1, 5], vec![0, 2, 4], vec![3]]);
    }
}
