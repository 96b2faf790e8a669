//! Understanding a request, and opening what it names.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use datamill_probe::Output;
use datamill_protocol::{CommandOutput, CommandRequest, FailureKind, Phase, SCHEMA_VERSION};

use super::building::Building;
use super::program::find_program;
use crate::factors::{ProcessLevels, RunConditions, prepare_command};
use crate::process::set_variable;
use crate::trouble::{Step, failure, is_full};

/// A command that can be executed as far as is known before.
pub struct UnderstoodCommand {
    /// The program that was found.
    pub program: PathBuf,
    /// What it is called as, and its arguments.
    pub words: Vec<CString>,
    /// Its working folder.
    pub directory: PathBuf,
    /// Levels of its factors.
    pub levels: ProcessLevels,
    /// What it builds behind, if it builds.
    pub building: Option<Building>,
    /// What it is launched with.
    pub conditions: RunConditions,
    /// Time after which it is killed.
    pub timeout: Option<Duration>,
}

impl UnderstoodCommand {
    /// Understands a request.
    pub fn of(request: &CommandRequest) -> Step<Self> {
        let (words, levels, building) = check(request).map_err(|cause| {
            failure(
                Phase::Run,
                FailureKind::Internal,
                format!("The request cannot be used: {cause}."),
                "Send a request as protocol/commands/command-request.schema.json describes it.",
            )
        })?;
        let directory = PathBuf::from(&request.directory);
        if !directory.is_dir() {
            return Err(unusable(
                format!("The folder {} does not exist.", directory.display()),
                "Name a folder that exists.",
            ));
        }
        let names = request.variables.keys().map(String::as_str);
        let mut environment = environment_of(request);
        if let Some(building) = &building {
            building.install(&mut environment)?;
        }
        let conditions = prepare_command(&levels, environment, names)?;
        let name = &request.command[0];
        let found = find_program(name, &directory, &conditions.environment);
        let program = found.map_err(|cause| {
            unusable(
                format!("`{name}` cannot be executed: {cause}."),
                "Check the spelling, install the program, or name it by its path.",
            )
        })?;
        Ok(Self {
            program,
            words,
            directory,
            levels,
            building,
            conditions,
            timeout: match request.timeout_s {
                0.0 => None,
                seconds => Duration::try_from_secs_f64(seconds).ok(),
            },
        })
    }
}

/// The words of a command, the levels of its process, and what it builds behind.
type Checked = (Vec<CString>, ProcessLevels, Option<Building>);

/// Checks what a request says, and understands its levels; the error is a clause.
fn check(request: &CommandRequest) -> Result<Checked, String> {
    if request.schema != SCHEMA_VERSION {
        return Err(format!(
            "its version is {}, and this worker speaks {SCHEMA_VERSION}",
            request.schema
        ));
    }
    if request.command.first().is_none_or(String::is_empty) {
        return Err("command names no program".to_owned());
    }
    let words = request
        .command
        .iter()
        .map(|word| CString::new(word.as_str()));
    let words = words.collect::<Result<_, _>>();
    let words = words.map_err(|_| "command holds a NUL character".to_owned())?;
    for (name, value) in &request.variables {
        if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
            return Err(format!(
                "variables.{}: no such variable can exist",
                name.escape_debug()
            ));
        }
    }
    let paths = [
        ("directory", Some(&request.directory)),
        ("input", request.input.as_ref()),
        ("output_file", request.output_file.as_ref()),
    ];
    for (field, path) in paths {
        if path.is_some_and(|path| !Path::new(path).is_absolute() || path.contains('\0')) {
            return Err(format!("{field} is not an absolute path"));
        }
    }
    if (request.output == CommandOutput::File) != request.output_file.is_some() {
        return Err("output_file goes with output = \"file\", and only with it".to_owned());
    }
    if !(request.timeout_s.is_finite() && request.timeout_s >= 0.0) {
        return Err("timeout_s is not a time".to_owned());
    }
    let mut levels = ProcessLevels::default();
    let mut building = Building::of(request)?;
    for (name, level) in &request.levels {
        let of_build = building
            .as_mut()
            .and_then(|building| building.settings.parse_level(name, level));
        match of_build.or_else(|| levels.parse_level(name, level)) {
            Some(Ok(())) => {}
            Some(Err(choices)) => {
                return Err(format!(
                    "levels.{name}: `{level}` is not a level; it can be {choices}"
                ));
            }
            None => {
                return Err(format!(
                    "levels.{name}: no factor of a process, nor of a build where it is one, is called so"
                ));
            }
        }
    }
    Ok((words, levels, building))
}

/// The worker's own environment with the variables of a request.
fn environment_of(request: &CommandRequest) -> Vec<CString> {
    let own = std::env::vars_os().filter_map(|(mut name, value)| {
        name.push("=");
        name.push(value);
        CString::new(name.into_vec()).ok()
    });
    let mut environment: Vec<CString> = own.collect();
    for (name, value) in &request.variables {
        set_variable(&mut environment, name, value);
    }
    environment
}

/// What a command reads; absent is nothing.
pub fn open_input(request: &CommandRequest) -> Step<Option<File>> {
    let Some(path) = &request.input else {
        return Ok(None);
    };
    let opened = File::open(path).and_then(|file| match file.metadata()?.is_dir() {
        true => Err(io::Error::other("it is a folder")),
        false => Ok(file),
    });
    opened.map(Some).map_err(|error| {
        unusable(
            format!("The input {path} cannot be read: {error}."),
            "Name a file that exists and that you may read.",
        )
    })
}

/// Where the two output streams of a command go.
pub fn open_output(request: &CommandRequest) -> Step<(Output, Output)> {
    let opened = match (request.output, &request.output_file) {
        (CommandOutput::File, Some(path)) => File::create(path).map(to_file),
        (CommandOutput::Null, _) => File::options().write(true).open("/dev/null").map(to_file),
        (CommandOutput::Inherit, _) => own_stderr().and_then(|stdout| {
            let stderr = own_stderr()?;
            Ok((Output::Direct(stdout), Output::Direct(stderr)))
        }),
        (CommandOutput::Read, _) => Ok((Output::Read, Output::Read)),
        (CommandOutput::Capture | CommandOutput::File, _) => Ok((Output::Hashed, Output::Read)),
    };
    opened.map_err(|error| {
        let path = request.output_file.as_deref().unwrap_or("of the command");
        let kind = match is_full(&error) {
            true => FailureKind::DiskFull,
            false => FailureKind::BadPackage,
        };
        failure(
            Phase::Run,
            kind,
            format!("The output {path} cannot be written: {error}."),
            "Name a file in a folder that exists, that you may write to and that has space.",
        )
    })
}

fn to_file(stdout: File) -> (Output, Output) {
    (Output::Direct(stdout), Output::Read)
}

fn own_stderr() -> io::Result<File> {
    io::stderr().as_fd().try_clone_to_owned().map(File::from)
}

/// A command that cannot be executed as it is given.
pub fn unusable(message: String, remedy: &str) -> datamill_protocol::Failure {
    failure(Phase::Run, FailureKind::BadPackage, message, remedy)
}
