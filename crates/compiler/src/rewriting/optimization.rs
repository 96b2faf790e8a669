//! The optimisation level of a driver call.

use crate::arguments::{Argument, DriverCall, Role};

/// The level that these arguments lead to: the last one counts, and without any, compilers take `-O0`.
pub(crate) fn effective_level(arguments: &[Argument]) -> String {
    let last = arguments.iter().rev().find(|a| a.role == Role::Level);
    let text = last.map_or("-O0".into(), |a| a.text.to_string_lossy());
    let value = text
        .strip_prefix("--optimize=")
        .or_else(|| text.strip_prefix("--optimize"))
        .or_else(|| text.strip_prefix("-O"))
        .unwrap_or(&text);
    match value.parse::<u64>() {
        // Compilers know no level above 3.
        Ok(number) => format!("-O{}", number.min(3)),
        Err(_) if value.is_empty() => "-O1".to_owned(),
        Err(_) => format!("-O{value}"),
    }
}

/// Removes every level and puts the wanted one last.
pub(crate) fn set_level(call: &mut DriverCall, wanted: &str) {
    call.arguments
        .retain(|argument| argument.role != Role::Level);
    call.append(wanted, Role::Level);
}
