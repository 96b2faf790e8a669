//! Quantile regression for models with continuous covariates, and for any matrix: exact, by vertices.
//!
//! # What is solved
//! Minimise over b the sum of `w_i rho_tau(y_i - x_i'b)` (Koenker and Bassett 1978). Its dual is to find rank
//! scores `a` between 0 and w with `X'a = (1 - tau) X'w` and the largest `y'a`. A vertex goes through p
//! observations, the basis B. All other rows have the rank score w above the fit and 0 below it, and the basic
//! ones what the equations leave: `a_B = B^-T ((1 - tau) X'w - sum of w x over the rows above)`.
//!
//! # Exactness
//! A fit is `certified` when all rows, none left out, are on the side of the fit that their rank scores say, and
//! `0 <= a_B <= w` holds for the p basic ones: then primal and dual vector are complementary, and the vertex is
//! optimal. Signs are exact up to the last bits of a residual (32 units of rounding; rows nearer than that to the
//! fit count as on it). The p bounds are met up to a bound on the rounding of their own sums, which must itself be
//! below 1e-4 of a weight: about 1e-9 at n = 10^7. The coefficients solve the p equations of the basis by
//! elimination with scaling and refinement, so they do not depend on the path that led there. There is no
//! absolute tolerance: multiplying the response by a power of two multiplies every bit; where the
//! columns span the constant, an observation is taken off the response first, and a common
//! offset costs no digits.
//!
//! # Which solution
//! The limit from below, as the parent module defines it: the problem is solved at tau - 2^-40 first, and tau
//! itself starts at that vertex and leaves it only if it is not optimal at tau. Quantiles at which tau n
//! should be a whole number are thereby robust to the rounding of tau. Where several optimal vertices share even
//! the total of the fitted values, any one of them is returned. `not_unique` says that an edge of equal loss leaves
//! the vertex; where rows tie on the fit itself an edge may be blocked and the flag not raised.
//!
//! # How
//! 1. *Levels*: subsets of the rows by a hash of their number, each an eighth of the next, all with some hundred
//!    rows that together determine the coefficients (`bands::levels`, `matrix::frame`). Each level starts from the one before.
//! 2. *Band*: rows that are farther from the smaller level's fit than three standard errors keep their side and
//!    become one sum (Portnoy and Koenker 1997, preprocessing); 1 to 4% of the rows are left (`bands::passes`).
//! 3. *Newton steps* on the sum of signs, which are exact, with the density estimated in the band, come within
//!    some hundred rows of the optimum; the band is narrowed around it (`refine`).
//! 4. *Vertex walk* in the narrow band: Barrodale and Roberts' (1973) long steps, priced by steepest edge in
//!    coordinates in which the columns are orthonormal. Ties are broken by an infinitesimal change of the tied rows
//!    alone (Wolfe 1963), so that the walk cannot cycle (`vertices::walk`).
//! 5. All rows are checked against the result, those of a block at once where the covariates' extremes show that none
//!    can have changed its side (`bands::check`); rows on the wrong side join the band, and 4 is repeated.
//!
//! Steps 3 and 4 take the place of the interior point and cross-over of Portnoy and Koenker: from a start so
//! near they need fewer passes, and they end in a vertex.
//!
//! Rows are put in the order of their cells first, where these are large: what a pass takes from tables of cells is
//! then the same for many rows, and several rows are computed at once (`bands::passes`, `bands::line`).
//!
//! Everything is in terms of a matrix by cells and covariates ([`CellMatrix`]), which needs one
//! multiplication a row and covariate however many columns there are.

mod arrays;
mod bands;
mod fit;
mod goal;
mod inference;
mod input;
mod matrix;
mod refine;
mod vertices;

pub use fit::{GeneralFit, fit_general};
pub use inference::{Scheme, bootstrap_general, invert_rank_tests};
pub use input::GeneralError;
pub use matrix::{CellMatrix, DependentColumn, weighted_cross_products};
