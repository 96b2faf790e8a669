//! Running the executables of a factor that an experiment brings along.

use std::ffi::CString;
use std::fs::{self, File};
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use datamill_host::UserVerbs;
use datamill_probe::{
    Bounds, Confinement, Launch, Measured, Output, ProcessSettings, USUAL_UMASK, launch,
};
use datamill_protocol::{IsolationKind, Needs};
use rustix::fs::{CWD, MemfdFlags, memfd_create};
use rustix::mount::{MoveMountFlags, OpenTreeFlags, UnmountFlags, move_mount, open_tree, unmount};

use crate::interrupt::Interrupt;
use crate::process::phase_environment;
use crate::resources::{Members, Resources};
use crate::world::{
    Changes, EncloseError, Keeping, World, WorldError, WorldRequest, WorldSettings, enclose,
    enter_world, own_binary,
};

/// Most bytes that an executable may print.
const MOST_OUTPUT_BYTES: u64 = 64 * 1024;

/// Most memory that the files of an executable may take.
const MOST_FILE_BYTES: u64 = 256 << 20;

/// Longest level.
const LONGEST_LEVEL: usize = 256;

/// One call of an executable.
pub struct VerbCall<'a> {
    /// Folder that it is in, which becomes its working folder.
    pub folder: &'a Path,
    /// Its name.
    pub verb: &'a str,
    /// What it is given.
    pub argument: Option<&'a str>,
    /// Its environment.
    pub environment: &'a [CString],
    /// Time after which it is killed.
    pub timeout_s: u64,
    /// World that this process is in, and whose processes it is among.
    pub world: &'a World,
    /// What it is confined to.
    pub confinement: Option<&'a Confinement>,
    /// Tells when it is to be given up.
    pub interrupt: &'a Interrupt,
}

/// Runs an executable in the world that this process is in, and returns what it printed; the error is
/// a sentence without a full stop.
pub fn run_verb(call: &VerbCall<'_>) -> Result<String, String> {
    let verb = call.verb;
    let trouble = |error: io::Error| format!("its `{verb}` could not be run: {error}");
    let mut stdout = memory_file().map_err(trouble)?;
    let argument = call.argument.map(CString::new).transpose();
    let argument = argument.map_err(|_| format!("its `{verb}` was given a NUL byte"))?;
    let bounds = call.world.script_bounds(Members::Measured, 0);
    let measured = launch(Launch {
        program: &call.folder.join(verb),
        name: None,
        arguments: argument.as_slice(),
        environment: call.environment,
        directory: call.folder,
        settings: &ProcessSettings::RANDOMIZED,
        confinement: call.confinement,
        own_session: true,
        with_counters: false,
        timeout: Some(Duration::from_secs(call.timeout_s)),
        output_bytes: MOST_OUTPUT_BYTES,
        stdin: None,
        stdout: Output::Kept(stdout.try_clone().map_err(trouble)?),
        stderr: Output::Kept(memory_file().map_err(trouble)?),
        umask: USUAL_UMASK,
        family: call.world.family,
        bounds: bounds.as_ref().map(|bounds| bounds as &dyn Bounds),
        interrupt: Some(call.interrupt),
    })
    .map_err(|error| match error.execute_error() {
        Some(cause) => format!("its `{verb}` cannot be executed: {cause}; look at its `#!` line"),
        None => format!("its `{verb}` could not be started: {error}"),
    })?;
    judge(call, &measured)?;
    let mut bytes = Vec::new();
    stdout
        .rewind()
        .and_then(|()| stdout.read_to_end(&mut bytes))
        .map_err(trouble)?;
    if measured.facts.stdout_bytes > MOST_OUTPUT_BYTES {
        return Err(format!(
            "its `{verb}` printed more than {MOST_OUTPUT_BYTES} bytes"
        ));
    }
    String::from_utf8(bytes).map_err(|_| format!("its `{verb}` printed bytes that are not text"))
}

