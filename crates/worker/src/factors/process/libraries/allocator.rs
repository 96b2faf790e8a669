//! `allocator`: the memory allocator that is loaded before the C library's.

use datamill_protocol::FactorOffer;

use super::NO_DYNAMIC_PROGRAM;
use super::allocators::{ALLOCATORS, Allocator, allocator_in_maps};
use super::loader::{Executable, find_dynamic_program, read_executable};
use crate::factors::process::conditions::RunConditions;
use crate::factors::process::factor::{Asked, ProcessFactor, choose, offer_each};
use crate::factors::process::read_back::{Observer, Reading};
use crate::process::set_variable;

const VARIABLE: &str = "LD_PRELOAD";

/// The factor.
pub struct AllocatorFactor;

impl ProcessFactor for AllocatorFactor {
    type Level = Allocator;
    /// The witness is a static program, into which nothing is loaded.
    type Seen = ();

    fn name(&self) -> &'static str {
        "allocator"
    }

    fn offer(&self) -> FactorOffer {
        offer_each(
            self.name(),
            ALLOCATORS.map(|(name, allocator)| (name.to_owned(), allocator.find_library().err())),
        )
    }

    fn parse(&self, text: &str) -> Result<Allocator, String> {
        choose(&ALLOCATORS, text)
    }

    fn check(&self, level: &Allocator) -> Result<(), String> {
        level.find_library().map(drop)
    }

    fn sets_variable(&self, name: &str) -> bool {
        name == VARIABLE
    }

    fn apply(&self, level: &Allocator, conditions: &mut RunConditions) -> Result<(), String> {
        let library = level.find_library()?;
        if let Some(library) = library.as_deref().and_then(|path| path.to_str()) {
            set_variable(&mut conditions.environment, VARIABLE, library);
        }
        Ok(())
    }

    fn observe(&self, _environment: &[u8]) {}

    fn read_back(&self, asked: &Asked<'_, Allocator>, (): &(), observer: &Observer<'_>) -> Reading {
        judge(asked.level, observer)
    }
}

/// The allocator in the memory maps of a dynamic program.
fn judge(level: Allocator, observer: &Observer<'_>) -> Reading {
    let run = read_executable(observer.program);
    if level != Allocator::Glibc && matches!(run, Ok(Executable::Static)) {
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
