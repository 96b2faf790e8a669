//! Under which conditions `run.sh` is launched: its environment and the settings of its process.

use std::ffi::CString;
use std::path::{Path, PathBuf};

use datamill_probe::ProcessSettings;
use datamill_protocol::{Failure, FailureKind, Phase};

use super::levels::ProcessLevels;
use crate::factors::process::levels::{
    LimitLevel, find_locale, memory_nodes, padding_variables, tunables_text, usable_processors,
    user_name,
};
use crate::process::{is_padding_name, phase_environment, set_variable};
use crate::trouble::{Step, failure};
use crate::world::World;

/// What `run.sh`, its warm-ups and the witnesses are launched with.
#[derive(Debug, Clone, Default)]
pub struct RunConditions {
    /// The whole environment, `NAME=value` each.
    pub environment: Vec<CString>,
    /// What of the process is set.
    pub settings: ProcessSettings,
    /// Library that is loaded before all others, if one is.
    pub(super) preloaded: Option<PathBuf>,
    /// Where the locale asked for is, in words.
    pub(super) locale_place: String,
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
        settings: choose_settings(levels)?,
        ..RunConditions::default()
    };
    set_variables(levels, &mut conditions)?;
    Ok(conditions)
}

fn choose_settings(levels: &ProcessLevels) -> Step<ProcessSettings> {
    let processors = levels.cpu_set.as_ref().map(|wanted| {
        let chosen = wanted.choose(&usable_processors());
        chosen.map_err(lacking(levels, "cpu_set"))
    });
    let memory_policy = levels.numa_policy.map(|wanted| {
        let chosen = wanted.choose(&memory_nodes());
        chosen.map_err(lacking(levels, "numa_policy"))
    });
    Ok(ProcessSettings {
        address_randomization: levels.aslr,
        stack_limit: levels.stack_limit.and_then(LimitLevel::limit),
        heap_limit: levels.heap_limit.and_then(LimitLevel::limit),
        memory_policy: memory_policy.transpose()?,
        processors: processors.transpose()?,
        niceness: levels.niceness,
        policy: levels.scheduler_policy,
    })
}

fn set_variables(levels: &ProcessLevels, conditions: &mut RunConditions) -> Step<()> {
    let environment = &mut conditions.environment;
    if let Some(length) = levels.user_name_length {
        for name in ["USER", "LOGNAME"] {
            set_variable(environment, name, &user_name(length));
        }
    }
    if let Some(locale) = &levels.locale {
        let place = find_locale(locale);
        conditions.locale_place = place.map_err(lacking(levels, "locale"))?;
        for name in ["LANG", "LC_ALL"] {
            set_variable(environment, name, locale);
        }
    }
    if let Some(allocator) = levels.allocator {
        let library = allocator.find_library();
        conditions.preloaded = library.map_err(lacking(levels, "allocator"))?;
        if let Some(library) = conditions.preloaded.as_deref().and_then(Path::to_str) {
            set_variable(environment, "LD_PRELOAD", library);
        }
    }
    if let Some(tunables) = &levels.libc_tunables
        && !tunables.is_empty()
    {
        set_variable(environment, "GLIBC_TUNABLES", &tunables_text(tunables));
    }
    environment.extend(padding_variables(levels.env_padding.unwrap_or(0)));
    Ok(())
}

fn lacking<'a>(levels: &'a ProcessLevels, factor: &'a str) -> impl FnOnce(String) -> Failure + 'a {
    move |reason| {
        failure(
            Phase::Isolate,
            FailureKind::Factor,
            format!(
                "The level `{}` of {factor} cannot be set here: {reason}.",
                levels.asked(factor)
            ),
            format!("Choose a level that `datamill-worker factors` lists for {factor}."),
        )
    }
}

/// The factor that sets a variable, if it is asked for.
fn factor_of_variable(levels: &ProcessLevels, name: &str) -> Option<&'static str> {
    let (factor, asked) = match name {
        "USER" | "LOGNAME" => ("user_name_length", levels.user_name_length.is_some()),
        "LANG" | "LC_ALL" => ("locale", levels.locale.is_some()),
        "LD_PRELOAD" => ("allocator", levels.allocator.is_some()),
        "GLIBC_TUNABLES" => ("libc_tunables", levels.libc_tunables.is_some()),
        _ => (
            "env_padding",
            levels.env_padding.is_some() && is_padding_name(name),
        ),
    };
    asked.then_some(factor)
}

/// A package that sets what a factor sets would undo the factor, or be undone by it.
fn check_variables(levels: &ProcessLevels, package: &[(String, String)]) -> Step<()> {
    for (name, _) in package {
        let Some(factor) = factor_of_variable(levels, name) else {
            continue;
        };
        let remedy = if factor == "env_padding" {
            "Rename the variable; PAD and one letter are taken."
        } else {
            "Take the variable out of the env file, or the factor out of the experiment."
        };
        return Err(failure(
            Phase::Isolate,
            FailureKind::BadPackage,
            format!("The package's env file sets {name}, a name that the factor {factor} uses."),
            remedy,
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
    fn variables_are_replaced_in_their_place() {
        let mut conditions = RunConditions {
            environment: [c"USER=root", c"PATH=/bin", c"LANG=C.UTF-8"]
                .map(ToOwned::to_owned)
                .into(),
            ..RunConditions::default()
        };
        let levels = levels(&[
            ("user_name_length", "6"),
            ("locale", "C"),
            ("libc_tunables", "glibc.malloc.arena_max=1"),
        ]);
        set_variables(&levels, &mut conditions).unwrap();
        let expected = [
            c"USER=rootxx",
            c"PATH=/bin",
            c"LANG=C",
            c"LOGNAME=rootxx",
            c"LC_ALL=C",
            c"GLIBC_TUNABLES=glibc.malloc.arena_max=1",
        ];
        assert_eq!(conditions.environment, expected);
    }

    #[test]
    fn a_level_that_is_not_here_fails_the_trial_as_a_factor() {
        let refused = choose_settings(&levels(&[("cpu_set", "8000")])).unwrap_err();
        assert_eq!(refused.kind, FailureKind::Factor);
        assert!(
            refused.message.contains("`8000` of cpu_set"),
            "{}",
            refused.message
        );
    }
}
