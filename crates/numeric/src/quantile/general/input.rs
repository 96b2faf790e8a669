//! What can be fitted, and why something cannot.

use super::arrays::all_finite;
use super::refine::BELOW;
use crate::quantile::general::matrix::{CellMatrix, DependentColumn};

/// Why no fit was made.
#[derive(Clone, Debug, PartialEq)]
pub enum GeneralError {
    /// The parts do not fit together or hold what is not a number.
    Input(String),
    /// Columns are combinations of others.
    Dependent(Vec<DependentColumn>),
}

impl std::fmt::Display for GeneralError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Input(sentence) => f.write_str(sentence),
            Self::Dependent(found) => {
                let said: Vec<String> = found
                    .iter()
                    .map(|found| match found.of.as_slice() {
                        [] => format!("column {} is zero", found.column),
                        of => format!("column {} is a combination of columns {of:?}", found.column),
                    })
                    .collect();
                f.write_str(&said.join("; "))
            }
        }
    }
}

impl std::error::Error for GeneralError {}

/// Refuses more rows than the 32 bits of a row's number can tell apart.
fn check_row_count(rows: usize) -> Result<(), GeneralError> {
    if u32::try_from(rows).is_err() {
        return Err(GeneralError::Input(format!(
            "{rows} observations are more than the {} that a model with covariates can have",
            u32::MAX
        )));
    }
    Ok(())
}

/// Refuses values and weights that do not fit the matrix.
pub(super) fn check_values(
    matrix: &CellMatrix<'_>,
    values: &[f64],
    weights: Option<&[f64]>,
) -> Result<(), GeneralError> {
    let rows = matrix.rows();
    check_row_count(rows)?;
    if values.len() != rows || weights.is_some_and(|weights| weights.len() != rows) {
        return Err(GeneralError::Input(format!(
            "the matrix has {rows} rows, values or weights have not"
        )));
    }
    if !all_finite(values) || weights.is_some_and(|weights| !all_finite(weights)) {
        return Err(GeneralError::Input(
            "a value or weight is not a finite number".into(),
        ));
    }
    if weights.is_some_and(|weights| weights.iter().any(|&weight| weight < 0.0)) {
        return Err(GeneralError::Input("a weight is negative".into()));
    }
    Ok(())
}

/// Refuses what is not strictly between 0 and 1.
pub(super) fn check_quantiles(quantiles: &[f64]) -> Result<(), GeneralError> {
    match quantiles.iter().find(|&&tau| !(tau > BELOW && tau < 1.0)) {
        Some(bad) => Err(GeneralError::Input(format!(
            "quantile {bad} is not between 0 and 1"
        ))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_rows_than_can_be_numbered_are_refused() {
        assert!(check_row_count(u32::MAX as usize).is_ok());
        let refused = check_row_count(1 << 32).unwrap_err().to_string();
        assert!(refused.contains("4294967296 observations"), "{refused}");
    }
}
