//! Reading back what is known without launching anything: variables, handed to `execve` as they are.

use datamill_protocol::FactorFacts;

use super::conditions::RunConditions;
use super::levels::ProcessLevels;
use crate::factors::fact::fact;

/// Reads back the factors that the environment shows which is handed to `execve`; beside them, the levels
/// that only a process can show.
pub fn read_back_handed(
    levels: &ProcessLevels,
    conditions: &RunConditions,
) -> (Vec<FactorFacts>, ProcessLevels) {
    let variables = conditions.environment.iter();
    let handed: Vec<u8> = variables
        .flat_map(|variable| variable.as_bytes_with_nul())
        .copied()
        .collect();
    let mut facts = Vec::new();
    let mut others = levels.clone();
    for (factor, level) in levels.asked() {
        if let Some((observed, evidence)) = factor.read_back_handed(&handed) {
            facts.push(fact(factor.name(), level, observed, evidence));
            others.forget(factor.name());
        }
    }
    (facts, others)
}
