//! How wide the band of rows near a fit has to be.

use std::ops::Range;

use super::levels::Level;
use crate::quantile::general::arrays::{list_flagged, wide};
use crate::quantile::general::matrix::BLOCK;

/// Cells are told apart in the width of the band when they have at least this many rows on average.
const ROWS_FOR_OWN_BAND: usize = 64;
/// Numbers that are worth a look at some of them before they are put in order, and how many are looked at.
const WORTH_SAMPLING: usize = 2048;
const SAMPLE: usize = 512;

/// Lower and upper end of the band, for each cell or for all together.
#[derive(Clone)]
pub(crate) struct Limits {
    by_group: Vec<(f64, f64)>,
}

impl Limits {
    /// The same distance on both sides, in units that may differ by cell.
    pub fn around(units: &[f64], distance: f64) -> Self {
        Self {
            by_group: units
                .iter()
                .map(|unit| (-unit * distance, unit * distance))
                .collect(),
        }
    }

    /// Limits no nearer than `least`.
    pub fn at_least(mut self, least: f64) -> Self {
        for (low, high) in &mut self.by_group {
            (*low, *high) = (low.min(-least), high.max(least));
        }
        self
    }

    pub fn of(&self, cell: usize) -> (f64, f64) {
        self.by_group[if self.by_group.len() == 1 { 0 } else { cell }]
    }

    pub fn by_cell(&self, cells: usize) -> Vec<(f64, f64)> {
        if self.by_group.len() == 1 {
            vec![self.by_group[0]; cells]
        } else {
            self.by_group.clone()
        }
    }

    /// Half the distance between the limits, or the whole of it on the side that has an end; never 0.
    pub fn half_widths(&self) -> Vec<f64> {
        let own = |&(low, high): &(f64, f64)| match (low.is_finite(), high.is_finite()) {
            (true, true) => (high - low) / 2.0,
            (true, false) => -low,
            (false, true) => high,
            (false, false) => 0.0,
        };
        let widths: Vec<f64> = self.by_group.iter().map(own).collect();
        let some = widths.iter().copied().fold(0.0, f64::max);
        let some = if some > 0.0 { some } else { 1.0 };
        widths
            .into_iter()
            .map(|width| if width > 0.0 { width } else { some })
            .collect()
    }
}

/// Residuals of a subset at a fit to it, by group: they say how wide the band has to be.
pub(crate) struct Spread<'l> {
    level: &'l Level<'l>,
    folded: Vec<f64>,
    /// Group after group; empty where groups stand together in the level, as they are quickly found again.
    held: Vec<f64>,
    /// Where each group begins, and the end.
    starts: Vec<usize>,
}

impl<'l> Spread<'l> {
    /// Cells are groups when they are large, else all rows are one.
    pub fn new(level: &'l Level<'l>, coefficients: &[f64]) -> Self {
        let (rows, cells) = (level.rows(), level.matrix.cells());
        let folded = level.matrix.fold(coefficients);
        let (held, starts) = if cells == 1 || cells * ROWS_FOR_OWN_BAND > rows {
            (Vec::new(), vec![0, rows])
        } else if let Some(starts) = level.matrix.starts() {
            (Vec::new(), starts.to_vec())
        } else {
            let order = level.matrix.order_by_cell();
            let residuals = level.residuals_of(&folded);
            (order.sort(&residuals), order.starts().to_vec())
        };
        Self {
            level,
            folded,
            held,
            starts,
        }
    }

    /// Residuals of the group that stands in the range.
    fn copy_group(&self, range: Range<usize>) -> Vec<f64> {
        if self.held.is_empty() {
            let mut out = vec![0.0; range.len()];
            self.level
                .fill_residuals(&self.folded, range.start, &mut out);
            return out;
        }
        self.held[range].to_vec()
    }

    /// Limits of the band that is `width` standard errors of the fitted quantile wide.
    pub fn limits(&self, tau: f64, width: f64) -> Limits {
        let (rows, columns) = (self.level.rows() as f64, self.level.matrix.columns() as f64);
        let even = rows / (self.starts.len() - 1) as f64;
        let by_group = (self.starts.windows(2))
            .map(|own| {
                let mut group = self.copy_group(own[0]..own[1]);
                let size = group.len() as f64;
                let (below, above) = count_sides(&group);
                let leverage = (columns / rows * (even / size).max(1.0)).min(1.0);
                let reach = (width * (tau * (1.0 - tau) * leverage).sqrt() * size).ceil() + 2.0;
                let (low, high) = (below as f64 - reach, above as f64 + reach);
                let places = [
                    (low >= 0.0).then_some(low as usize),
                    (high < size).then_some(high as usize),
                ];
                let [low, high] = find_places(&mut group, places, reach / size);
                (
                    low.unwrap_or(f64::NEG_INFINITY),
                    high.unwrap_or(f64::INFINITY),
                )
            })
            .collect();
        Limits { by_group }
    }
}

wide! {
    /// How many numbers are negative, and how many are not positive.
    fn count_sides(numbers: &[f64]) -> (usize, usize) {
        let negative = numbers.iter().filter(|&&number| number < 0.0).count();
        let positive = numbers.iter().filter(|&&number| number > 0.0).count();
        (negative, numbers.len() - positive)
    }
}

/// The numbers that would have these places if all stood in ascending order.
///
/// The places are about `share` of all away from where the sign changes, so that only the smallest numbers of
/// many need to be put in order; a sample says which these are.
fn find_places(numbers: &mut [f64], places: [Option<usize>; 2], share: f64) -> [Option<f64>; 2] {
    if numbers.len() >= WORTH_SAMPLING {
        let largest = guess_window(numbers, share);
        let (first, mut near) = take_near(numbers, largest);
        let inside = |place: usize| place >= first && place - first < near.len();
        if places.iter().flatten().all(|&place| inside(place)) {
            return select_places(
                &mut near,
                places.map(|place| place.map(|place| place - first)),
            );
        }
    }
    select_places(numbers, places)
}

fn select_places(numbers: &mut [f64], places: [Option<usize>; 2]) -> [Option<f64>; 2] {
    places.map(|place| place.map(|place| *numbers.select_nth_unstable_by(place, f64::total_cmp).1))
}

/// A magnitude that about four times the share of the numbers do not exceed.
fn guess_window(numbers: &[f64], share: f64) -> f64 {
    let step = numbers.len() / SAMPLE;
    let mut sample: Vec<f64> = numbers
        .iter()
        .step_by(step)
        .map(|number| number.abs())
        .collect();
    let place = (4.0 * share * sample.len() as f64) as usize + 16;
    let place = place.min(sample.len() - 1);
    *sample.select_nth_unstable_by(place, f64::total_cmp).1
}

wide! {
    /// The numbers of at most this magnitude, and how many are below them.
    fn take_near(numbers: &[f64], largest: f64) -> (usize, Vec<f64>) {
        let mut near = Vec::new();
        let mut flags = [0u8; BLOCK];
        let mut rows = Vec::new();
        let mut below = 0;
        for block in numbers.chunks(BLOCK) {
            let flags = &mut flags[..block.len()];
            for (flag, &number) in flags.iter_mut().zip(block) {
                *flag = u8::from(number.abs() <= largest);
            }
            below += block.iter().filter(|&&number| number < -largest).count();
            rows.clear();
            list_flagged(flags, 0, &mut rows);
            near.extend(rows.iter().map(|&row| block[row as usize]));
        }
        (below, near)
    }
}
