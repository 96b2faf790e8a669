//! What is sought for a response, and the best that was found so far.

/// Share of a sum of squares below which it is rounding: the fit is exact.
pub(super) const EXACT: f64 = 1e-22;
/// Relative distance of two sums of squares up to which they tie.
const TIE: f64 = 1e-8;
/// What rounding does to a residual's length, as a share of the response's.
const ROUNDING: f64 = 1e-12;

/// Distance up to which a sum of squares ties with this one.
fn find_slack(rss: f64) -> f64 {
    TIE * rss + 2.0 * ROUNDING * rss.sqrt()
}

/// Seeks the smallest `rate * rss + base`, which depend on the size; a size without a rate has no part.
#[derive(Clone, Debug)]
pub(super) struct Aim {
    /// By size, from 0.
    rates: Vec<Option<f64>>,
    bases: Vec<f64>,
    /// The smallest so far; infinite before the first.
    best: f64,
    pub found: Option<Found>,
}

/// A subset, and how many others are as good.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub set: u64,
    pub size: usize,
    pub rss: f64,
    pub ties: i64,
}

impl Aim {
    pub(super) fn new(rates: Vec<Option<f64>>, bases: Vec<f64>) -> Self {
        Self {
            rates,
            bases,
            best: f64::INFINITY,
            found: None,
        }
    }

    /// The best of one size.
    pub(super) fn of_size(size: usize) -> Self {
        let rates = (0..=size)
            .map(|other| (other == size).then_some(1.0))
            .collect();
        Self::new(rates, vec![0.0; size + 1])
    }

    /// Sum of squares above which a subset of this size is worse; negative where no subset of it matters.
    fn limit(&self, size: usize) -> f64 {
        let Some(&Some(rate)) = self.rates.get(size) else {
            return -1.0;
        };
        let rss = (self.best - self.bases[size]) / rate;
        // As `tells` does, with room for its rounding.
        if rss.is_infinite() {
            rss
        } else {
            rss + 1e-7 * self.best / rate + 2.0 * find_slack(rss.max(0.0)) + EXACT
        }
    }

    /// Exclude what is worse than a subset that the search will meet.
    fn seed(&mut self, size: usize, rss: f64) {
        if let Some(&Some(rate)) = self.rates.get(size) {
            // The search computes it otherwise.
            let value = rate * (rss * (1.0 + 1e-6) + find_slack(rss) + EXACT) + self.bases[size];
            self.best = self.best.min(value);
        }
    }

    fn offer(&mut self, size: usize, rss: f64, set: u64) {
        let Some(&Some(rate)) = self.rates.get(size) else {
            return;
        };
        let value = rate * rss + self.bases[size];
        let slack = TIE * self.bases[size] + rate * find_slack(rss);
        let Some(found) = &mut self.found else {
            self.found = Some(Found {
                set,
                size,
                rss,
                ties: 0,
            });
            self.best = value;
            return;
        };
        if value < self.best - slack {
            *found = Found {
                set,
                size,
                rss,
                ties: 0,
            };
            self.best = value;
        } else if value <= self.best + slack {
            let ties = found.ties + 1;
            if comes_first((size, set), (found.size, found.set)) {
                *found = Found {
                    set,
                    size,
                    rss,
                    ties,
                };
            }
            found.ties = ties;
            self.best = self.best.min(value);
        }
    }
}

/// Of subsets that tie: the smaller one, then the one with the earlier columns.
fn comes_first(one: (usize, u64), other: (usize, u64)) -> bool {
    let differing = one.1 ^ other.1;
    one.0 < other.0 || (one.0 == other.0 && one.1 & (differing & differing.wrapping_neg()) != 0)
}

/// All that is sought for one response, whose total sum of squares is 1.
#[derive(Clone, Debug)]
pub(super) struct Hunt {
    pub aims: Vec<Aim>,
    /// By size: above it a sum of squares is of no use.
    pub limits: Vec<f64>,
    /// Smallest size that fits exactly: more columns cannot do better.
    pub exact: Option<(usize, u64)>,
}

impl Hunt {
    pub(super) fn new(aims: Vec<Aim>, largest: usize) -> Self {
        let mut hunt = Self {
            aims,
            limits: vec![0.0; largest + 1],
            exact: None,
        };
        hunt.renew();
        hunt
    }

    /// Exclude what is worse than a subset that the search will meet.
    pub(super) fn seed(&mut self, size: usize, rss: f64) {
        self.aims.iter_mut().for_each(|aim| aim.seed(size, rss));
        self.renew();
    }

    /// The largest size of which a subset may matter.
    pub(super) fn cap(&self) -> usize {
        let sizes = self.limits.iter().rposition(|limit| *limit >= 0.0);
        sizes.unwrap_or(0)
    }

    /// Whether a search did not meet what its seed promised.
    pub(super) fn lacks(&self) -> bool {
        let lacking = |aim: &Aim| aim.found.is_none() && aim.best.is_finite();
        self.aims.iter().any(lacking)
    }

    /// One hunt for each aim.
    pub(super) fn split(&self) -> Vec<Self> {
        let largest = self.limits.len() - 1;
        let alone = |aim: &Aim| Self::new(vec![aim.clone()], largest);
        self.aims.iter().map(alone).collect()
    }

    /// Take note of a subset; `rss` is a share of the total.
    #[cold]
    pub(super) fn offer(&mut self, size: usize, rss: f64, set: u64) {
        let rss = if rss <= EXACT { 0.0 } else { rss };
        if rss == 0.0 && self.exact.is_none_or(|(smallest, _)| size < smallest) {
            self.exact = Some((size, set));
            // What was found above it, as exact, ties by accident of the sequence.
            for aim in &mut self.aims {
                if aim.found.is_some_and(|found| found.size > size) {
                    (aim.found, aim.best) = (None, f64::INFINITY);
                }
            }
        }
        if self.exact.is_none_or(|(smallest, _)| size <= smallest) {
            self.aims
                .iter_mut()
                .for_each(|aim| aim.offer(size, rss, set));
        }
        self.renew();
    }

    fn renew(&mut self) {
        for (size, limit) in self.limits.iter_mut().enumerate() {
            *limit = match self.exact {
                Some((smallest, _)) if size > smallest => -1.0,
                _ => self
                    .aims
                    .iter()
                    .fold(-1.0, |most, aim| aim.limit(size).max(most)),
            };
        }
    }
}
