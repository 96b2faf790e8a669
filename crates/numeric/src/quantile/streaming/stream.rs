//! Quantiles and fits from passes over data that need not fit in memory.
//!
//! The first pass counts a histogram of each cell. From it follows which buckets hold the solutions; if
//! these hold few values, the next pass collects them, and adds up the others for the objective; if not,
//! it counts finer buckets there. For a model, the histogram's own solution says where to look, and the
//! solution found among the collected values is certified against the counts of all; if it may lie
//! outside of them, another pass collects more.
//!
//! Memory: the histogram (at most `2^16 + 16 K` buckets, and 1024 for each one split, at 16 bytes, once
//! more for each thread while counting), and the collected values, at most `most_values` at 24 bytes.

use std::fmt;

use super::bands::{Bands, approach};
use super::leaves::{Leaf, Leaves};
use super::passes::{Collection, Fate, count_roots, count_rows};
use crate::quantile::cell_walk::{CellFit, FitError, Shape, build_shape};
use crate::quantile::sorting::{find_scales, quantile_rank, value_of};

/// Leaves on each side of the histogram's solution that are looked at first.
const FIRST_MARGIN: usize = 1;
/// Widening a band by fours ends far earlier.
const MOST_PASSES: u32 = 60;

/// What is asked for.
#[derive(Clone, Debug)]
pub enum Goal {
    /// The quantiles of each cell.
    Select,
    /// A model with one column for each parameter (K × p, by rows).
    Fit {
        /// By rows.
        design: Vec<f64>,
        /// Number of columns.
        parameters: usize,
    },
}

/// What was found.
#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    /// Order statistics (T × K); NaN for a cell without data.
    Selected(Vec<f64>),
    /// Solutions of the model.
    Fitted(CellFit),
}

/// Why passes cannot go on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StreamError {
    /// The model cannot be fitted.
    Fit(FitError),
    /// A later pass did not bring the rows that the first one did.
    RowsChanged,
    /// The solution was not found within the passes allowed; more values in memory are needed.
    TooNarrow,
    /// Rows came although no pass was under way, or the result was asked for before the last one.
    NoPass,
}

impl fmt::Display for StreamError {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fit(error) => error.fmt(to),
            Self::RowsChanged => write!(to, "the rows of this pass are not those of the first one"),
            Self::TooNarrow => write!(
                to,
                "the solution was not found in {MOST_PASSES} passes; allow more values in memory"
            ),
            Self::NoPass => write!(to, "no pass is under way, or the last one is not over"),
        }
    }
}

impl std::error::Error for StreamError {}

impl From<FitError> for StreamError {
    fn from(error: FitError) -> Self {
        Self::Fit(error)
    }
}

#[derive(Debug)]
enum Stage {
    /// Before the first pass.
    New,
    /// Counting buckets from this number on.
    Counting(usize),
    CollectingRanks(Collection, Vec<(usize, Leaf)>),
    CollectingBands(Collection, Bands),
    Done(Found),
}

/// A computation that reads its data in passes, each as any number of batches of rows.
///
/// Call [`CellStream::plan`]; as long as it returns true, give all rows to [`CellStream::read`] and call it
/// again; then [`CellStream::finish`]. The order of rows and batches may differ between passes.
#[derive(Debug)]
pub struct CellStream {
    leaves: Leaves,
    quantiles: Vec<f64>,
    goal: Goal,
    most_values: usize,
    stage: Stage,
    rows_seen: u64,
    margin: usize,
    passes: u32,
    /// The root's bucket of each row, where all are read at once and that is worth its memory.
    of_row: Option<Vec<u16>>,
}

impl CellStream {
    /// Nothing read yet; keeps at most about `most_values` values.
    pub fn new(cells: usize, quantiles: &[f64], goal: Goal, most_values: usize) -> Self {
        let bits = ((1usize << 16) / cells.max(1)).max(16).ilog2().min(12);
        Self::with_bits(cells, quantiles, goal, most_values, bits)
    }

    pub(crate) fn with_bits(
        cells: usize,
        quantiles: &[f64],
        goal: Goal,
        most_values: usize,
        bits: u32,
    ) -> Self {
        Self {
            leaves: Leaves::new(cells, bits),
            quantiles: quantiles.to_vec(),
            goal,
            most_values: most_values.max(1 << 10),
            stage: Stage::New,
            rows_seen: 0,
            margin: FIRST_MARGIN,
            passes: 0,
            of_row: None,
        }
    }

    /// Writes down the bucket of each row, at two bytes, where that spares finding it again: every call of
    /// [`CellStream::read`] must then bring the same rows.
    pub(crate) fn remembering_rows(mut self) -> Self {
        if matches!(self.goal, Goal::Select) && self.leaves.counts.len() <= 1 << 16 {
            self.of_row = Some(Vec::new());
        }
        self
    }

