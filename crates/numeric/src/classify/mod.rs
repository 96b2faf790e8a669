//! Classifiers of two classes: a random forest and a support vector machine.

pub mod forest;
pub mod machine;

/// n rows of p scaled features, with a label and a weight of each row.
#[derive(Clone, Copy)]
pub struct Cases<'a> {
    values: &'a [f64],
    labels: &'a [bool],
    weights: &'a [f64],
    columns: usize,
}

impl<'a> Cases<'a> {
    /// Refuses lengths that do not fit, numbers that are not finite, and weights that are not above 0.
    pub fn new(
        values: &'a [f64],
        labels: &'a [bool],
        weights: &'a [f64],
        columns: usize,
    ) -> Result<Self, String> {
        if values.len() != labels.len() * columns || weights.len() != labels.len() {
            return Err(format!(
                "{} values and {} weights for {} rows of {columns}",
                values.len(),
                weights.len(),
                labels.len()
            ));
        }
        if values.iter().any(|value| !value.is_finite()) {
            return Err("a feature is not finite".to_owned());
        }
        if weights
            .iter()
            .any(|weight| !(*weight > 0.0 && weight.is_finite()))
        {
            return Err("a weight is not above 0".to_owned());
        }
        Ok(Self {
            values,
            labels,
            weights,
            columns,
        })
    }

    fn rows(&self) -> usize {
        self.labels.len()
    }

    fn row(&self, row: usize) -> &'a [f64] {
        &self.values[row * self.columns..(row + 1) * self.columns]
    }
}
