//! When a machine is quiet enough to measure on, and how long a trial waited for it.

use serde::{Deserialize, Serialize};

use crate::disturbance::ProcessUse;

/// What a machine may do at most, in a window of time, to be called quiet; and how long a trial waits for it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct QuietRule {
    /// Length of a window, in seconds.
    pub window_s: f64,
    /// Longest wait, in seconds; the trial runs then all the same.
    pub limit_s: f64,
    /// Processors that are busy, as a number: processor time of everything, over the window.
    pub processors: f64,
    /// Share of the window in which some task waited for a processor, for memory, or for input or output.
    pub pressure: f64,
    /// Share of the window in which the busiest disk had something to do.
    pub disk: f64,
}

impl Default for QuietRule {
    fn default() -> Self {
        Self {
            window_s: 2.0,
            limit_s: 60.0,
            processors: 0.1,
            pressure: 0.05,
            disk: 0.05,
        }
    }
}

impl QuietRule {
    /// Checks that all of it can be meant; the error names the field.
    pub fn check(&self) -> Result<(), String> {
        for (field, value, most) in [
            ("window_s", self.window_s, 60.0),
            ("limit_s", self.limit_s, 3600.0),
            ("processors", self.processors, 1e6),
            ("pressure", self.pressure, 1.0),
            ("disk", self.disk, 1.0),
        ] {
            if !(value > 0.0 && value <= most) {
                return Err(format!(
                    "{field}: {value} is not a number above 0 and up to {most}"
                ));
            }
        }
        if self.window_s > self.limit_s {
            return Err("limit_s: it is shorter than window_s".to_owned());
        }
        if self.window_s < 0.1 {
            return Err("window_s: the kernel counts in hundredths of a second, and a window shorter than 0.1 s shows nothing".to_owned());
        }
        Ok(())
    }
}

/// How long a trial waited for a quiet machine, and what it found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct QuietFacts {
    /// The rule.
    pub rule: QuietRule,
    /// Time that it waited, the last window included.
    pub waited_ns: u64,
    /// Windows that were looked at.
    pub windows: u32,
    /// Whether the machine was quiet in the last one; if not, the limit was reached.
    pub quiet: bool,
    /// What was seen in the last one.
    pub last: QuietWindow,
    /// Processes that used most of the processors while it waited, busiest first, at most 5.
    pub busiest: Vec<ProcessUse>,
    /// What this host does not tell, and the rule therefore does not see; one phrase each.
    pub untold: Vec<String>,
}

/// What a machine did in a window of time; absent is what it does not tell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct QuietWindow {
    /// Processors that were busy.
    pub processors: Option<f64>,
    /// Share of the time in which some task waited for a processor.
    pub cpu_pressure: Option<f64>,
    /// Share of the time in which some task waited for memory.
    pub memory_pressure: Option<f64>,
    /// Share of the time in which some task waited for input or output.
    pub io_pressure: Option<f64>,
    /// Share of the time in which the busiest disk had something to do.
    pub disk: Option<f64>,
}

impl QuietWindow {
    /// Whether it satisfies a rule, as far as the machine tells.
    pub fn satisfies(&self, rule: &QuietRule) -> bool {
        [
            (self.processors, rule.processors),
            (self.cpu_pressure, rule.pressure),
            (self.memory_pressure, rule.pressure),
            (self.io_pressure, rule.pressure),
            (self.disk, rule.disk),
        ]
        .iter()
        .all(|(seen, most)| seen.is_none_or(|seen| seen <= *most))
    }

    /// Whether it tells anything at all.
    pub fn tells_anything(&self) -> bool {
        *self != Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_figure_alone_can_be_too_much() {
        let rule = QuietRule::default();
        assert!(QuietWindow::default().satisfies(&rule));
        let set: [fn(&mut QuietWindow); 5] = [
            |window| window.processors = Some(0.2),
            |window| window.cpu_pressure = Some(0.2),
            |window| window.memory_pressure = Some(0.2),
            |window| window.io_pressure = Some(0.2),
            |window| window.disk = Some(0.2),
        ];
        for set in set {
            let mut window = QuietWindow::default();
            set(&mut window);
            assert!(!window.satisfies(&rule), "{window:?}");
        }
    }

    #[test]
    fn a_rule_that_cannot_be_meant_is_refused_by_its_field() {
        let refused = |change: fn(&mut QuietRule)| {
            let mut rule = QuietRule::default();
            change(&mut rule);
            rule.check().unwrap_err()
        };
        assert!(QuietRule::default().check().is_ok());
        assert!(refused(|rule| rule.pressure = 1.5).starts_with("pressure"));
        assert!(refused(|rule| rule.disk = f64::NAN).starts_with("disk"));
        assert!(refused(|rule| rule.limit_s = 1.0).starts_with("limit_s"));
        assert!(refused(|rule| rule.window_s = 0.01).starts_with("window_s"));
    }
}