    /// Reads some rows of a pass: numbers of cells (below K) and finite values.
    ///
    /// # Errors
    /// [`StreamError::NoPass`] outside of a pass, [`StreamError::RowsChanged`] when more values turn up
    /// than were counted.
    ///
    /// # Panics
    /// When the slices differ in length or a cell number is too large.
    pub fn read(&mut self, cell_of_row: &[u32], values: &[f64]) -> Result<(), StreamError> {
        assert_eq!(cell_of_row.len(), values.len(), "one cell for each value");
        match &mut self.stage {
            Stage::Counting(0) => {
                self.scale_new_cells(cell_of_row, values);
                let of_row = match &mut self.of_row {
                    Some(of_row) => {
                        *of_row = vec![0; values.len()];
                        &mut of_row[..]
                    }
                    None => &mut [],
                };
                count_roots(&mut self.leaves, cell_of_row, values, of_row);
                self.rows_seen += values.len() as u64;
            }
            Stage::Counting(fresh) => {
                let fresh = *fresh;
                count_rows(&mut self.leaves, cell_of_row, values, fresh);
            }
            Stage::CollectingRanks(collection, _) | Stage::CollectingBands(collection, _) => {
                let fits = match &self.of_row {
                    Some(of_row) if !self.leaves.is_split() && of_row.len() == values.len() => {
                        collection.read_known(of_row, values)
                    }
                    _ => collection.read(&self.leaves, cell_of_row, values),
                };
                if !fits {
                    return Err(StreamError::RowsChanged);
                }
            }
            Stage::New | Stage::Done(_) => return Err(StreamError::NoPass),
        }
        Ok(())
    }

    /// Ends a pass, and says whether another one is needed.
    ///
    /// # Errors
    /// When the model cannot be fitted or the data changed between passes.
    pub fn plan(&mut self) -> Result<bool, StreamError> {
        self.passes += 1;
        if self.passes > MOST_PASSES {
            return Err(StreamError::TooNarrow);
        }
        self.stage = match std::mem::replace(&mut self.stage, Stage::New) {
            Stage::New => {
                self.check_goal()?;
                Stage::Counting(0)
            }
            Stage::Counting(_) => self.plan_next()?,
            Stage::CollectingRanks(collection, wanted) => self.take_ranks(collection, &wanted)?,
            Stage::CollectingBands(collection, bands) => self.take_bands(collection, bands)?,
            Stage::Done(found) => Stage::Done(found),
        };
        Ok(!matches!(self.stage, Stage::Done(_)))
    }

    /// The result.
    ///
    /// # Errors
    /// [`StreamError::NoPass`] before the last pass is over.
    pub fn finish(self) -> Result<Found, StreamError> {
        match self.stage {
            Stage::Done(found) => Ok(found),
            _ => Err(StreamError::NoPass),
        }
    }

    fn check_goal(&self) -> Result<(), StreamError> {
        match self
            .quantiles
            .iter()
            .find(|&&tau| !(tau > 0.0 && tau < 1.0))
        {
            Some(&tau) => Err(FitError::Quantile(tau).into()),
            None => Ok(()),
        }
    }

    /// Cells of which nothing was counted may still change their scale.
    fn scale_new_cells(&mut self, cell_of_row: &[u32], values: &[f64]) {
        let cells = self.leaves.cells;
        let scales = find_scales(cell_of_row, values, cells);
        for (cell, scale) in scales.into_iter().enumerate() {
            if self.rows_seen == 0 || self.leaves.total(cell) == 0 {
                self.leaves.scales[cell] = scale;
            }
        }
    }

    fn plan_next(&mut self) -> Result<Stage, StreamError> {
        match &self.goal {
            Goal::Select => Ok(self.plan_ranks()),
            Goal::Fit { design, parameters } => {
                let totals: Vec<f64> = (0..self.leaves.cells)
                    .map(|cell| self.leaves.total(cell) as f64)
                    .collect();
                let shape = build_shape(&totals, design, *parameters, &self.quantiles)?;
                Ok(self.plan_bands(&shape, totals))
            }
        }
    }

