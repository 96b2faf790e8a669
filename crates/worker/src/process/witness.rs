//! A process that says what the kernel gave it, launched in place of `run.sh` to read factors back.

use std::collections::BTreeMap;
use std::fs;

use rustix::process::{Resource, getrlimit};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a witness sees of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Witness {
    /// Its working folder as the kernel names it; absent when that name is no text.
    pub directory: Option<String>,
    /// Group in which the scheduler's autogroup puts it; absent where there is none.
    pub autogroup: Option<String>,
    /// Whether it leads its session.
    pub leads_session: bool,
    /// What it sees of each process factor, by the factor's name.
    pub factors: BTreeMap<String, Value>,
}

/// Observes the calling process; `factors` is what it sees of each process factor.
pub fn observe_self(factors: BTreeMap<String, Value>) -> std::io::Result<Witness> {
    Ok(Witness {
        directory: std::env::current_dir()?.into_os_string().into_string().ok(),
        autogroup: autogroup_of("self"),
        // SAFETY: no pointers involved.
        leads_session: unsafe { libc::getsid(0) == libc::getpid() },
        factors,
    })
}

/// Soft and hard limit of a resource; the largest number means none.
pub fn own_limit(resource: Resource) -> (u64, u64) {
    let limit = getrlimit(resource);
    (
        limit.current.unwrap_or(u64::MAX),
        limit.maximum.unwrap_or(u64::MAX),
    )
}

/// The value of a variable among NUL-terminated strings; of several, the last.
pub fn variable_of(environment: &[u8], name: &str) -> Option<String> {
    let strings = environment.split(|byte| *byte == 0);
    strings
        .filter_map(|string| string.strip_prefix(name.as_bytes())?.strip_prefix(b"="))
        .next_back()
        .map(|value| String::from_utf8_lossy(value).into_owned())
}

/// Name of the scheduler's group of a process, which those of one session share.
pub fn autogroup_of(process: &str) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{process}/autogroup")).ok()?;
    text.split_ascii_whitespace().next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_is_found_by_its_whole_name() {
        let environment = b"USERS=x\0USER=root\0LANG=\0";
        assert_eq!(variable_of(environment, "USER").as_deref(), Some("root"));
        assert_eq!(variable_of(environment, "LANG").as_deref(), Some(""));
        assert_eq!(variable_of(environment, "LOGNAME"), None);
    }
}
