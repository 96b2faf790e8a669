//! The searches that are offered, each over many sets of rows.

use rayon::prelude::*;

use super::aims::{Aim, Found, Hunt};
use super::forward::{seed_exchange, seed_forward};
use super::frame::{Frame, RESPONSE, Table};
use super::products::{Unsure, search_products};
use super::relations;
use super::tree::Tree;

/// Number of ties where an exact fit made counting them pointless.
pub const NOT_COUNTED: i64 = -1;

/// Size of subsets that are searched in next to no time.
const QUICK: usize = 3;

/// Size from which a search takes longer than to begin with good subsets.
const EXCHANGED_FROM: usize = 4;

/// The best subset of one size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BestOfSize {
    /// Bit j: column j is a member.
    pub set: u64,
    /// Residual sum of squares, in squared units of the response.
    pub rss: f64,
    /// Other subsets of that size that are as good.
    pub ties: i64,
}

/// What makes a subset of k predictors good, n rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Criterion {
    /// Smallest RSS / (n - k - 1), for k up to n - 2.
    AdjustedR2,
    /// Smallest RSS / variance + 2k, for k up to n - 2.
    Cp,
}

/// The subset that is best by a criterion.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chosen {
    /// Bit j: column j is a member.
    pub set: u64,
    /// Residual sum of squares, in squared units of the response.
    pub rss: f64,
    /// Total sum of squares.
    pub total: f64,
    /// Other subsets that are as good.
    pub ties: i64,
}

/// Total sum of squares, and the best subset of each size from 1 to `largest`, for each set of rows.
///
/// None where no subset of independent columns has that size.
#[must_use]
pub fn best_of_sizes(
    predictors: Table<'_>,
    response: &[f64],
    row_sets: &[Vec<usize>],
    largest: usize,
) -> Vec<(f64, Vec<Option<BestOfSize>>)> {
    for_each_set(row_sets, |_, rows| {
        search_sizes(predictors, response, rows, largest)
    })
}

/// Several sets on several threads, one on this: waking another takes as long as a small search.
fn for_each_set<T: Send>(
    row_sets: &[Vec<usize>],
    search: impl Fn(usize, &[usize]) -> T + Sync + Send,
) -> Vec<T> {
    let search = |(number, rows): (usize, &Vec<usize>)| search(number, rows);
    if row_sets.len() == 1 {
        return row_sets.iter().enumerate().map(search).collect();
    }
    row_sets.par_iter().enumerate().map(search).collect()
}

fn search_sizes(
    predictors: Table<'_>,
    response: &[f64],
    rows: &[usize],
    largest: usize,
) -> (f64, Vec<Option<BestOfSize>>) {
    let frame = Frame::new(predictors, Some(response), rows);
    let total = *frame.totals.last().expect("the response is always kept");
    // As many columns as there are dimensions leave nothing, so that nothing has to be sought.
    let sought = largest
        .min(frame.dims.saturating_sub(1))
        .min(frame.candidates());
    let mut hunt = [Hunt::new((1..=sought).map(Aim::of_size).collect(), sought)];
    search(&frame, sought, &mut hunt);
    let best = (1..=largest).map(|size| {
        let found = hunt[0].aims.get(size - 1).and_then(|aim| aim.found);
        if let Some(Found { set, rss, ties, .. }) = found {
            return Some(BestOfSize {
                set,
                rss: rss * total,
                ties,
            });
        }
        let fits_exactly = hunt[0]
            .exact
            .map(|(_, set)| set)
            .or((size == frame.dims).then_some(0));
        let set = frame.fill(fits_exactly?, size)?;
        Some(BestOfSize {
            set,
            rss: 0.0,
            ties: NOT_COUNTED,
        })
    });
    (total, best.collect())
}

