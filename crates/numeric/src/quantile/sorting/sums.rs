//! Sums of the values below a threshold, so that the loss of a cell costs no pass over its values.

use rayon::prelude::*;

use super::lists::Lists;

const BLOCK: usize = 512;

/// For each cell its middle value and the sums of deviations from it, before each block of values.
#[derive(Debug)]
pub(crate) struct BlockSums {
    middles: Vec<f64>,
    sums: Vec<Vec<f64>>,
}

impl BlockSums {
    pub(crate) fn gather(lists: &Lists<'_>) -> Self {
        let middle_of = |cell: usize| {
            let values = lists.cell(cell);
            values.get(values.len() / 2).copied().unwrap_or(0.0)
        };
        let sums_of = |cell: usize| {
            let (values, middle) = (lists.cell(cell), middle_of(cell));
            let mut total = 0.0;
            let mut sums = vec![0.0];
            for from in (0..values.len()).step_by(BLOCK) {
                total += add_up(lists, cell, from, (from + BLOCK).min(values.len()), middle);
                sums.push(total);
            }
            sums
        };
        Self {
            middles: (0..lists.cells()).map(middle_of).collect(),
            sums: if lists.values.len() < 1 << 15 {
                (0..lists.cells()).map(sums_of).collect()
            } else {
                (0..lists.cells()).into_par_iter().map(sums_of).collect()
            },
        }
    }

    /// Sum of the check function over a cell whose fitted value is `origin + fitted`.
    pub(crate) fn check_loss(
        &self,
        lists: &Lists<'_>,
        cell: usize,
        tau: f64,
        origin: f64,
        fitted: f64,
    ) -> f64 {
        let (values, middle, sums) = (lists.cell(cell), self.middles[cell], &self.sums[cell]);
        if values.is_empty() {
            return 0.0;
        }
        let place = values.partition_point(|&value| value - origin < fitted);
        let block = place / BLOCK;
        let below = sums[block] + add_up(lists, cell, block * BLOCK, place, middle);
        let all = sums[sums.len() - 1];
        let height = fitted - (middle - origin);
        let above = (all - below) - (lists.totals[cell] - lists.before(cell, place)) * height;
        let under = lists.before(cell, place) * height - below;
        tau * above + (1.0 - tau) * under
    }
}

fn add_up(lists: &Lists<'_>, cell: usize, from: usize, to: usize, middle: f64) -> f64 {
    let values = &lists.cell(cell)[from..to];
    match lists.cumulative {
        None => {
            // Several sums at a time, always the same ones: faster, and less rounding.
            let mut lanes = [0.0; 8];
            let chunks = values.chunks_exact(8);
            let rest: f64 = chunks.remainder().iter().map(|value| value - middle).sum();
            for chunk in chunks {
                for (lane, value) in lanes.iter_mut().zip(chunk) {
                    *lane += value - middle;
                }
            }
            lanes.iter().sum::<f64>() + rest
        }
        Some(_) => (values.iter().zip(from..))
            .map(|(value, place)| {
                (lists.before(cell, place + 1) - lists.before(cell, place)) * (value - middle)
            })
            .sum(),
    }
}