    /// The leaves that hold the order statistics asked for.
    fn plan_ranks(&mut self) -> Stage {
        let mut wanted: Vec<(usize, Leaf)> = Vec::new();
        for cell in 0..self.leaves.cells {
            let mut ranks = self.list_ranks(cell);
            ranks.sort_unstable();
            let mut ranks = ranks.into_iter().peekable();
            let mut reached = 0;
            self.leaves.visit(cell, |leaf| {
                reached += leaf.count;
                if ranks.next_if(|&rank| rank as u64 <= reached).is_some() {
                    while ranks.next_if(|&rank| rank as u64 <= reached).is_some() {}
                    wanted.push((cell, leaf));
                }
            });
        }
        if let Some(fresh) = self.split_full(&wanted) {
            return Stage::Counting(fresh);
        }
        let mut fates = vec![Fate::sum(0); self.leaves.counts.len()];
        let mut counts = Vec::with_capacity(wanted.len());
        for (cell, leaf) in &wanted {
            let (low, high) = self.leaves.keys(*cell, leaf);
            counts.push(if low == high {
                0
            } else {
                fates[leaf.bucket] = Fate::collect(counts.len());
                leaf.count
            });
        }
        Stage::CollectingRanks(Collection::new(fates, &counts, None), wanted)
    }

    fn list_ranks(&self, cell: usize) -> Vec<usize> {
        let total = self.leaves.total(cell) as usize;
        if total == 0 {
            return Vec::new();
        }
        self.quantiles
            .iter()
            .map(|&tau| quantile_rank(tau, total))
            .collect()
    }

    /// Splits the fullest of the wanted leaves when they hold too much to be collected; the first new bucket.
    fn split_full(&mut self, wanted: &[(usize, Leaf)]) -> Option<usize> {
        let divisible: Vec<&(usize, Leaf)> = (wanted.iter())
            .filter(|(cell, leaf)| {
                let (low, high) = self.leaves.keys(*cell, leaf);
                low < high
            })
            .collect();
        let held: u64 = divisible.iter().map(|(_, leaf)| leaf.count).sum();
        if held <= self.most_values as u64 {
            return None;
        }
        let fresh = self.leaves.counts.len();
        let share = (self.most_values / (2 * divisible.len())) as u64;
        let full: Vec<(usize, Leaf)> = (divisible.into_iter().copied())
            .filter(|(_, leaf)| leaf.count > share)
            .collect();
        for (cell, leaf) in &full {
            self.leaves.split(*cell, leaf);
        }
        Some(fresh)
    }

    fn take_ranks(
        &mut self,
        mut collection: Collection,
        wanted: &[(usize, Leaf)],
    ) -> Result<Stage, StreamError> {
        if !collection.is_complete() {
            return Err(StreamError::RowsChanged);
        }
        collection.sort_leaves();
        let cells = self.leaves.cells;
        let mut selected = vec![f64::NAN; self.quantiles.len() * cells];
        let mut at = 0;
        for cell in 0..cells {
            let ranks = self.list_ranks(cell);
            let mut reached = 0;
            if ranks.is_empty() {
                continue;
            }
            self.leaves.visit(cell, |leaf| {
                if wanted
                    .get(at)
                    .is_some_and(|(_, own)| own.bucket == leaf.bucket)
                {
                    let values =
                        &collection.values[collection.bounds[at]..collection.bounds[at + 1]];
                    for (row, &rank) in ranks.iter().enumerate() {
                        let rank = rank as u64;
                        if reached < rank && rank <= reached + leaf.count {
                            selected[row * cells + cell] =
                                match values.get((rank - reached - 1) as usize) {
                                    Some(&value) => value,
                                    None => value_of(self.leaves.keys(cell, &leaf).0),
                                };
                        }
                    }
                    at += 1;
                }
                reached += leaf.count;
            });
        }
        Ok(Stage::Done(Found::Selected(selected)))
    }

    fn plan_bands(&mut self, shape: &Shape, totals: Vec<f64>) -> Stage {
        let listed: Vec<Vec<Leaf>> = (0..self.leaves.cells)
            .map(|cell| self.leaves.list(cell))
            .collect();
        let starts = approach(&self.leaves, &listed, shape, &totals, &self.quantiles);
        let mut bands = Bands::new(&self.leaves, listed, totals, starts, self.margin);
        if let Some(fresh) = self.split_full(&bands.list_leaves(&self.leaves)) {
            return Stage::Counting(fresh);
        }
        Stage::CollectingBands(bands.plan_collection(&self.leaves), bands)
    }

    fn take_bands(
        &mut self,
        collection: Collection,
        mut bands: Bands,
    ) -> Result<Stage, StreamError> {
        if !collection.is_complete() {
            return Err(StreamError::RowsChanged);
        }
        let Goal::Fit { design, parameters } = &self.goal else {
            return Err(StreamError::NoPass);
        };
        bands.fill(&self.leaves, collection);
        let totals = bands.totals().to_vec();
        let shape = build_shape(&totals, design, *parameters, &self.quantiles)?;
        if let Some(fit) = bands.solve(&self.leaves, &shape, design, &self.quantiles) {
            return Ok(Stage::Done(Found::Fitted(fit)));
        }
        self.margin *= 4;
        Ok(self.plan_bands(&shape, totals))
    }
}
