//! Smaller subsets of those that fit well: none fits better than what it is part of.

use std::collections::HashSet;

use super::aims::Hunt;
use super::frame::Frame;
use super::products::Unsure;

/// Most subsets that are looked at.
const MOST_SEEN: usize = 1 << 15;

/// How well columns fit another one.
#[derive(Clone, Copy)]
pub(super) struct Fit {
    /// Position of the response.
    pub response: usize,
    /// Bit j: the column at position j is a member.
    pub set: u64,
    pub rss: f64,
}

/// Offer all subsets of the fits' sets that matter; the sets themselves were offered.
pub(super) fn search_downward(
    frame: &Frame,
    hunts: &mut [Hunt],
    mut fits: Vec<Fit>,
) -> Result<(), Unsure> {
    let mut seen = HashSet::new();
    while let Some(fit) = fits.pop() {
        let size = fit.set.count_ones() as usize;
        let name = usize::from(frame.names[fit.response]);
        let bits = (0..frame.names.len()).filter(|position| fit.set >> position & 1 == 1);
        for bit in bits {
            // A smaller subset's limit may be larger.
            let limits = &hunts[name].limits;
            let limit = limits[..size]
                .iter()
                .fold(-1.0f64, |most, limit| most.max(*limit));
            if fit.rss > limit {
                break;
            }
            let set = fit.set & !(1 << bit);
            if seen.contains(&(fit.response, set)) {
                continue;
            }
            let members = (0..frame.names.len()).filter(|position| set >> position & 1 == 1);
            let rss = frame.measure(fit.response, members).ok_or(Unsure)?;
            if rss > limit {
                continue;
            }
            if seen.len() == MOST_SEEN {
                return Err(Unsure);
            }
            seen.insert((fit.response, set));
            if rss <= limits[size - 1] {
                hunts[name].offer(size - 1, rss, frame.name_set(set));
            }
            fits.push(Fit { set, rss, ..fit });
        }
    }
    Ok(())
}
