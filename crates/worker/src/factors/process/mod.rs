//! Factors that act on the process of `run.sh` and on all that it starts: a file a factor, each with
//! its levels, what this host offers, how it is set and how it is read back.

mod conditions;
mod environment;
mod factor;
mod handed;
mod levels;
mod libraries;
mod memory;
mod number_lists;
mod read_back;
mod scheduling;

use datamill_probe::ChildStep;
use datamill_protocol::FactorOffer;

pub use conditions::{RunConditions, prepare_command, prepare_run};
use factor::RegisteredFactor;
pub use handed::read_back_handed;
pub use levels::ProcessLevels;
pub use read_back::{
    Observer, launch_witness, observe_witness, read_back_levels, read_back_process_factors,
};

/// All process factors, in the order in which they are offered, set and read back.
static PROCESS_FACTORS: [&dyn RegisteredFactor; 12] = [
    &memory::Aslr,
    &environment::EnvPadding,
    &scheduling::SchedulerPolicy,
    &scheduling::Niceness,
    &scheduling::CpuSet,
    &memory::NumaPolicy,
    &memory::STACK_LIMIT,
    &memory::HEAP_LIMIT,
    &environment::UserNameLength,
    &environment::Locale,
    &libraries::AllocatorFactor,
    &libraries::LibcTunables,
];

/// What this host offers of the process factors.
pub fn offer_factors() -> Vec<FactorOffer> {
    let factors = PROCESS_FACTORS.iter();
    factors.map(|factor| factor.offer()).collect()
}

/// The factor that is set at this step of a launched process.
pub fn find_factor_set_at(step: ChildStep) -> Option<&'static str> {
    let mut factors = PROCESS_FACTORS.iter();
    let factor = factors.find(|factor| factor.set_at() == Some(step))?;
    Some(factor.name())
}

/// The factor for which a variable of this name counts, no matter who sets it.
pub fn find_reserving_factor(variable: &str) -> Option<&'static str> {
    let mut factors = PROCESS_FACTORS.iter();
    let factor = factors.find(|factor| factor.reserves_variable(variable))?;
    Some(factor.name())
}
