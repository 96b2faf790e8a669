//! Reading back what only a dynamic program shows: which allocator is loaded, and what the C library
//! made of its tunables. The witness itself is a static program.

use super::observer::Observer;
use crate::factors::process::levels::{Tunables, allocator_in_maps, differing_tunables};
use crate::factors::process::loader::{Executable, find_dynamic_program, read_executable};
use crate::factors::process::read_back::Reading;
use crate::package::RUN;
use crate::process::Witness;

const NO_DYNAMIC_PROGRAM: &str =
    "This host has no dynamic `cat` that could show what the loader does.";

/// The allocator in the memory maps of a dynamic program.
pub fn judge_allocator(observer: &Observer<'_>) -> Reading {
    let wanted = &observer.conditions.preloaded;
    let run = read_executable(&observer.world.root.join(RUN));
    if wanted.is_some() && matches!(run, Ok(Executable::Static)) {
        return (
            None,
            "run.sh is a static program, into which no library can be loaded.".to_owned(),
        );
    }
    let Some((program, _)) = find_dynamic_program() else {
        return (None, NO_DYNAMIC_PROGRAM.to_owned());
    };
    let name = program.display();
    match observer.output_of(program, &[c"/proc/self/maps".to_owned()]) {
        Err(cause) => (None, format!("{name} could not be observed: {cause}.")),
        Ok(maps) => match allocator_in_maps(&maps) {
            Some((level, library)) => (
                Some(level.to_owned()),
                format!(
                    "{name}, a dynamic program launched like run.sh, had {library} in its memory \
                     maps; a static program would not."
                ),
            ),
            None => (
                None,
                format!(
                    "{name}, launched like run.sh, had neither glibc nor a known allocator in its \
                     memory maps."
                ),
            ),
        },
    }
}

/// Whether the C library's loader took the tunables that reached the environment.
pub fn judge_tunables(
    observer: &Observer<'_>,
    seen: &Witness,
    asked: &str,
    tunables: &Tunables,
) -> Reading {
    let delivered = seen.variables.get("GLIBC_TUNABLES").map(String::as_str);
    let Some(delivered) = delivered else {
        return (
            Some("none".to_owned()),
            "A witness process launched like run.sh found no GLIBC_TUNABLES.".to_owned(),
        );
    };
    if delivered != asked {
        return (
            Some(delivered.to_owned()),
            format!("A witness process launched like run.sh found GLIBC_TUNABLES={delivered}."),
        );
    }
    let Some((_, loader)) = find_dynamic_program() else {
        return (None, NO_DYNAMIC_PROGRAM.to_owned());
    };
    let name = loader.display();
    let listing = match observer.output_of(&loader, &[c"--list-tunables".to_owned()]) {
        Ok(listing) => listing,
        Err(cause) => {
            return (
                None,
                format!(
                    "{name} did not list its tunables, as that of glibc 2.33 and later does: {cause}."
                ),
            );
        }
    };
    let differing = differing_tunables(tunables, &listing);
    if differing.is_empty() {
        return (
            Some(asked.to_owned()),
            format!("{name}, launched like run.sh, listed its tunables with the values asked for."),
        );
    }
    let told: Vec<String> = differing
        .into_iter()
        .map(|(tunable, value)| match value {
            Some(value) => format!("{tunable}={value}"),
            None => format!("{tunable} unknown"),
        })
        .collect();
    let told = told.join(":");
    (
        Some(told.clone()),
        format!("{name}, launched like run.sh, did not take all tunables: it listed {told}."),
    )
}
