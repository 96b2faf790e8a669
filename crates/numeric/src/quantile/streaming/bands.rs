//! Bands of each cell around the solutions: what must be known value by value, the rest by counts and sums.

use super::leaves::{Leaf, Leaves};
use super::passes::{Collection, Fate};
use crate::quantile::cell_walk::{
    CellFit, Model, Shape, Solution, TIE_SHARE, dot, dot_sizes, gather_fit, guess_fitted,
    partition, solve_quantile,
};
use crate::quantile::sorting::{Lists, key_of, value_of};

/// Observations for each leaf of margin: where values are rare, the histogram's solution is as coarse as they are.
const LEAST_PER_LEAF: usize = 16;

/// Where in a leaf its values are taken to lie.
const POINTS: [f64; 4] = [0.125, 0.375, 0.625, 0.875];

/// Fitted values at each quantile (T × K), near enough to say which leaves matter.
///
/// The solution of the histogram, with each leaf's values taken to lie at a few points of it.
pub(crate) fn approach(
    leaves: &Leaves,
    listed: &[Vec<Leaf>],
    shape: &Shape,
    totals: &[f64],
    quantiles: &[f64],
) -> Vec<Vec<f64>> {
    let (mut values, mut cumulative) = (Vec::new(), Vec::new());
    let (mut spans, mut begins) = (Vec::new(), Vec::new());
    for (cell, list) in listed.iter().enumerate() {
        let from = values.len();
        begins.push(cumulative.len());
        let mut total = 0.0;
        cumulative.push(0.0);
        for leaf in list {
            let (low, high) = leaves.ends(cell, leaf);
            for point in POINTS {
                values.push(low + (high - low) * point);
                total += leaf.count as f64 / POINTS.len() as f64;
                cumulative.push(total);
            }
        }
        spans.push((from, values.len()));
    }
    let below = vec![0.0; totals.len()];
    let lists = Lists {
        values: &values,
        spans: &spans,
        below: &below,
        cumulative: Some((&cumulative, &begins)),
        totals,
    };
    let model = Model::new(shape, lists);
    (quantiles.iter())
        .map(|&tau| {
            let mut fitted = guess_fitted(&model, tau);
            if let Some(solution) = solve_quantile(&model, tau, &fitted) {
                fitted = shape.predict(&solution, totals.len());
            } else {
                fitted.iter_mut().for_each(|value| *value += model.origin);
            }
            fitted
        })
        .collect()
}

/// Neighbouring leaves of one cell that are known value by value.
#[derive(Clone, Copy, Debug)]
struct Band {
    /// Places in the cell's list of leaves: from, to.
    leaves: (usize, usize),
    /// Count below.
    below: u64,
    /// Smallest and largest key between the nearest values that are not listed.
    keys: (u64, u64),
    /// Number of its first collected leaf.
    first: usize,
    /// Its values in the lists, and where its cumulative weights begin.
    span: (usize, usize),
    begin: usize,
    /// Sum of the values below the band, less the cell's middle.
    sum_below: f64,
}

/// The bands of all cells, and what was found in them.
#[derive(Debug)]
pub(crate) struct Bands {
    listed: Vec<Vec<Leaf>>,
    totals: Vec<f64>,
    bands: Vec<Vec<Band>>,
    /// Fitted values from which each quantile's walk starts (T × K).
    starts: Vec<Vec<f64>>,
    values: Vec<f64>,
    cumulative: Vec<f64>,
    /// Sum of each cell's values, less its middle.
    sums: Vec<f64>,
}

