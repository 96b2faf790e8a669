//! The log of calls: one JSON line each, appended by parallel wrappers.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use datamill_protocol::CompilerFacts;
use datamill_protocol::digest::hash_file;
use serde::{Deserialize, Serialize};

use super::digest::digest_all;
use super::executable::{ExecutableType, read_architecture, read_executable_type};
use crate::compilers::{Toolchain, read_marks};

/// File within the wrapper's folder that receives one line for each call.
pub(crate) const LOG_FILE: &str = "compiler.log";

/// What one call did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CallFacts {
    /// Real path of the real program.
    pub program: String,
    /// The optimisation level that reaches the compiler, when the call compiles a source file.
    pub level: Option<String>,
    /// Whether the wrapper changed that level.
    pub level_changed: bool,
    /// Whether a compilation has the wanted seed for symbols.
    pub seeded: bool,
    /// Whether a compilation ends with the wanted options.
    pub flagged: bool,
    /// The compiler that a compilation is made with, as its level or else its file is named, where
    /// one was asked for.
    #[serde(default)]
    pub compiler: Option<String>,
    /// Whether a compilation was told to leave no mark of its compiler.
    #[serde(default)]
    pub unmarked: bool,
    /// The link or archive that the call makes, if any.
    pub link: Option<LinkFacts>,
    /// Absolute path of the executable that the call links, if any.
    pub executable: Option<String>,
    /// Whether the type of that executable was asked for and left all the same.
    pub type_left: bool,
    /// Whether it is a call of the assembler by a compilation that no wrapper saw.
    pub escaped: bool,
}

/// What one link or archive did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LinkFacts {
    /// Whether at least two of its objects can change places.
    pub orderable: bool,
    /// Whether the wrapper changed their order.
    pub reordered: bool,
    /// Whether they are passed on in the wanted order.
    pub in_order: bool,
}

/// Appends one line in one write, so that the lines of parallel builds never mix.
pub(crate) fn append_call(dir: &Path, call: &CallFacts) -> io::Result<()> {
    let path = dir.join(LOG_FILE);
    let explain = |e: io::Error| io::Error::new(e.kind(), format!("{}: {e}", path.display()));
    let mut line = serde_json::to_vec(call)?;
    line.push(b'\n');
    let mut file = OpenOptions::new()
        .append(true)
        .open(&path)
        .map_err(explain)?;
    let written = file.write(&line).map_err(explain)?;
    if written < line.len() {
        return Err(explain(io::Error::other("the disk is full")));
    }
    Ok(())
}

/// What a build did, and what came of it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BuildLook {
    /// Sums over the log.
    pub facts: CompilerFacts,
    /// SHA-256 over the content of the executables that were linked and are still there, wherever they
    /// are; absent when there is none.
    pub executables_sha256: Option<String>,
    /// The same executables with the architecture that each is for.
    pub architectures: BTreeMap<String, String>,
}

/// Sums up the log of the wrappers in `dir`.
///
/// A call that a wrapped program made itself (the linker under a compiler driver) counts as an
/// invocation and nothing else. Executables are read where their links put them, so call this where
/// and as soon as the build has ended. Fails when the log is missing, or with `InvalidData` naming the
/// line when one cannot be understood.
pub fn read_compiler_log(dir: &Path) -> io::Result<BuildLook> {
    let path = dir.join(LOG_FILE);
    let text = fs::read(&path)
        .map_err(|e| io::Error::new(e.kind(), format!("{}: {e}", path.display())))?;
    let mut facts = CompilerFacts::default();
    let toolchain = Toolchain::read_from(dir)?;
    if let Some(toolchain) = &toolchain {
        facts.startup_marks = toolchain.startup_marks.iter().cloned().collect();
    }
    let mut executables = BTreeSet::new();
    for (index, line) in text.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let call: CallFacts = serde_json::from_slice(line).map_err(|e| {
            let place = format!("{}, line {}", path.display(), index + 1);
            io::Error::new(io::ErrorKind::InvalidData, format!("{place}: {e}"))
        })?;
        executables.extend(call.executable.clone());
        count_call(&mut facts, call);
    }
    let mut digests = Vec::new();
    let mut architectures = BTreeMap::new();
    for executable in executables {
        let executable = Path::new(&executable);
        let kind = read_executable_type(executable);
        if let Some(toolchain) = &toolchain {
            let marks = kind
                .and_then(|_| read_marks(executable))
                .unwrap_or_default();
            facts.marked_executables += u64::from(!marks.is_empty());
            for mark in marks.difference(&toolchain.startup_marks) {
                *facts.marks.entry(mark.clone()).or_default() += 1;
            }
        }
        if let Some(arch) = read_architecture(executable) {
            architectures.insert(executable.display().to_string(), arch.to_owned());
        }
        if kind.is_some() {
            let explain =
                |e: io::Error| io::Error::new(e.kind(), format!("{}: {e}", executable.display()));
            digests.push(hash_file(executable).map_err(explain)?.1);
        }
        let count = match kind {
            Some(ExecutableType::PositionIndependent) => &mut facts.pie_executables,
            Some(ExecutableType::Fixed) => &mut facts.fixed_executables,
            None => &mut facts.unread_executables,
        };
        *count += 1;
    }
    Ok(BuildLook {
        facts,
        executables_sha256: digest_all(digests),
        architectures,
    })
}

fn count_call(facts: &mut CompilerFacts, call: CallFacts) {
    if call.escaped {
        facts.escaped += 1;
        return;
    }
    facts.invocations += 1;
    *facts.programs.entry(call.program).or_default() += 1;
    if let Some(level) = call.level {
        facts.compiles += 1;
        *facts.optimization_passed.entry(level).or_default() += 1;
        facts.optimization_changed += u64::from(call.level_changed);
        facts.seeded_compiles += u64::from(call.seeded);
        facts.flagged_compiles += u64::from(call.flagged);
        facts.unmarked_compiles += u64::from(call.unmarked);
        if let Some(compiler) = call.compiler {
            *facts.compilers.entry(compiler).or_default() += 1;
        }
    }
    facts.executables_left += u64::from(call.type_left);
    if let Some(link) = call.link {
        facts.links += 1;
        facts.orderable_links += u64::from(link.orderable);
        facts.links_reordered += u64::from(link.reordered);
        facts.links_in_order += u64::from(link.orderable && link.in_order);
    }
}
