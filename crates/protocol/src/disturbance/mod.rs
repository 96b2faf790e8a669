//! Facts that tell whether a trial was disturbed; `results/judgement/validity` judges them.

mod noise;
mod quiet;

use serde::{Deserialize, Serialize};

pub use noise::*;
pub use quiet::*;

/// What else went on while `run.sh` ran. Counts and times are of the whole machine, from just before
/// to just after `run.sh`; a figure that this host does not tell is absent and named in `untold`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct DisturbanceFacts {
    /// From the first to the second look, monotonic clock.
    pub span_ns: u64,
    /// Processors that the processor times are of, as a list: those that a trial has for itself; absent: all.
    pub processors: Option<String>,
    /// Processor time that the hypervisor gave to others, over all processors.
    pub steal_time_ns: Option<u64>,
    /// Processor time of everything, over all processors.
    pub busy_time_ns: Option<u64>,
    /// Processor time of everything but the trial (busy less the trial's own), over all processors.
    pub other_time_ns: Option<u64>,
    /// Processor time in interrupts.
    pub interrupt_time_ns: Option<u64>,
    /// Time in which some task waited for a processor (pressure-stall information, `some`).
    pub cpu_stall_ns: Option<u64>,
    /// Time in which some task waited for memory.
    pub memory_stall_ns: Option<u64>,
    /// Time in which some task waited for input or output.
    pub io_stall_ns: Option<u64>,
    /// Bytes read from and written to disks, by whomever.
    pub disk_bytes: Option<u64>,
    /// Interrupts served.
    pub interrupts: Option<u64>,
    /// Context switches.
    pub context_switches: Option<u64>,
    /// Processes and threads created.
    pub forks: Option<u64>,
    /// Page faults that needed input or output.
    pub major_faults: Option<u64>,
    /// Pages swapped in or out.
    pub swapped_pages: Option<u64>,
    /// Load average of one minute, before.
    pub load_average: Option<f64>,
    /// Lowest processor frequency of the two looks, over processors.
    pub lowest_frequency_khz: Option<u64>,
    /// Highest processor frequency of the two looks, over processors.
    pub highest_frequency_khz: Option<u64>,
    /// Times that a processor was throttled for heat.
    pub throttle_events: Option<u64>,
    /// Highest temperature of any sensor, after, in thousandths of a degree Celsius.
    pub temperature_mc: Option<i64>,
    /// Change of the wall clock beyond that of the monotonic clock: somebody set it.
    pub clock_jump_ns: Option<i64>,
    /// Time in which the machine was suspended.
    pub suspended_ns: Option<u64>,
    /// Lines of the kernel's log of level warning or worse, at most 20.
    pub kernel_lines: Vec<String>,
    /// Other processes that used most of the processors, busiest first, at most 5: those that lived at the
    /// second look.
    pub busiest: Vec<ProcessUse>,
    /// What this host does not tell and why, one phrase each.
    pub untold: Vec<String>,
}

/// A process of the host that does not belong to the trial, and what it used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ProcessUse {
    /// Its name, as the kernel has it.
    pub name: String,
    /// Its number.
    pub pid: u32,
    /// Processor time of all its threads, in the kernel's ticks of usually 10 ms.
    pub processor_time_ns: u64,
}
