//! The best point along an edge: a weighted selection across sorted lists.

use super::model::Model;
use super::vertex::{TIE_SHARE, partition};

/// One cell along an edge: its fitted value moves by `entry` times the step's length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ray {
    pub cell: usize,
    pub entry: f64,
    /// Values crossed by the step.
    pub crossed: usize,
    begin: usize,
    length: usize,
    fitted: f64,
    slack: f64,
    low: usize,
    high: usize,
    at: (usize, usize),
}

/// Where a step ends.
pub(crate) struct Hit {
    /// The ray whose value is hit.
    pub ray: usize,
    /// Places of the value hit: from, to.
    pub run: (usize, usize),
    pub length: f64,
}

impl Ray {
    /// `begin` of the `all` listed values lie below the fitted value.
    pub(crate) fn new(
        cell: usize,
        entry: f64,
        begin: usize,
        all: usize,
        fitted: f64,
        slack: f64,
    ) -> Self {
        let length = if entry > 0.0 { all - begin } else { begin };
        Self {
            cell,
            entry,
            crossed: 0,
            begin,
            length,
            fitted,
            slack,
            low: 0,
            high: length,
            at: (0, 0),
        }
    }

    /// Values below the fitted one after `crossed` were crossed.
    pub(crate) fn place(&self, crossed: usize) -> usize {
        if self.entry > 0.0 {
            self.begin + crossed
        } else {
            self.begin - crossed
        }
    }

    /// Distance along the edge of the ray's value number `index`.
    #[inline]
    fn distance(&self, model: &Model<'_>, index: usize) -> f64 {
        let place = if self.entry > 0.0 {
            self.begin + index
        } else {
            self.begin - 1 - index
        };
        // Behind the start by rounding only.
        ((model.value(self.cell, place) - self.fitted) / self.entry).max(0.0)
    }

    /// What crossing values `from..to` adds to the slope.
    #[inline]
    fn rise(&self, model: &Model<'_>, from: usize, to: usize) -> f64 {
        let lists = &model.lists;
        let (one, other) = (
            lists.before(self.cell, self.place(from)),
            lists.before(self.cell, self.place(to)),
        );
        self.entry.abs() * (other - one).abs()
    }

    /// Number of values nearer than `distance`, and not farther; both are known to be in `low..=high`.
    fn count(&self, model: &Model<'_>, distance: f64) -> (usize, usize) {
        let nearer = self.low
            + partition(self.high - self.low, |index| {
                self.distance(model, self.low + index) < distance
            });
        let mut within = nearer;
        // Ties are rare, and when they are not, there are many.
        if within < self.high && self.distance(model, within) <= distance {
            within += partition(self.high - within, |index| {
                self.distance(model, nearer + index) <= distance
            });
        }
        (nearer, within)
    }
}

/// Finds where the slope, `slope` at the start, first exceeds `bar`; None when no listed value stops it.
///
/// `order_ties(group, rays, need)` tells which of several rays hit at one point is the one at which the
/// slope has risen by more than `need`, and which ones come before it.
pub(crate) fn search(
    model: &Model<'_>,
    rays: &mut [Ray],
    slope: f64,
    bar: f64,
    order_ties: impl Fn(&[(usize, f64)], &[Ray], f64) -> (Vec<usize>, usize),
) -> Option<Hit> {
    let length = find_length(model, rays, slope, bar)?;
    // All values that the end point equals up to rounding are one tie.
    let mut group: Vec<(usize, f64)> = Vec::new();
    let mut before = slope;
    for (index, ray) in rays.iter_mut().enumerate() {
        let slack = (ray.slack / ray.entry.abs()) + TIE_SHARE * length;
        (ray.low, ray.high) = (0, ray.length);
        let from = partition(ray.length, |at| ray.distance(model, at) < length - slack);
        let to = from
            + partition(ray.length - from, |at| {
                ray.distance(model, from + at) <= length + slack
            });
        before += ray.rise(model, 0, from);
        ray.crossed = from;
        ray.at = (from, to);
        if from < to {
            group.push((index, ray.rise(model, from, to)));
        }
    }
    let hit = if let [(only, _)] = group[..] {
        only
    } else {
        let (crossed, hit) = order_ties(&group, rays, bar - before);
        for index in crossed {
            let (from, to) = rays[index].at;
            before += rays[index].rise(model, from, to);
            rays[index].crossed = to;
        }
        hit
    };
    let ray = &mut rays[hit];
    let (mut from, to) = ray.at;
    loop {
        let distance = ray.distance(model, from);
        let end = from + partition(to - from, |at| ray.distance(model, from + at) <= distance);
        before += ray.rise(model, from, end);
        if before > bar || end == to {
            ray.crossed = from;
            let (one, other) = (ray.place(from), ray.place(end));
            let run = (one.min(other), one.max(other));
            return Some(Hit {
                ray: hit,
                run,
                length,
            });
        }
        from = end;
    }
}

