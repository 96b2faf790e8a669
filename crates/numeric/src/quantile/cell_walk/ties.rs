//! Fitted values that equal observations outside the basis, and steps that hit several cells at once.
//!
//! Ties are resolved by an infinitesimal shift of each cell's values, the larger the earlier the cell
//! (the lexicographic rule of Charnes 1952). A cell outside the basis does not share its own shift with
//! any other breakpoint, so that in the shifted problem no two breakpoints of a step coincide, and no
//! vertex interpolates more than p cells. Values that are equal within a cell are one breakpoint.

use super::line_search::Ray;
use super::model::dot;
use super::vertex::{ENTRY_SHARE, NOT_BASIC, Walk};

impl Walk<'_, '_> {
    /// Of tied rays the one at which the slope turns in the shifted problem, and those before it.
    ///
    /// `group` holds ray numbers with the slope that each adds; returns those crossed, and the one hit.
    pub(crate) fn order_ties(
        &self,
        group: &[(usize, f64)],
        rays: &[Ray],
        need: f64,
    ) -> (Vec<usize>, usize) {
        let mut open = group.to_vec();
        let (mut crossed, mut need) = (Vec::new(), need);
        let mut shifts: Vec<usize> = self.basis.clone();
        shifts.extend(group.iter().map(|&(ray, _)| rays[ray].cell));
        shifts.sort_unstable();
        shifts.dedup();
        for shifted in shifts {
            if open.len() == 1 {
                break;
            }
            // The change of each breakpoint with the shift of this cell.
            let mut keyed: Vec<(f64, (usize, f64))> = (open.iter())
                .map(|&member| {
                    let ray = &rays[member.0];
                    let own = self.slot_of[ray.cell] != NOT_BASIC;
                    let slot = self.slot_of[shifted];
                    let key = if own {
                        0.0
                    } else if slot != NOT_BASIC {
                        -dot(self.model.row(ray.cell), self.column(slot)) / ray.entry
                    } else {
                        f64::from(u8::from(ray.cell == shifted)) / ray.entry
                    };
                    (key, member)
                })
                .collect();
            keyed.sort_by(|one, other| one.0.total_cmp(&other.0));
            let mut at = 0;
            loop {
                let mut end = at + 1;
                while end < keyed.len()
                    && keyed[end].0 - keyed[end - 1].0 <= ENTRY_SHARE * (1.0 + keyed[end].0.abs())
                {
                    end += 1;
                }
                let adds: f64 = keyed[at..end].iter().map(|&(_, (_, adds))| adds).sum();
                if adds > need || end == keyed.len() {
                    open = keyed[at..end].iter().map(|&(_, member)| member).collect();
                    break;
                }
                need -= adds;
                crossed.extend(keyed[at..end].iter().map(|&(_, (ray, _))| ray));
                at = end;
            }
        }
        // Equal in every shift: only rounding can do that. Any order is as good.
        while open.len() > 1 && open[0].1 <= need {
            need -= open[0].1;
            crossed.push(open.remove(0).0);
        }
        (crossed, open[0].0)
    }

    /// Whether the fitted value of a cell outside the basis lies above a tied one in the shifted problem.
    pub(crate) fn lies_above(&self, cell: usize) -> bool {
        let mut slots: Vec<usize> = (0..self.basis.len())
            .filter(|&slot| self.basis[slot] < cell)
            .collect();
        slots.sort_unstable_by_key(|&slot| self.basis[slot]);
        let row = self.model.row(cell);
        (slots.into_iter().map(|slot| dot(row, self.column(slot))))
            .find(|entry| entry.abs() > ENTRY_SHARE)
            .is_some_and(|entry| entry > 0.0)
    }
}
