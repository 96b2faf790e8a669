//! The build that a trial measured, and what the compiler wrapper saw of it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::PhaseFacts;
use crate::spec::BuildPolicy;

/// The build that a trial measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct BuildFacts {
    /// Identity of the build; trials with the same identity measured the same binaries.
    pub id: String,
    /// Whether the build could be shared.
    pub policy: BuildPolicy,
    /// Whether this trial reused a build made earlier.
    pub reused: bool,
    /// `setup.sh`; absent when the package has none.
    pub setup: Option<PhaseFacts>,
    /// What the compiler wrapper saw and changed.
    pub compiler: CompilerFacts,
    /// SHA-256 over the content of the executables that the build linked, in lower-case hexadecimal: equal
    /// for builds that chance made no different. Absent when the wrapper saw none that was still there.
    #[serde(default)]
    pub executables_sha256: Option<String>,
}

/// What the compiler wrapper saw and changed during a build.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CompilerFacts {
    /// Calls of any wrapped program but the assembler.
    pub invocations: u64,
    /// Calls that compiled at least one source file.
    pub compiles: u64,
    /// Compilations for each optimisation level that reached the real compiler.
    pub optimization_passed: BTreeMap<String, u64>,
    /// Compilations whose optimisation level was changed by the wrapper.
    pub optimization_changed: u64,
    /// Calls that linked or archived.
    pub links: u64,
    /// Links and archives with at least two objects, whose order therefore matters.
    pub orderable_links: u64,
    /// Orderable links whose object order was changed by the wrapper.
    pub links_reordered: u64,
    /// Orderable links whose objects reached the linker in the wanted order.
    pub links_in_order: u64,
    /// Real programs that ran, by name, with their number of calls.
    pub programs: BTreeMap<String, u64>,
    /// Compilations that did not pass through the wrapper, seen by the assembler that they called.
    pub escaped: u64,
    /// Compilations that have the wanted seed for symbols.
    #[serde(default)]
    pub seeded_compiles: u64,
    /// Compilations whose options end with the wanted ones.
    #[serde(default)]
    pub flagged_compiles: u64,
    /// Executables, read where they were linked, that are position-independent.
    #[serde(default)]
    pub pie_executables: u64,
    /// Executables, read where they were linked, that have a fixed address.
    #[serde(default)]
    pub fixed_executables: u64,
    /// Executables that were gone, moved or unreadable when the build had ended.
    #[serde(default)]
    pub unread_executables: u64,
    /// Compilations by the compiler that made them, as levels of `compiler_version` are named; this and
    /// the four below are empty unless that factor was asked for.
    #[serde(default)]
    pub compilers: BTreeMap<String, u64>,
    /// Executables, read where they were linked, with a mark of any compiler in their section `.comment`.
    #[serde(default)]
    pub marked_executables: u64,
    /// Executables by the compilers whose marks they have, but for those of start-up files.
    #[serde(default)]
    pub marks: BTreeMap<String, u64>,
    /// Compilers whose marks are in start-up files, and so in all that is linked with them.
    #[serde(default)]
    pub startup_marks: Vec<String>,
    /// Compilations that were told to leave no mark.
    #[serde(default)]
    pub unmarked_compiles: u64,
    /// Links of an executable whose type was asked for and left as the build system has it.
    #[serde(default)]
    pub executables_left: u64,
}