impl Bands {
    /// Bands of `margin` leaves around each start.
    pub(crate) fn new(
        leaves: &Leaves,
        listed: Vec<Vec<Leaf>>,
        totals: Vec<f64>,
        starts: Vec<Vec<f64>>,
        margin: usize,
    ) -> Self {
        let mut bands = Vec::with_capacity(listed.len());
        for (cell, list) in listed.iter().enumerate() {
            let mut wanted: Vec<(usize, usize)> = (starts.iter())
                .map(|fitted| {
                    let at = list.partition_point(|leaf| leaves.ends(cell, leaf).1 < fitted[cell]);
                    reach(list, at, margin)
                })
                .collect();
            wanted.sort_unstable();
            let mut own: Vec<Band> = Vec::new();
            for (from, to) in wanted.into_iter().filter(|(from, to)| from < to) {
                match own.last_mut() {
                    Some(last) if from <= last.leaves.1 => last.leaves.1 = last.leaves.1.max(to),
                    _ => own.push(Band {
                        leaves: (from, to),
                        below: 0,
                        keys: (0, 0),
                        first: 0,
                        span: (0, 0),
                        begin: 0,
                        sum_below: 0.0,
                    }),
                }
            }
            for band in &mut own {
                let (from, to) = band.leaves;
                band.below = list[..from].iter().map(|leaf| leaf.count).sum();
                // Up to the next leaf that holds something.
                let below = from
                    .checked_sub(1)
                    .map(|last| leaves.keys(cell, &list[last]).1);
                let above = list.get(to).map(|next| leaves.keys(cell, next).0);
                band.keys = (
                    below.map_or(key_of(f64::NEG_INFINITY), |key| key + 1),
                    above.map_or(key_of(f64::INFINITY), |key| key - 1),
                );
            }
            bands.push(own);
        }
        Self {
            listed,
            totals,
            bands,
            starts,
            values: Vec::new(),
            cumulative: Vec::new(),
            sums: Vec::new(),
        }
    }

    /// The leaves of the bands that hold more than one value: cell, leaf.
    pub(crate) fn list_leaves(&self, leaves: &Leaves) -> Vec<(usize, Leaf)> {
        let mut found = Vec::new();
        for (cell, bands) in self.bands.iter().enumerate() {
            for band in bands {
                for leaf in &self.listed[cell][band.leaves.0..band.leaves.1] {
                    if the_point(leaves, cell, leaf).is_none() {
                        found.push((cell, *leaf));
                    }
                }
            }
        }
        found
    }

    /// Tells the next pass what to collect and what to add up.
    pub(crate) fn plan_collection(&mut self, leaves: &Leaves) -> Collection {
        let spare: usize = self.bands.iter().map(|bands| bands.len() + 1).sum();
        let mut fates = vec![Fate::sum(spare); leaves.counts.len()];
        let (mut counts, mut sum) = (Vec::new(), 0);
        for (cell, bands) in self.bands.iter_mut().enumerate() {
            let list = &self.listed[cell];
            let mut at = 0;
            for band in bands {
                for leaf in &list[at..band.leaves.0] {
                    fates[leaf.bucket] = Fate::sum(sum);
                }
                sum += 1;
                band.first = counts.len();
                for leaf in &list[band.leaves.0..band.leaves.1] {
                    if the_point(leaves, cell, leaf).is_none() {
                        fates[leaf.bucket] = Fate::collect(counts.len());
                        counts.push(leaf.count);
                    }
                }
                at = band.leaves.1;
            }
            for leaf in &list[at..] {
                fates[leaf.bucket] = Fate::sum(sum);
            }
            sum += 1;
        }
        Collection::new(fates, &counts, Some(spare + 1))
    }

    /// Takes over what was collected.
    pub(crate) fn fill(&mut self, leaves: &Leaves, mut collection: Collection) {
        collection.sort_leaves();
        let mut sums = collection.sums.iter();
        let mut next_sum = || sums.next().copied().unwrap_or(0.0);
        for (cell, bands) in self.bands.iter_mut().enumerate() {
            let middle = leaves.scales[cell].middle();
            let mut total = 0.0;
            for band in bands {
                total += next_sum();
                band.sum_below = total;
                band.begin = self.cumulative.len();
                let from = self.values.len();
                let (mut at, mut weight) = (band.first, 0.0);
                self.cumulative.push(0.0);
                let mut push = |value: f64, count: f64| {
                    weight += count;
                    total += count * (value - middle);
                    self.values.push(value);
                    self.cumulative.push(weight);
                };
                for leaf in &self.listed[cell][band.leaves.0..band.leaves.1] {
                    if let Some(value) = the_point(leaves, cell, leaf) {
                        push(value, leaf.count as f64);
                    } else {
                        let (from, to) = (collection.bounds[at], collection.bounds[at + 1]);
                        (collection.values[from..to].iter()).for_each(|&value| push(value, 1.0));
                        at += 1;
                    }
                }
                band.span = (from, self.values.len());
            }
            self.sums.push(total + next_sum());
        }
    }

    /// Number of observations of each cell.
    pub(crate) fn totals(&self) -> &[f64] {
        &self.totals
    }

