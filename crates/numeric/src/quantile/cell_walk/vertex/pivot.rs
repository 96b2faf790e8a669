//! One step of the walk: along an edge to its best point, where one cell of the basis gives way to another.

use crate::quantile::cell_walk::line_search::{Hit, Ray, search};
use crate::quantile::cell_walk::model::dot;
use crate::quantile::cell_walk::vertex::{ENTRY_SHARE, Move, NOT_BASIC, REFRESH, Walk, add_scaled};

impl Walk<'_, '_> {
    /// One step along an edge to its best point; false when that lies beyond the lists.
    pub(super) fn pivot(&mut self, step: &Move) -> bool {
        let Some(hit) = self.search_edge(step) else {
            return false;
        };
        self.pivots += 1;
        let (leaving, entering) = (self.basis[step.slot], self.rays[hit.ray].cell);
        for index in 0..self.rays.len() {
            let ray = &self.rays[index];
            let (cell, place) = (ray.cell, ray.place(ray.crossed));
            if cell == entering {
                continue;
            }
            let before = if cell == leaving {
                self.targets[cell]
            } else {
                self.model.lists.before(cell, self.places[cell])
            };
            let change = self.model.lists.before(cell, place) - before;
            if change != 0.0 {
                add_scaled(&mut self.gradient, self.model.row(cell), change);
            }
            self.places[cell] = place;
        }
        if entering != leaving {
            let slope =
                self.model.lists.before(entering, self.places[entering]) - self.targets[entering];
            add_scaled(&mut self.gradient, self.model.row(entering), -slope);
            self.exchange(step.slot, entering);
        }
        self.runs[step.slot] = hit.run;
        if self.pivots.is_multiple_of(REFRESH) {
            if let Some(inverse) = self.model.invert(&self.basis) {
                self.inverse = inverse;
            }
            self.sum_gradient();
            self.fit_cells();
        } else if self.model.occupied.len() * self.model.parameters <= 4096 {
            self.fit_cells();
        } else {
            self.move_fitted(&hit, step.slot);
        }
        true
    }

    fn search_edge(&mut self, step: &Move) -> Option<Hit> {
        let sign = if step.up { 1.0 } else { -1.0 };
        let mut rays = std::mem::take(&mut self.rays);
        rays.clear();
        let model = self.model;
        let column = self.column(step.slot);
        for &cell in &model.occupied {
            let length = model.lists.cell(cell).len();
            let slot = self.slot_of[cell];
            if slot == step.slot {
                let (from, to) = self.runs[slot];
                let begin = if step.up { to } else { from };
                rays.push(Ray::new(
                    cell,
                    sign,
                    begin,
                    length,
                    self.fitted[cell],
                    self.slack[cell],
                ));
            } else if slot == NOT_BASIC {
                let entry = sign * dot(model.row(cell), column);
                if entry.abs() > ENTRY_SHARE {
                    let (begin, fitted) = (self.places[cell], self.fitted[cell]);
                    rays.push(Ray::new(
                        cell,
                        entry,
                        begin,
                        length,
                        fitted,
                        self.slack[cell],
                    ));
                }
            }
        }
        let hit = search(
            model,
            &mut rays,
            step.slope,
            step.bar,
            |group, rays, need| self.order_ties(group, rays, need),
        );
        self.rays = rays;
        hit
    }

    /// Replaces the cell of a slot, and the inverse by one elimination.
    fn exchange(&mut self, slot: usize, entering: usize) {
        let p = self.model.parameters;
        let row = self.model.row(entering);
        let entries: Vec<f64> = (0..p).map(|at| dot(row, self.column(at))).collect();
        let mut own = self.column(slot).to_vec();
        for x in &mut own {
            *x /= entries[slot];
        }
        for at in (0..p).filter(|&at| at != slot) {
            add_scaled(&mut self.inverse[at * p..][..p], &own, -entries[at]);
        }
        self.inverse[slot * p..][..p].copy_from_slice(&own);
        self.slot_of[self.basis[slot]] = NOT_BASIC;
        self.slot_of[entering] = slot;
        self.basis[slot] = entering;
    }
}