fn judge(call: &VerbCall<'_>, measured: &Measured) -> Result<(), String> {
    let (verb, facts) = (call.verb, &measured.facts);
    let how = if measured.interrupted {
        "was interrupted".to_owned()
    } else if facts.timed_out {
        format!(
            "took longer than its {} s and was killed with everything it had started",
            call.timeout_s
        )
    } else if let Some(signal) = facts.signal {
        format!("was killed by signal {signal}")
    } else if facts.exit_code != Some(0) {
        format!("exited with status {}", facts.exit_code.unwrap_or(-1))
    } else {
        return Ok(());
    };
    let said = String::from_utf8_lossy(&measured.stderr_tail);
    let lines: Vec<&str> = said
        .lines()
        .map(str::trim)
        .filter(|l| !l.is_empty())
        .collect();
    let last = lines[lines.len().saturating_sub(3)..].join(" / ");
    let said = if last.is_empty() {
        String::new()
    } else {
        format!("; it said: {}", last.trim_end_matches('.').escape_debug())
    };
    Err(format!("its `{verb}` {how}{said}"))
}

fn memory_file() -> io::Result<File> {
    Ok(memfd_create("verb", MemfdFlags::CLOEXEC)?.into())
}

/// The level in what `verify` printed: its only line.
pub fn parse_level_line(verb: &str, printed: &str) -> Result<String, String> {
    match parse_levels(verb, printed)?.as_slice() {
        [only] => Ok(only.clone()),
        several => Err(format!(
            "its `{verb}` printed {} lines, not one with a level",
            several.len()
        )),
    }
}

/// The levels in what `levels` printed, one a line.
pub fn parse_levels(verb: &str, printed: &str) -> Result<Vec<String>, String> {
    let mut levels: Vec<String> = Vec::new();
    for line in printed.lines().map(str::trim).filter(|l| !l.is_empty()) {
        if line.chars().any(char::is_control) || line.chars().count() > LONGEST_LEVEL {
            let start: String = line.chars().take(40).collect();
            return Err(format!(
                "its `{verb}` printed a line that is not a level: `{}`",
                start.escape_debug()
            ));
        }
        if !levels.iter().any(|known| known == line) {
            levels.push(line.to_owned());
        }
    }
    if levels.is_empty() {
        return Err(format!("its `{verb}` printed no level"));
    }
    Ok(levels)
}

/// Runs executables in a world of their own, which is thrown away after each call.
pub struct EnclosedVerbs {
    /// Kind of the world: an overlay, in which `/proc/sys` and `/sys` are the host's and can be
    /// written; or a weaker one, in which they cannot.
    pub kind: IsolationKind,
    /// Folder to make the worlds on; made when needed.
    pub scratch: PathBuf,
}

impl EnclosedVerbs {
    /// Runs an executable and returns what it printed.
    pub fn run(
        &self,
        folder: &Path,
        verb: &str,
        argument: Option<&str>,
        timeout_s: u64,
    ) -> Result<String, String> {
        let trouble = |error: io::Error| format!("its `{verb}` could not be run: {error}");
        fs::create_dir_all(&self.scratch).map_err(trouble)?;
        let worker = own_binary().map_err(trouble)?;
        // What is begun here is not given up half-way: its time is bounded.
        let deaf = Interrupt::deaf().map_err(trouble)?;
        let keeping = Keeping::usual(self.kind)
            .map_err(|cause| format!("its `{verb}` cannot be run in its own world: {cause}"))?;
        // Settings of the network are those of the host's, for a factor of the host.
        let needs = Needs {
            network: self.kind == IsolationKind::Overlay,
            ..Needs::default()
        };
        let request = WorldRequest {
            package: folder,
            build: None,
            changes: Changes::Memory(MOST_FILE_BYTES),
            scratch: &self.scratch,
            worker: &worker,
            settings: WorldSettings::default(),
            confines: keeping.confines(&needs),
        };
        let resources = Rc::new(Resources::prepare_usual());
        let shared = &resources;
        let told = enclose(
            self.kind,
            needs.network,
            &deaf,
            || -> Result<String, String> {
                shared.bound_namespaces(self.kind);
                let no_world =
                    |cause: String| format!("its `{verb}` cannot be run in its own world: {cause}");
                // What is read-only on the host stays so, and nothing else.
                let kernel = KernelFolders::keep(self.kind)
                    .map_err(|error| no_world(format!("keeping /sys: {error}")))?;
                let mut world = enter_world(self.kind, &request).map_err(|error| {
                    no_world(match error {
                        WorldError::Impossible(cause) | WorldError::NoDiskLayer(cause) => cause,
                        WorldError::Failed(failure) => failure.message,
                    })
                })?;
                kernel
                    .show()
                    .map_err(|error| no_world(format!("showing /proc/sys and /sys: {error}")))?;
                world.resources = Some(Rc::clone(shared));
                run_verb(&VerbCall {
                    folder: &world.root,
                    verb,
                    argument,
                    environment: &phase_environment(&world, &[], false),
                    timeout_s,
                    confinement: world
                        .confinement()
                        .map_err(|error| no_world(error.to_string()))?,
                    world: &world,
                    interrupt: &deaf,
                })
            },
        );
        // What cannot be removed now is found by the next trial.
        Rc::into_inner(resources).map(Resources::release);
        told.unwrap_or_else(|error| match error {
            EncloseError::Impossible(cause) | EncloseError::Died(cause) => Err(format!(
                "its `{verb}` cannot be run in its own world: {cause}"
            )),
        })
    }