    /// Solves all quantiles within the bands; None when a solution may lie outside.
    pub(crate) fn solve(
        &self,
        leaves: &Leaves,
        shape: &Shape,
        design: &[f64],
        quantiles: &[f64],
    ) -> Option<CellFit> {
        let solutions: Vec<Solution> = (quantiles.iter().zip(&self.starts))
            .map(|(&tau, start)| self.solve_one(shape, tau, start))
            .collect::<Option<_>>()?;
        Some(gather_fit(
            shape,
            design,
            quantiles,
            solutions,
            |cell, tau, origin, fitted| self.check_loss(leaves, cell, tau, origin, fitted),
        ))
    }

    fn solve_one(&self, shape: &Shape, tau: f64, start: &[f64]) -> Option<Solution> {
        // Of each cell the band around the start.
        let chosen: Vec<Option<&Band>> = (self.bands.iter().zip(start))
            .map(|(bands, &value)| self.band_at(bands, value))
            .collect();
        let pick = |of: fn(&Band) -> (usize, usize)| -> Vec<(usize, usize)> {
            chosen.iter().map(|band| band.map_or((0, 0), of)).collect()
        };
        let spans = pick(|band| band.span);
        let begins: Vec<usize> = pick(|band| (band.begin, 0))
            .into_iter()
            .map(|(at, _)| at)
            .collect();
        let below: Vec<f64> = (chosen.iter())
            .map(|band| band.map_or(0.0, |band| band.below as f64))
            .collect();
        let lists = Lists {
            values: &self.values,
            spans: &spans,
            below: &below,
            cumulative: Some((&self.cumulative, &begins)),
            totals: &self.totals,
        };
        let model = Model::new(shape, lists);
        let centred: Vec<f64> = start.iter().map(|value| value - model.origin).collect();
        let solution = solve_quantile(&model, tau, &centred)?; // Counts are exact where no value is unlisted.
        let inside = shape.occupied.iter().all(|&cell| {
            let row = shape.row(cell);
            let fitted = dot(row, &solution.beta) + solution.origin;
            let slack = 2.0 * TIE_SHARE * (dot_sizes(row, &solution.beta) + solution.origin.abs());
            chosen[cell].is_some_and(|band| {
                let edges = value_of(band.keys.0)..value_of(band.keys.1);
                solution.basis.binary_search(&cell).is_ok()
                    || (edges.contains(&(fitted - slack)) && edges.contains(&(fitted + slack)))
            })
        });
        (inside && solution.certified).then_some(solution)
    }

    fn band_at<'b>(&self, bands: &'b [Band], value: f64) -> Option<&'b Band> {
        let after = bands.partition_point(|band| value_of(band.keys.0) <= value);
        bands.get(after.saturating_sub(1))
    }

    /// Sum of the check function over a cell whose fitted value, `origin + fitted`, lies in a band.
    fn check_loss(&self, leaves: &Leaves, cell: usize, tau: f64, origin: f64, fitted: f64) -> f64 {
        let middle = leaves.scales[cell].middle();
        let Some(band) = self.band_at(&self.bands[cell], origin + fitted) else {
            return 0.0;
        };
        let values = &self.values[band.span.0..band.span.1];
        let place = partition(values.len(), |place| values[place] - origin < fitted);
        let weight = |place: usize| self.cumulative[band.begin + place];
        let within: f64 = (0..place)
            .map(|place| (weight(place + 1) - weight(place)) * (values[place] - middle))
            .sum();
        let (below, count) = (band.sum_below + within, band.below as f64 + weight(place));
        let height = fitted - (middle - origin);
        let above = (self.sums[cell] - below) - (self.totals[cell] - count) * height;
        tau * above + (1.0 - tau) * (count * height - below)
    }
}

/// The leaf at a place, at least `margin` leaves below and above it, and more where they hold little.
fn reach(list: &[Leaf], at: usize, margin: usize) -> (usize, usize) {
    let wanted = (margin * LEAST_PER_LEAF) as u64;
    let enough = |leaves: &mut dyn Iterator<Item = &Leaf>| {
        let (mut number, mut held) = (0, 0);
        for leaf in leaves {
            if number >= margin && held >= wanted {
                break;
            }
            number += 1;
            held += leaf.count;
        }
        number
    };
    let below = enough(&mut list[..at].iter().rev());
    let next = (at + 1).min(list.len());
    (at - below, next + enough(&mut list[next..].iter()))
}

/// The value of a leaf that can hold one only.
fn the_point(leaves: &Leaves, cell: usize, leaf: &Leaf) -> Option<f64> {
    let (low, high) = leaves.keys(cell, leaf);
    (low == high).then(|| value_of(low))
}
