//! Reading back what is known without launching anything: variables, handed to `execve` as they are.

use datamill_protocol::FactorFacts;

use crate::factors::fact::fact;
use crate::factors::process::conditions::RunConditions;
use crate::factors::process::environment::padding_bytes;
use crate::factors::process::levels::ProcessLevels;

/// Factors of which nothing but the environment tells, and whose levels may be other ones in each
/// execution.
pub const HANDED_FACTORS: [&str; 1] = ["env_padding"];

/// Reads back the factors that the environment shows which is handed to `execve`.
pub fn read_back_handed(levels: &ProcessLevels, conditions: &RunConditions) -> Vec<FactorFacts> {
    let variables = conditions.environment.iter();
    let handed: Vec<u8> = variables
        .flat_map(|variable| variable.as_bytes_with_nul())
        .copied()
        .collect();
    let bytes = padding_bytes(&handed);
    let asked = levels.texts();
    asked
        .map(|(name, level)| {
            let evidence = format!(
                "The environment that was handed to execve has {bytes} bytes of padding; no process was asked what it got."
            );
            fact(name, level, Some(bytes.to_string()), evidence)
        })
        .collect()
}
