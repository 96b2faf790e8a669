//! Factors of the trial's private world and of what is done in it before `run.sh`: levels and read-back.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use datamill_protocol::{FactorFacts, IsolationWanted, TrialSpec};

use super::offer::{
    LONGEST_DIRECTORY, REBOOT_REASON, missing_caches, missing_filesystem, missing_world,
};
use super::page_cache::DroppedCaches;
use crate::factors::fact::fact;
use crate::process::Witness;
use crate::world::{RootFilesystem, World, WorldSettings, filesystem_of};

/// Most executions of `run.sh` before the measured one.
const MOST_WARMUPS: u32 = 1000;

/// Levels of the world factors, understood.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorldLevels {
    /// Characters asked for in the path of the working directory of `run.sh`.
    pub directory_length: Option<usize>,
    /// File system asked for.
    pub root_filesystem: Option<RootFilesystem>,
    /// Caches that are to be dropped just before `run.sh`.
    pub drop_caches: Option<DroppedCaches>,
    /// Whether the package's files are to be read just before `run.sh`.
    pub cache_preload: Option<bool>,
    /// Executions of `run.sh` before the measured one.
    pub warmups: Option<u32>,
    /// Name of the package that runs beside `run.sh`, or `none`.
    pub background_load: Option<String>,
    /// Whether that package's `run.sh` shares the session of the measured one, as it does when this is
    /// not asked for: both are started from one terminal, so to speak.
    pub shares_session: Option<bool>,
    /// Whether the factor `reboot` is asked for, at its only level here.
    pub without_reboot: bool,
}

impl WorldLevels {
    /// Understands a level of one of these factors; the error says what it can be.
    pub fn parse_level(&mut self, name: &str, level: &str) -> Option<Result<(), String>> {
        let parsed = match name {
            "working_directory_length" => parse_number(level, 1, LONGEST_DIRECTORY, "characters")
                .and_then(|length| {
                    self.directory_length = Some(length);
                    missing_world().map_or(Ok(()), refused)
                }),
            "root_filesystem" => parse_filesystem(level).map(|it| self.root_filesystem = Some(it)),
            "drop_caches" => parse_caches(level).map(|it| self.drop_caches = Some(it)),
            "cache_preload" => match level {
                "off" | "on" => {
                    self.cache_preload = Some(level == "on");
                    Ok(())
                }
                _ => Err("off, on".to_owned()),
            },
            "warmups" => parse_number(level, 0, MOST_WARMUPS as usize, "executions")
                .map(|count| self.warmups = Some(count as u32)),
            "background_load" => {
                self.background_load = Some(level.to_owned());
                Ok(())
            }
            "session" => match level {
                "same" | "different" => {
                    self.shares_session = Some(level == "same");
                    Ok(())
                }
                _ => Err("same, different".to_owned()),
            },
            "reboot" => match level {
                "none" => {
                    self.without_reboot = true;
                    Ok(())
                }
                "before_trial" => Err(format!(
                    "none; before_trial is not available here: {REBOOT_REASON}"
                )),
                _ => Err("none".to_owned()),
            },
            _ => return None,
        };
        Some(parsed)
    }

    /// Checks what depends on more than one field of a specification; the error names the fields.
    pub fn check_against(&self, spec: &TrialSpec) -> Result<(), String> {
        let load = self.load();
        let given = spec
            .background
            .as_ref()
            .map(|package| package.name.as_str());
        if load != given {
            return Err(match (load, given) {
                (Some(load), given) => format!(
                    "background: levels.background_load is `{load}`, but the package given is {}",
                    given.map_or("none".to_owned(), |given| format!("`{given}`"))
                ),
                (None, _) => format!(
                    "background: `{}` is given, but levels.background_load does not ask for it",
                    given.unwrap_or_default()
                ),
            });
        }
        let refused = |name: &str, isolation: &str| {
            Err(format!(
                "levels.{name}: not available with isolation = {isolation}, which makes no world that could have it"
            ))
        };
        match (spec.isolation, self.root_filesystem) {
            (IsolationWanted::Plain, Some(_)) => refused("root_filesystem", "plain"),
            (IsolationWanted::Plain, None) if self.directory_length.is_some() => {
                refused("working_directory_length", "plain")
            }
            (IsolationWanted::UserNamespace, Some(RootFilesystem::Image(_))) => {
                refused("root_filesystem", "user_namespace")
            }
            _ => Ok(()),
        }
    }

    /// Name of the package that is to run beside `run.sh`.
    pub fn load(&self) -> Option<&str> {
        self.background_load
            .as_deref()
            .filter(|name| *name != "none")
    }

    /// Whether a witness process is needed to read these levels back.
    pub fn wants_witness(&self) -> bool {
        self.directory_length.is_some() || self.shares_session.is_some()
    }

    /// What these levels want of the world that is made for the trial.
    pub fn settings<'a>(&self, background: Option<&'a Path>) -> WorldSettings<'a> {
        WorldSettings {
            directory_length: self.directory_length,
            root_filesystem: self.root_filesystem,
            drops_caches: !matches!(self.drop_caches, None | Some(DroppedCaches::None)),
            background,
            shares_session: background.is_some() && self.shares_session != Some(false),
        }
    }
}

fn parse_number(level: &str, least: usize, most: usize, what: &str) -> Result<usize, String> {
    match level.parse() {
        // Another spelling of a number would be another level of the factor.
        Ok(number) if (least..=most).contains(&number) && number.to_string() == level => Ok(number),
        _ => Err(format!("{least} to {most} {what}")),
    }
}