    /// Runs `levels`.
    pub fn levels(&self, folder: &Path, timeout_s: u64) -> Result<Vec<String>, String> {
        parse_levels("levels", &self.run(folder, "levels", None, timeout_s)?)
    }
}

impl UserVerbs for EnclosedVerbs {
    fn set(&self, folder: &Path, level: &str, timeout_s: u64) -> Result<(), String> {
        self.run(folder, "set", Some(level), timeout_s).map(drop)
    }

    fn verify(&self, folder: &Path, timeout_s: u64) -> Result<String, String> {
        parse_level_line("verify", &self.run(folder, "verify", None, timeout_s)?)
    }

    fn restore(&self, folder: &Path, before: &str, timeout_s: u64) -> Result<(), String> {
        self.run(folder, "restore", Some(before), timeout_s)
            .map(drop)
    }
}

/// The host's `/sys`, kept from before a world is entered that shows it read-only.
struct KernelFolders {
    sys: Option<rustix::fd::OwnedFd>,
}

impl KernelFolders {
    fn keep(kind: IsolationKind) -> io::Result<Self> {
        let sys = match kind {
            IsolationKind::Overlay => {
                let flags = OpenTreeFlags::OPEN_TREE_CLONE
                    | OpenTreeFlags::OPEN_TREE_CLOEXEC
                    | OpenTreeFlags::AT_RECURSIVE;
                Some(open_tree(CWD, "/sys", flags)?)
            }
            IsolationKind::Confined
            | IsolationKind::UserNamespace
            | IsolationKind::Plain
            | IsolationKind::Guest => None,
        };
        Ok(Self { sys })
    }

    fn show(self) -> io::Result<()> {
        let Some(sys) = self.sys else {
            return Ok(());
        };
        // A read-only view lies over each of these; below it is the kernel's own.
        for covered in ["/proc/sys", "/proc/irq"] {
            if Path::new(covered).exists() {
                unmount(covered, UnmountFlags::DETACH)?;
            }
        }
        let empty_path = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
        Ok(move_mount(sys, "", CWD, "/sys", empty_path)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_lines() {
        assert_eq!(
            parse_levels("levels", "on\n\n off \non\n"),
            Ok(vec!["on".to_owned(), "off".to_owned()])
        );
    }

    #[test]
    fn garbage_is_no_level() {
        for (printed, named) in [
            ("", "no level"),
            ("a\nb\n", "2 lines"),
            ("\u{1b}[0m", "not a level: "),
        ] {
            let refused = parse_level_line("verify", printed).unwrap_err();
            assert!(refused.contains(named), "{refused}");
        }
        let long = "x".repeat(LONGEST_LEVEL + 1);
        assert!(parse_level_line("verify", &long).is_err());
    }
}
