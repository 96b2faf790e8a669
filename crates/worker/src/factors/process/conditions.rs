//! Under which conditions `run.sh` is launched: its environment and the settings of its process.

use std::ffi::CString;

use datamill_probe::ProcessSettings;
use datamill_protocol::{Failure, FailureKind, Phase};

use super::levels::ProcessLevels;
use crate::process::phase_environment;
use crate::trouble::{Step, failure};
use crate::world::World;

/// What `run.sh`, its warm-ups and the witnesses are launched with.
#[derive(Debug, Clone, Default)]
pub struct RunConditions {
    /// The whole environment, `NAME=value` each.
    pub environment: Vec<CString>,
    /// What of the process is set.
    pub settings: ProcessSettings,
    /// Variables that come after all others, whatever else is set.
    pub(super) last_variables: Vec<CString>,
}

/// Works out the conditions under the levels asked for; `package` are the variables of its `env` file.
///
/// Fails when the package sets a variable that a factor sets, or this host lacks a level.
pub fn prepare_run(
    levels: &ProcessLevels,
    world: &World,
    package: &[(String, String)],
) -> Step<RunConditions> {
    check_variables(levels, package)?;
    let mut conditions = RunConditions {
        environment: phase_environment(world, package, false),
        ..RunConditions::default()
    };
    apply_levels(levels, &mut conditions)?;
    Ok(conditions)
}

/// Works out the conditions of a command in an environment; `given` are the names of variables that were
/// given for it.
pub fn prepare_command<'a>(
    levels: &ProcessLevels,
    environment: Vec<CString>,
    given: impl Iterator<Item = &'a str>,
) -> Step<RunConditions> {
    for name in given {
        let mut asked = levels.asked();
        if let Some((factor, _)) = asked.find(|(factor, _)| factor.sets_variable(name)) {
            return Err(failure(
                Phase::Run,
                FailureKind::Factor,
                format!(
                    "The variable {name} is given, a name that the factor {} uses.",
                    factor.name()
                ),
                "Leave out the variable, or the factor.",
            ));
        }
    }
    let mut conditions = RunConditions {
        environment,
        ..RunConditions::default()
    };
    apply_levels(levels, &mut conditions).map_err(|failure| Failure {
        phase: Phase::Run,
        ..failure
    })?;
    Ok(conditions)
}

fn apply_levels(levels: &ProcessLevels, conditions: &mut RunConditions) -> Step<()> {
    for (factor, level) in levels.asked() {
        let applied = factor.apply(level, conditions);
        applied.map_err(|reason| lacking(factor.name(), level, &reason))?;
    }
    conditions
        .environment
        .append(&mut conditions.last_variables);
    Ok(())
}

fn lacking(factor: &str, level: &str, reason: &str) -> Failure {
    failure(
        Phase::Isolate,
        FailureKind::Factor,
        format!("The level `{level}` of {factor} cannot be set here: {reason}."),
        format!("Choose a level that `datamill-worker factors` lists for {factor}."),
    )
}

/// A package that sets what a factor sets would undo the factor, or be undone by it.
fn check_variables(levels: &ProcessLevels, package: &[(String, String)]) -> Step<()> {
    for (name, _) in package {
        let mut asked = levels.asked();
        let Some((factor, _)) = asked.find(|(factor, _)| factor.sets_variable(name)) else {
            continue;
        };
        return Err(failure(
            Phase::Isolate,
            FailureKind::BadPackage,
            format!(
                "The package's env file sets {name}, a name that the factor {} uses.",
                factor.name()
            ),
            factor.variable_remedy(),
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn levels(asked: &[(&str, &str)]) -> ProcessLevels {
        let mut levels = ProcessLevels::default();
        for (name, level) in asked {
            levels.parse_level(name, level).unwrap().unwrap();
        }
        levels
    }

    #[test]
    fn a_variable_of_the_package_that_a_factor_uses_is_refused_only_when_it_is_asked_for() {
        for (factor, level, variable) in [
            ("env_padding", "100", "PADa"),
            ("user_name_length", "9", "LOGNAME"),
            ("locale", "C", "LC_ALL"),
            ("allocator", "glibc", "LD_PRELOAD"),
            ("libc_tunables", "none", "GLIBC_TUNABLES"),
        ] {
            let package = [(variable.to_owned(), "x".to_owned())];
            assert!(check_variables(&levels(&[]), &package).is_ok());
            let refused = check_variables(&levels(&[(factor, level)]), &package).unwrap_err();
            assert!(refused.message.contains(variable) && refused.message.contains(factor));
        }
    }

    #[test]
    fn variables_are_replaced_in_their_place_and_padding_is_last() {
        let mut conditions = RunConditions {
            environment: [c"USER=root", c"PATH=/bin", c"LANG=C.UTF-8"]
                .map(ToOwned::to_owned)
                .into(),
            ..RunConditions::default()
        };
        let levels = levels(&[
            ("env_padding", "6"),
            ("user_name_length", "6"),
            ("locale", "C"),
            ("libc_tunables", "glibc.malloc.arena_max=1"),
        ]);
        apply_levels(&levels, &mut conditions).unwrap();
        let expected = [
            c"USER=rootxx",
            c"PATH=/bin",
            c"LANG=C",
            c"LOGNAME=rootxx",
            c"LC_ALL=C",
            c"GLIBC_TUNABLES=glibc.malloc.arena_max=1",
            c"PADa=",
        ];
        assert_eq!(conditions.environment, expected);
    }

    #[test]
    fn a_level_that_is_not_here_fails_the_trial_as_a_factor() {
        let mut conditions = RunConditions::default();
        let refused = apply_levels(&levels(&[("cpu_set", "8000")]), &mut conditions).unwrap_err();
        assert_eq!(refused.kind, FailureKind::Factor);
        assert!(
            refused.message.contains("`8000` of cpu_set"),
            "{}",
            refused.message
        );
    }
}
