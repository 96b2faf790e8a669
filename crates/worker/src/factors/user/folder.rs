//! The folder of a factor that an experiment brings along: what it says of itself, what is in it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use datamill_protocol::{Failure, FailureKind, Phase, TrialLimits};
use serde::Deserialize;

use crate::interrupt::Interrupt;
use crate::package::store_tree;
use crate::trouble::{Step, failure};

/// Name of the file in which a factor says what it is.
pub const MANIFEST: &str = "factor.toml";

/// Longest time that each of a factor's executables can have.
const LONGEST_TIMEOUT_S: u64 = 600;

/// What a factor changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// A setting of the host's kernel, below `/proc/sys` or `/sys`.
    Host,
    /// The environment of `run.sh`.
    Environment,
}

/// What a factor says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Its name.
    pub name: String,
    /// What it is, one sentence.
    pub summary: String,
    /// What it changes.
    pub scope: Scope,
    /// Time that each of its executables has.
    #[serde(default = "default_timeout_s")]
    pub timeout_s: u64,
}

fn default_timeout_s() -> u64 {
    10
}

/// A factor of an experiment, unpacked and checked.
#[derive(Debug)]
pub struct UserFactor {
    /// What it says of itself.
    pub manifest: Manifest,
    /// Its folder.
    pub root: PathBuf,
    /// Hash of what is in the folder.
    pub key: String,
}

/// Unpacks a factor into the cache, unless it is there already, and checks it.
pub fn prepare_user_factor(
    path: &Path,
    sha256: Option<&str>,
    cache: &Path,
    limits: &TrialLimits,
    interrupt: &Interrupt,
) -> Step<UserFactor> {
    let stored = store_tree(path, sha256, cache, limits, interrupt).map_err(|refused| Failure {
        message: format!("The factor in {}: {}", path.display(), refused.message),
        ..refused
    })?;
    let manifest = read_factor(&stored.root).map_err(|cause| {
        failure(
            Phase::Unpack,
            FailureKind::BadPackage,
            format!("The factor in {} cannot be used: {cause}.", path.display()),
            "Compare it with packages/factors/template.",
        )
    })?;
    Ok(UserFactor {
        manifest,
        root: stored.root,
        key: stored.key,
    })
}

/// Reads what a factor says of itself and looks that its executables are there.
fn read_factor(root: &Path) -> Result<Manifest, String> {
    let text = fs::read_to_string(root.join(MANIFEST))
        .map_err(|error| format!("{MANIFEST} cannot be read: {error}"))?;
    let manifest = parse_manifest(&text)?;
    let verbs: &[&str] = match manifest.scope {
        Scope::Host => &["levels", "set", "verify", "restore"],
        Scope::Environment => &["levels", "set", "verify"],
    };
    for verb in verbs {
        let data = fs::metadata(root.join(verb))
            .map_err(|_| format!("it has no executable called `{verb}`"))?;
        if !data.is_file() || data.permissions().mode() & 0o111 == 0 {
            return Err(format!(
                "`{verb}` is not an executable file; make it one with `chmod +x {verb}`"
            ));
        }
    }
    Ok(manifest)
}

fn parse_manifest(text: &str) -> Result<Manifest, String> {
    let manifest: Manifest = toml::from_str(text).map_err(|error| {
        let line = error.span().map_or(1, |span| {
            text[..span.start.min(text.len())].matches('\n').count() + 1
        });
        format!(
            "{MANIFEST}, line {line}: {}",
            error.message().replace('\n', " ")
        )
    })?;
    let name = &manifest.name;
    let is_name = name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.len() <= 64
        && name
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if !is_name {
        return Err(format!(
            "{MANIFEST}: name: `{name}` is not a name; use small letters, digits and `_`, a letter first"
        ));
    }
    if manifest.summary.trim().is_empty() {
        return Err(format!("{MANIFEST}: summary: say what the factor is"));
    }
    if !(1..=LONGEST_TIMEOUT_S).contains(&manifest.timeout_s) {
        return Err(format!(
            "{MANIFEST}: timeout_s: {} is not a number of seconds from 1 to {LONGEST_TIMEOUT_S}",
            manifest.timeout_s
        ));
    }
    Ok(manifest)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "name = \"swappiness\"\nsummary = \"s\"\nscope = \"host\"\n";

    #[test]
    fn what_a_factor_says_of_itself_is_understood() {
        let expected = Manifest {
            name: "swappiness".to_owned(),
            summary: "s".to_owned(),
            scope: Scope::Host,
            timeout_s: 10,
        };
        assert_eq!(parse_manifest(GOOD), Ok(expected));
    }

    #[test]
    fn what_is_wrong_is_named_by_line_or_field() {
        for (text, named) in [
            (GOOD.replace("swappiness", "Swap"), "name: `Swap`"),
            (GOOD.replace("\"host\"", "\"world\""), "line 3"),
            (format!("{GOOD}timeout_s = 0\n"), "timeout_s: 0"),
            (format!("{GOOD}colour = 1\n"), "line 4"),
            (GOOD.replace("summary = \"s\"\n", ""), "summary"),
            (GOOD.replace("\"s\"", "\" \""), "summary"),
        ] {
            let refused = parse_manifest(&text).unwrap_err();
            assert!(refused.contains(named), "{refused}");
        }
    }
}