/// The best subset by a criterion, of at most `largest` columns, for each set of rows.
///
/// `variances` are for Cp, one a set of rows.
#[must_use]
pub fn best_by_criterion(
    predictors: Table<'_>,
    response: &[f64],
    row_sets: &[Vec<usize>],
    criterion: Criterion,
    largest: usize,
    variances: &[f64],
) -> Vec<Chosen> {
    let choose = |number: usize, rows: &[usize]| {
        let frame = Frame::new(predictors, Some(response), rows);
        let total = *frame.totals.last().expect("the response is always kept");
        let sought = find_largest(&frame, largest);
        let variance = variances.get(number).copied().unwrap_or(f64::NAN);
        let mut hunt = [Hunt::new(
            vec![criterion.aim(&frame, sought, variance / total)],
            sought,
        )];
        search(&frame, sought, &mut hunt);
        Chosen::new(hunt[0].aims[0].found, total)
    };
    for_each_set(row_sets, choose)
}

/// Each column in turn the response and all others the predictors: both criteria for each set of rows.
///
/// One search serves all columns. `variances` have one number for each column of each set of rows, one set after
/// the other. None for a column that is constant.
#[must_use]
pub fn best_of_each(
    table: Table<'_>,
    row_sets: &[Vec<usize>],
    largest: usize,
    variances: &[f64],
) -> Vec<Vec<Option<[Chosen; 2]>>> {
    let choose = |number: usize, rows: &[usize]| {
        let frame = Frame::new(table, None, rows);
        let sought = find_largest(&frame, largest);
        let mut hunts = vec![Hunt::new(vec![], sought); table.columns()];
        for (name, total) in frame.names.iter().zip(&frame.totals) {
            let column = usize::from(*name);
            let variance = variances[number * table.columns() + column];
            let aims = [
                (Criterion::AdjustedR2, f64::NAN),
                (Criterion::Cp, variance / total),
            ]
            .map(|(criterion, variance)| criterion.aim(&frame, sought, variance));
            hunts[column] = Hunt::new(aims.to_vec(), sought);
        }
        search(&frame, sought, &mut hunts);
        let mut chosen = vec![None; table.columns()];
        for (name, total) in frame.names.iter().zip(&frame.totals) {
            let aims = &hunts[usize::from(*name)].aims;
            chosen[usize::from(*name)] =
                Some([0, 1].map(|aim| Chosen::new(aims[aim].found, *total)));
        }
        chosen
    };
    for_each_set(row_sets, choose)
}

impl Criterion {
    /// Of sizes 0 to `largest`; `variance` is a share of the total sum of squares.
    fn aim(self, frame: &Frame, largest: usize, variance: f64) -> Aim {
        let sizes = 0..=largest;
        match self {
            Self::AdjustedR2 => {
                let free = |size: usize| (frame.rows - size).saturating_sub(1);
                let rates = sizes.map(|size| (free(size) > 0).then(|| 1.0 / free(size) as f64));
                Aim::new(rates.collect(), vec![0.0; largest + 1])
            }
            Self::Cp => {
                let rate = (variance > 0.0).then(|| 1.0 / variance);
                let rates = vec![rate; largest + 1];
                Aim::new(rates, sizes.map(|size| 2.0 * size as f64).collect())
            }
        }
    }
}

impl Chosen {
    fn new(found: Option<Found>, total: f64) -> Self {
        match found {
            Some(Found { set, rss, ties, .. }) => Self {
                set,
                rss: rss * total,
                total,
                ties,
            },
            // Nothing was comparable: too few rows, or no variance.
            None => Self {
                set: 0,
                rss: total,
                total,
                ties: 0,
            },
        }
    }
}

/// The largest size that leaves a degree of freedom, and that the columns can have.
fn find_largest(frame: &Frame, largest: usize) -> usize {
    let others = frame.names.len().saturating_sub(1);
    largest
        .min(frame.rows.saturating_sub(2))
        .min(others)
        .min(frame.dims.saturating_sub(1))
}

