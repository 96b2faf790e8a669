//! Data and designs for these tests: they look random and are the same every time.

/// Numbers that look random.
pub struct Noise(u64);

impl Noise {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ 0x1234_5678_9abc_def0)
    }

    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    pub fn below(&mut self, limit: usize) -> usize {
        (self.bits() % limit as u64) as usize
    }

    /// In (0, 1).
    pub fn share(&mut self) -> f64 {
        ((self.bits() >> 12) as f64 + 0.5) / (1u64 << 52) as f64
    }
}

pub const QUANTILES: [f64; 7] = [0.1, 0.25, 0.4, 0.5, 0.75, 0.9, 0.99];

/// Factors of two levels coded -1 and 1, with their interactions up to an order: design and columns.
pub fn code_factors(factors: u32, order: u32) -> (Vec<f64>, usize) {
    let terms: Vec<usize> = (0..1usize << factors)
        .filter(|term| term.count_ones() <= order)
        .collect();
    let design = (0..1usize << factors)
        .flat_map(|cell| {
            terms.iter().map(move |term| {
                if (cell & term).count_ones() % 2 == 0 {
                    1.0
                } else {
                    -1.0
                }
            })
        })
        .collect();
    (design, terms.len())
}

/// Cells for n rows, each cell at least once if there are rows enough.
pub fn draw_cells(noise: &mut Noise, n: usize, cells: usize) -> Vec<u32> {
    (0..n)
        .map(|row| {
            if row < cells {
                row as u32
            } else {
                noise.below(cells) as u32
            }
        })
        .collect()
}

/// Sum of check functions.
pub fn check_loss(tau: f64, cell_of_row: &[u32], values: &[f64], fitted: &[f64]) -> f64 {
    (cell_of_row.iter().zip(values))
        .map(|(&cell, value)| {
            let residual = value - fitted[cell as usize];
            if residual >= 0.0 {
                tau * residual
            } else {
                (tau - 1.0) * residual
            }
        })
        .sum()
}