fn parse_filesystem(level: &str) -> Result<RootFilesystem, String> {
    let Some(filesystem) = RootFilesystem::ALL
        .into_iter()
        .find(|it| it.name() == level)
    else {
        let names = RootFilesystem::ALL.map(RootFilesystem::name);
        return Err(names.join(", "));
    };
    match missing_filesystem(filesystem) {
        None => Ok(filesystem),
        Some(reason) => {
            let offered = RootFilesystem::ALL
                .into_iter()
                .filter(|other| missing_filesystem(*other).is_none())
                .map(RootFilesystem::name);
            Err(choices(offered, level, &reason))
        }
    }
}

fn parse_caches(level: &str) -> Result<DroppedCaches, String> {
    let Some(caches) = DroppedCaches::ALL.into_iter().find(|it| it.name() == level) else {
        return Err(DroppedCaches::ALL.map(DroppedCaches::name).join(", "));
    };
    match missing_caches() {
        Some(reason) if caches != DroppedCaches::None => {
            Err(choices(["none"].into_iter(), level, &reason))
        }
        _ => Ok(caches),
    }
}

fn refused(reason: String) -> Result<(), String> {
    Err(format!("nothing here: {reason}"))
}

fn choices<'a>(offered: impl Iterator<Item = &'a str>, level: &str, reason: &str) -> String {
    let offered: Vec<&str> = offered.collect();
    let offered = match offered[..] {
        [] => "nothing here".to_owned(),
        _ => offered.join(", "),
    };
    format!("{offered}; {level} is not available: {reason}")
}

/// Reads back what holds of the world while `run.sh` runs; `witness` was launched as `run.sh` will be.
pub fn observe_world(
    levels: &WorldLevels,
    world: &World,
    witness: Option<&Result<Witness, String>>,
) -> Vec<FactorFacts> {
    let mut facts = Vec::new();
    if let (Some(length), Some(witness)) = (levels.directory_length, witness) {
        facts.push(observe_directory(length, witness));
    }
    if let Some(filesystem) = levels.root_filesystem {
        facts.push(observe_filesystem(filesystem, world));
    }
    if levels.without_reboot {
        let evidence = "Nothing rebooted the host for this trial.".to_owned();
        facts.push(fact("reboot", "none", Some("none".to_owned()), evidence));
    }
    facts
}

fn observe_directory(asked: usize, witness: &Result<Witness, String>) -> FactorFacts {
    let seen = witness.as_ref().map(|witness| witness.directory.as_ref());
    let (observed, evidence) = match seen {
        Ok(Some(directory)) => (
            Some(directory.len().to_string()),
            format!(
                "A witness process launched like run.sh got a path of {} characters from getcwd.",
                directory.len()
            ),
        ),
        Ok(None) => (None, "The path from getcwd was no text.".to_owned()),
        Err(cause) => (None, cause.clone()),
    };
    fact(
        "working_directory_length",
        &asked.to_string(),
        observed,
        evidence,
    )
}

fn observe_filesystem(asked: RootFilesystem, world: &World) -> FactorFacts {
    let look = || {
        let package = world.run_script.metadata()?.dev();
        let changes = world.space.metadata()?.dev();
        let kinds = (
            filesystem_of(&world.run_script)?,
            filesystem_of(&world.space)?,
        );
        Ok::<_, std::io::Error>((package == changes, kinds))
    };
    let (observed, evidence) = match look() {
        Ok((same, (package, changes))) => {
            let named = |kind: Option<&'static str>| kind.unwrap_or("another file system");
            let evidence = format!(
                "Below the overlay of the world, statfs says {} for the layer of changes and {} for run.sh of the package, on {} device.",
                named(changes),
                named(package),
                if same { "the same" } else { "another" }
            );
            let observed = match (same, changes) {
                (true, Some(kind)) => Some(kind),
                (false, Some("tmpfs")) => Some("memory"),
                _ => None,
            };
            (observed.map(str::to_owned), evidence)
        }
        Err(error) => (
            None,
            format!("The layers of the world could not be looked at: {error}."),
        ),
    };
    fact("root_filesystem", asked.name(), observed, evidence)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(name: &str, level: &str) -> Result<(), String> {
        WorldLevels::default().parse_level(name, level).unwrap()
    }

    #[test]
    fn a_level_that_is_none_is_told_with_what_it_can_be() {
        for (name, level, choices) in [
            ("working_directory_length", "0", "1 to 4000 characters"),
            ("working_directory_length", "4001", "1 to 4000 characters"),
            ("root_filesystem", "ntfs", "memory, tmpfs, ext4, xfs, btrfs"),
            ("drop_caches", "some", "none, page, inode, all"),
            ("cache_preload", "yes", "off, on"),
            ("warmups", "-1", "0 to 1000 executions"),
            ("warmups", "01", "0 to 1000 executions"),
            ("session", "own", "same, different"),
            ("reboot", "before_trial", "a worker of a fleet"),
        ] {
            let refused = parse(name, level).unwrap_err();
            assert!(refused.contains(choices), "{name}: {refused}");
        }
    }

    #[test]
    fn a_factor_of_another_group_is_left_to_it() {
        assert_eq!(WorldLevels::default().parse_level("aslr", "on"), None);
    }
}