/// Offer all subsets of at most `largest` columns that matter: to one hunt for the response, or to one by column.
fn search(frame: &Frame, largest: usize, hunts: &mut [Hunt]) {
    if hunts.is_empty() || frame.names.is_empty() {
        return;
    }
    debug_assert!(hunts.len() > 1 || frame.names.last() == Some(&RESPONSE));
    let found = if let [hunt] = hunts {
        search_one(frame, largest, hunt)
    } else {
        search_each(frame, largest, hunts)
    };
    if found.is_err() {
        let order: Vec<usize> = (0..frame.candidates()).collect();
        Tree::new(frame, &order, largest, hunts).search();
    }
}

/// Leaves the hunt as it was where it fails.
fn search_one(frame: &Frame, largest: usize, hunt: &mut Hunt) -> Result<(), Unsure> {
    let mut tried = hunt.clone();
    let response = frame.names.len() - 1;
    let order = seed_forward(frame, response, largest, &mut tried);
    if largest >= EXCHANGED_FROM {
        seed_exchange(frame, response, largest, &mut tried);
    }
    let cap = tried.cap().min(largest);
    // Near the dimensions of the rows vectors are short, products inexact, and bounds exclude nothing.
    if frame.candidates() < frame.dims || cap + 4 <= frame.dims {
        let seeded = tried.clone();
        if search_products(frame, &order, cap, &mut tried).is_ok() && !tried.lacks() {
            *hunt = tried;
            return Ok(());
        }
        tried = seeded;
    }
    search_tree(frame, cap, std::slice::from_mut(&mut tried))?;
    *hunt = tried;
    Ok(())
}

/// Both criteria apart, where that is quicker: they matter at other sizes.
fn search_each(frame: &Frame, largest: usize, hunts: &mut [Hunt]) -> Result<(), Unsure> {
    if !relations::suits(frame, largest) {
        return Err(Unsure);
    }
    let mut seeded = hunts.to_vec();
    for (position, name) in frame.names.iter().enumerate() {
        seed_forward(frame, position, largest, &mut seeded[usize::from(*name)]);
    }
    let empty = || Hunt::new(vec![], largest);
    let mut apart: [Vec<Hunt>; 2] = [0, 1].map(|aim| {
        let of_aim = |hunt: &Hunt| hunt.split().into_iter().nth(aim).unwrap_or_else(empty);
        seeded.iter().map(of_aim).collect()
    });
    relations::search_relations(frame, &mut apart[0])?;
    let cap = deepen(frame, &mut apart[1]);
    search_tree(frame, cap, &mut apart[1])?;
    if apart[0].iter().any(Hunt::lacks) {
        return Err(Unsure);
    }
    for (hunt, (by_r2, by_cp)) in hunts.iter_mut().zip(apart[0].iter().zip(&apart[1])) {
        for (aim, other) in hunt
            .aims
            .iter_mut()
            .zip(by_r2.aims.iter().chain(&by_cp.aims))
        {
            aim.found = other.found;
        }
    }
    Ok(())
}

/// Seed hunts with the best of small sizes until no larger one can matter but the next; the largest that may.
///
/// A size costs several times as much as all smaller ones, and what these find often excludes it.
fn deepen(frame: &Frame, hunts: &mut [Hunt]) -> usize {
    let cap = |hunts: &[Hunt]| hunts.iter().map(Hunt::cap).max().unwrap_or(0);
    let order: Vec<usize> = (0..frame.candidates()).collect();
    for size in QUICK.. {
        if size >= cap(hunts) {
            break;
        }
        let mut tried = hunts.to_vec();
        Tree::new(frame, &order, size, &mut tried).search();
        for (hunt, tried) in hunts.iter_mut().zip(&tried) {
            for found in tried.aims.iter().filter_map(|aim| aim.found) {
                hunt.seed(found.size, found.rss);
            }
        }
    }
    cap(hunts)
}

/// Search the tree of all subsets for hunts that were seeded.
fn search_tree(frame: &Frame, largest: usize, hunts: &mut [Hunt]) -> Result<(), Unsure> {
    let order: Vec<usize> = (0..frame.candidates()).collect();
    Tree::new(frame, &order, largest, hunts).search();
    if hunts.iter().any(Hunt::lacks) {
        return Err(Unsure);
    }
    Ok(())
}
