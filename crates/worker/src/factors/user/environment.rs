//! Factors that an experiment brings along and that act on the environment of `run.sh`.

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use datamill_protocol::{FactorFacts, Failure, FailureKind, Phase};

use super::folder::Manifest;
use super::verbs::{VerbCall, parse_level_line, run_verb};
use crate::factors::fact::fact;
use crate::factors::process::find_reserving_factor;
use crate::interrupt::Interrupt;
use crate::trouble::{Step, failure, io_failure};
use crate::world::{World, copy_tree};

/// A factor of the environment, with the level that it is to have.
pub struct EnvironmentFactor {
    /// What it says of itself.
    pub manifest: Manifest,
    /// Level asked for.
    pub level: String,
    /// Its folder, opened before the world is entered.
    pub folder: OwnedFd,
}

/// Adds what the factors' `set` prints to the environment of `run.sh`, and asks their `verify` in it.
///
/// A variable that is there already is replaced. The executables run in the trial's own world.
pub fn set_environment_factors(
    factors: &[EnvironmentFactor],
    folders: &[PathBuf],
    world: &World,
    environment: &mut Vec<CString>,
    interrupt: &Interrupt,
) -> Step<Vec<FactorFacts>> {
    let mut owners: Vec<(String, &str)> = Vec::new();
    if factors.is_empty() {
        return Ok(Vec::new());
    }
    let confinement = world.confinement().map_err(io_failure(
        Phase::Run,
        "confining the executables of a factor",
    ))?;
    for (factor, folder) in factors.iter().zip(folders) {
        let name = factor.manifest.name.as_str();
        let failed = |cause: String| set_failure(name, &factor.level, &cause);
        let printed = run_verb(&VerbCall {
            argument: Some(&factor.level),
            confinement,
            ..call(factor, folder, "set", world, environment, interrupt)
        })
        .map_err(failed)?;
        for (variable, value) in parse_variables(&printed).map_err(failed)? {
            if let Some((_, owner)) = owners.iter().find(|(known, _)| *known == variable) {
                return Err(failed(format!(
                    "the factor {owner} sets the variable {variable} too"
                )));
            }
            put_variable(environment, &variable, &value).map_err(failed)?;
            owners.push((variable, name));
        }
    }
    let verified = factors.iter().zip(folders).map(|(factor, folder)| {
        let told = run_verb(&VerbCall {
            confinement,
            ..call(factor, folder, "verify", world, environment, interrupt)
        })
        .and_then(|printed| parse_level_line("verify", &printed));
        let (observed, evidence) = match told {
            Ok(level) => {
                let evidence =
                    format!("In the environment of run.sh, its `verify` told `{level}`.");
                (Some(level), evidence)
            }
            Err(cause) => (None, format!("It could not be read back: {cause}.")),
        };
        fact(&factor.manifest.name, &factor.level, observed, evidence)
    });
    Ok(verified.collect())
}

fn call<'a>(
    factor: &EnvironmentFactor,
    folder: &'a Path,
    verb: &'a str,
    world: &'a World,
    environment: &'a [CString],
    interrupt: &'a Interrupt,
) -> VerbCall<'a> {
    VerbCall {
        folder,
        verb,
        argument: None,
        environment,
        timeout_s: factor.manifest.timeout_s,
        world,
        confinement: None,
        interrupt,
    }
}

/// Shows the factors' folders inside the world, before any script of the package runs in it.
pub fn show_factor_folders(factors: &[EnvironmentFactor], world: &World) -> Step<Vec<PathBuf>> {
    let shown = factors.iter().map(|factor| {
        let name = factor.manifest.name.as_str();
        show_folder(factor, world).map_err(|cause| set_failure(name, &factor.level, &cause))
    });
    shown.collect()
}

/// Gives a folder with all in it to the package's root.
fn give_tree(world: &World, folder: &Path) -> io::Result<()> {
    world.give(folder)?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            give_tree(world, &entry.path())?;
        } else {
            world.give(&entry.path())?;
        }
    }
    Ok(())
}

/// A copy of the folder inside the world.
fn show_folder(factor: &EnvironmentFactor, world: &World) -> Result<PathBuf, String> {
    let folder = world.tools.join("factors").join(&factor.manifest.name);
    let original = format!("/proc/self/fd/{}", factor.folder.as_raw_fd());
    fs::create_dir_all(&folder)
        .and_then(|()| copy_tree(Path::new(&original), &folder))
        .and_then(|()| give_tree(world, &world.tools.join("factors")))
        .map_err(|error| format!("showing its folder inside the trial's world: {error}"))?;
    Ok(folder)
}

fn parse_variables(printed: &str) -> Result<Vec<(String, String)>, String> {
    let mut variables: Vec<(String, String)> = Vec::new();
    for line in printed.lines().filter(|line| !line.trim().is_empty()) {
        let refused = || {
            let start: String = line.chars().take(60).collect();
            format!(
                "its `set` printed `{}`, which is not NAME=value",
                start.escape_debug()
            )
        };
        let (name, value) = line.split_once('=').ok_or_else(refused)?;
        let is_name = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !is_name || variables.iter().any(|(known, _)| known == name) {
            return Err(refused());
        }
        variables.push((name.to_owned(), value.to_owned()));
    }
    Ok(variables)
}

fn put_variable(environment: &mut Vec<CString>, name: &str, value: &str) -> Result<(), String> {
    if let Some(factor) = find_reserving_factor(name) {
        return Err(format!(
            "its `set` printed {name}, a name that the factor {factor} uses"
        ));
    }
    let start = format!("{name}=");
    let variable = CString::new(format!("{start}{value}"))
        .map_err(|_| format!("its `set` printed a NUL byte in {name}"))?;
    let known = environment
        .iter_mut()
        .find(|known| known.as_bytes().starts_with(start.as_bytes()));
    match known {
        Some(known) => *known = variable,
        None => environment.push(variable),
    }
    Ok(())
}

/// The failure of a trial whose factor could not be set.
pub fn set_failure(factor: &str, level: &str, cause: &str) -> Failure {
    failure(
        Phase::Isolate,
        FailureKind::Factor,
        format!("The factor {factor} could not be set to `{level}`: {cause}."),
        "Leave this level out here, or put right what the message names; `datamill-worker factors` lists what this host has.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_lines_with_an_equals_sign() {
        let parsed = parse_variables("A=1\nB_2=x=y z\n\n").unwrap();
        assert_eq!(
            parsed,
            [("A", "1"), ("B_2", "x=y z")].map(|(n, v)| (n.to_owned(), v.to_owned()))
        );
        for garbage in ["hello", "=1", "1A=2", "A B=1", "A=1\nA=2"] {
            assert!(parse_variables(garbage).is_err(), "{garbage}");
        }
    }

    #[test]
    fn a_variable_replaces_the_one_of_its_name_and_no_other() {
        let mut environment = vec![c"AB=1".to_owned(), c"A=1".to_owned()];
        put_variable(&mut environment, "A", "2").unwrap();
        put_variable(&mut environment, "B", "3").unwrap();
        let expected = [c"AB=1", c"A=2", c"B=3"].map(ToOwned::to_owned);
        assert_eq!(environment, expected);
        assert!(put_variable(&mut environment, "PADa", "x").is_err());
    }
}