/// Length of the step: brackets it by interpolation, safeguarded by halving, until few values are left.
fn find_length(model: &Model<'_>, rays: &mut [Ray], slope: f64, bar: f64) -> Option<f64> {
    const FEW: usize = 24;
    let (mut near, mut near_slope) = (0.0, slope);
    let mut far: Option<(f64, f64)> = None;
    let mut guess = guess_length(model, rays, bar - slope);
    // Rays with values left, and what the others add to the slope.
    let mut open: Vec<usize> = (0..rays.len()).collect();
    let mut closed = slope;
    for round in 1u32.. {
        open.retain(|&index| {
            let ray = &rays[index];
            if ray.low == ray.high {
                closed += ray.rise(model, 0, ray.low);
            }
            ray.low < ray.high
        });
        let left: usize = open
            .iter()
            .map(|&index| rays[index].high - rays[index].low)
            .sum();
        if left <= FEW {
            break;
        }
        let length = match (guess, far) {
            (Some(first), _) => first,
            (None, Some((far, far_slope))) if !round.is_multiple_of(3) => {
                let share = (bar - near_slope) / (far_slope - near_slope);
                near + (far - near) * share.clamp(0.01, 0.99)
            }
            (None, None) if round < 4 && near > 0.0 => near * 4.0,
            _ => halve(model, rays, &open),
        };
        guess = None;
        let (mut below, mut within) = (closed, closed);
        for &index in &open {
            let ray = &mut rays[index];
            ray.at = ray.count(model, length);
            below += ray.rise(model, 0, ray.at.0);
            within += ray.rise(model, 0, ray.at.1);
        }
        if below > bar {
            for &index in &open {
                rays[index].high = rays[index].at.0;
            }
            far = Some((length, below));
        } else if within > bar {
            return Some(length);
        } else {
            for &index in &open {
                rays[index].low = rays[index].at.1;
            }
            (near, near_slope) = (length, within);
        }
    }
    let mut ends: Vec<(f64, f64)> = Vec::with_capacity(FEW);
    let mut reached = closed;
    for &index in &open {
        let ray = &rays[index];
        reached += ray.rise(model, 0, ray.low);
        ends.extend((ray.low..ray.high).map(|value| {
            let rise = ray.rise(model, value, value + 1);
            (ray.distance(model, value), rise)
        }));
    }
    ends.sort_unstable_by(|one, other| one.0.total_cmp(&other.0));
    for &(distance, rise) in &ends {
        reached += rise;
        if reached > bar {
            return Some(distance);
        }
    }
    // By rounding of the sum alone the last one can miss what was seen to be exceeded.
    far.and(ends.last().map(|&(distance, _)| distance))
}

/// Where the slope would turn if values went on as densely as the nearest ones.
fn guess_length(model: &Model<'_>, rays: &[Ray], need: f64) -> Option<f64> {
    const NEAREST: usize = 12;
    let rate: f64 = (rays.iter())
        .filter(|ray| ray.length > 0)
        .map(|ray| {
            let last = ray.length.min(NEAREST);
            let distance = ray.distance(model, last - 1);
            if distance > 0.0 {
                ray.rise(model, 0, last) / distance
            } else {
                0.0
            }
        })
        .sum();
    let length = need / rate;
    (length > 0.0 && length.is_finite()).then_some(length)
}

/// The middle of the ray with most values left: takes at least half of them away.
fn halve(model: &Model<'_>, rays: &[Ray], open: &[usize]) -> f64 {
    let mut widest = &rays[open[0]];
    for &index in open {
        let ray = &rays[index];
        if ray.high - ray.low > widest.high - widest.low {
            widest = ray;
        }
    }
    widest.distance(model, widest.low + (widest.high - widest.low) / 2)
}
