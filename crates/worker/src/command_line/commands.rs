//! The commands, each from its arguments.

use std::ffi::OsString;
use std::path::PathBuf;

use datamill_fleet::{JoinRequest, RunOptions};

use super::Command;
use super::help::find_command;
use super::words::{CommandWord, Misuse, Stop, Words};
use crate::fleet::FleetOptions;
use crate::host::RestoreOptions;

/// Understands the arguments behind the program's name.
pub fn parse_command_line(arguments: Vec<OsString>) -> Result<Command, Misuse> {
    let mut words = Words::of(arguments);
    let refuse = |cause: String| {
        Err(Misuse {
            cause,
            command: None,
        })
    };
    let name = match words.next() {
        Err(Stop::Help) => return Ok(Command::Help(None)),
        Err(Stop::Refused(cause)) => return refuse(cause),
        Ok(None) => return refuse("say what to do".to_owned()),
        Ok(Some(CommandWord::Option(option))) if option == "--version" || option == "-V" => {
            return Ok(Command::Version);
        }
        Ok(Some(CommandWord::Option(option))) => {
            return refuse(format!("`{option}` is not a command"));
        }
        Ok(Some(CommandWord::Value(name))) => name,
    };
    if name == "help" {
        return Ok(Command::Help(asked_command(&mut words)));
    }
    let Some(command) = name.to_str().and_then(find_command) else {
        return refuse(format!("`{}` is not a command", name.display()));
    };
    match parse_command(command, &mut words) {
        Ok(parsed) => Ok(parsed),
        Err(Stop::Help) => Ok(Command::Help(Some(command))),
        Err(Stop::Refused(cause)) => Err(Misuse {
            cause,
            command: Some(command),
        }),
    }
}

/// The command that is named behind `help`.
fn asked_command(words: &mut Words) -> Option<&'static str> {
    match words.next() {
        Ok(Some(CommandWord::Value(name))) => find_command(name.to_str()?),
        _ => None,
    }
}

fn parse_command(name: &str, words: &mut Words) -> Result<Command, Stop> {
    match name {
        "run-trial" => parse_run_trial(words),
        "build-package" => parse_build_package(words),
        "measure-commands" => parse_measure_commands(words),
        "inventory" => parse_inventory(words),
        "noise" => parse_noise(words),
        "factors" => parse_factors(words),
        "places" => parse_places(words),
        "restore" => parse_restore(words),
        "join" => parse_join(words),
        "serve-trials" => parse_serve_trials(words),
        "run-pending" => parse_run_pending(words),
        "run-leased" => parse_run_leased(words),
        "witness" => alone(words, Command::Witness),
        "boot-guest" => alone(words, Command::BootGuest),
        _ => alone(words, Command::RunGuestJob),
    }
}

/// A command without arguments.
fn alone(words: &mut Words, command: Command) -> Result<Command, Stop> {
    match words.next()? {
        None => Ok(command),
        Some(word) => Err(word.unknown()),
    }
}

fn parse_run_trial(words: &mut Words) -> Result<Command, Stop> {
    let (mut spec, mut record, mut parent) = (None, None, None);
    while let Some(word) = words.next()? {
        match word {
            CommandWord::Option(option) if option == "--record" => {
                record = Some(words.value("a file")?.into());
            }
            CommandWord::Option(option) if option == "--parent" => {
                parent = Some(words.parsed("the number of a process")?);
            }
            CommandWord::Value(path) if spec.is_none() => spec = Some(path),
            other => return Err(other.unknown()),
        }
    }
    Ok(Command::RunTrial {
        spec: needed_spec("run-trial", spec)?,
        record,
        parent,
    })
}

fn parse_build_package(words: &mut Words) -> Result<Command, Stop> {
    let (mut spec, mut parent) = (None, None);
    while let Some(word) = words.next()? {
        match word {
            CommandWord::Option(option) if option == "--parent" => {
                parent = Some(words.parsed("the number of a process")?);
            }
            CommandWord::Value(path) if spec.is_none() => spec = Some(path),
            other => return Err(other.unknown()),
        }
    }
    Ok(Command::BuildPackage {
        spec: needed_spec("build-package", spec)?,
        parent,
    })
}

fn parse_measure_commands(words: &mut Words) -> Result<Command, Stop> {
    let mut parent = None;
    while let Some(word) = words.next()? {
        match word {
            CommandWord::Option(option) if option == "--parent" => {
                parent = Some(words.parsed("the number of a process")?);
            }
            other => return Err(other.unknown()),
        }
    }
    Ok(Command::MeasureCommands { parent })
}

fn needed_spec(command: &str, spec: Option<OsString>) -> Result<PathBuf, Stop> {
    let missing = || Stop::Refused(format!("{command} needs a specification, a JSON file"));
    spec.map(PathBuf::from).ok_or_else(missing)
}

fn parse_inventory(words: &mut Words) -> Result<Command, Stop> {
    let mut options = FleetOptions::default();
    let mut is_fleet = false;
    while let Some(word) = words.next()? {
        match word {
            CommandWord::Option(option) if option == "--fleet" => is_fleet = true,
            CommandWord::Option(option) if option == "--state" => {
                options.state = Some(folder(words)?)
            }
            other => return Err(other.unknown()),
        }
    }
    match (is_fleet, &options.state) {
        (true, _) => Ok(Command::FleetInventory(options)),
        (false, None) => Ok(Command::Inventory),
        (false, Some(_)) => Err(Stop::Refused("--state goes with --fleet here".to_owned())),
    }
}

fn parse_noise(words: &mut Words) -> Result<Command, Stop> {
    let mut seconds = 10.0;
    while let Some(word) = words.next()? {
        match word {
            CommandWord::Option(option) if option == "--seconds" => {
                let what = "a number from 0.1 to 3600";
                seconds = words.parsed(what)?;
                if !(0.1..=3600.0).contains(&seconds) {
                    return Err(words.needs(what));
                }
            }
            other => return Err(other.unknown()),
        }
    }
    Ok(Command::Noise { seconds })
}

fn parse_factors(words: &mut Words) -> Result<Command, Stop> {
    let (mut asked, mut user, mut guest) = (Vec::new(), Vec::new(), false);
    while let Some(word) = words.next()? {
        match word {
            CommandWord::Option(option) if option == "--guest" => guest = true,
            CommandWord::Option(option) if option == "--user" => {
                user.push(words.value("a folder")?.into());
            }
            CommandWord::Option(option) if option == "--ask" => {
                let what = "NAME=LEVEL";
                let given = words.text(what)?;
                let (name, level) = given.split_once('=').ok_or_else(|| words.needs(what))?;
                asked.push((name.to_owned(), level.to_owned()));
            }
            other => return Err(other.unknown()),
        }
    }
    Ok(Command::Factors { asked, user, guest })
}

/// Whatever a package asks for is a path, also what looks like an option.
fn parse_places(words: &mut Words) -> Result<Command, Stop> {
    let places = words.rest()?.into_iter().map(PathBuf::from);
    Ok(Command::Places(places.collect()))
}

fn parse_restore(words: &mut Words) -> Result<Command, Stop> {
    let mut options = RestoreOptions::default();
    while let Some(word) = words.next()? {
        match word {
            CommandWord::Option(option) if option == "--dry-run" => options.dry_run = true,
            CommandWord::Option(option) if option == "--forget" => options.forget = true,
            CommandWord::Option(option) if option == "--json" => options.json = true,
            other => return Err(other.unknown()),
        }
    }
    Ok(Command::Restore(options))
}

fn parse_join(words: &mut Words) -> Result<Command, Stop> {
    let mut options = FleetOptions::default();
    let mut request = JoinRequest::default();
    while let Some(word) = words.next()? {
        match word {
            CommandWord::Option(option) if option == "--state" => {
                options.state = Some(folder(words)?)
            }
            CommandWord::Option(option) if option == "--once" => options.once = true,
            CommandWord::Option(option) if option == "--token" => {
                request.token = Some(words.text("a token")?);
            }
            CommandWord::Option(option) if option == "--name" => {
                request.name = Some(words.text("a name")?);
            }
            CommandWord::Option(option) if option == "--policy" => {
                request.policy = Some(words.value("a file")?.into());
            }
            CommandWord::Option(option) if option == "--reboot-command" => {
                request.reboot_command = Some(words.text("a command")?);
            }
            CommandWord::Value(url) if request.url.is_empty() && url.to_str().is_some() => {
                request.url = url.to_string_lossy().into_owned();
            }
            other => return Err(other.unknown()),
        }
    }
    if request.url.is_empty() {
        let cause = "join needs the address of a coordinator, such as https://HOST:PORT";
        return Err(Stop::Refused(cause.to_owned()));
    }
    Ok(Command::Join { options, request })
}

fn parse_serve_trials(words: &mut Words) -> Result<Command, Stop> {
    let mut options = FleetOptions::default();
    while let Some(word) = words.next()? {
        match word {
            CommandWord::Option(option) if option == "--state" => {
                options.state = Some(folder(words)?)
            }
            CommandWord::Option(option) if option == "--once" => options.once = true,
            CommandWord::Option(option) if option == "--has-run" => options.has_run = true,
            other => return Err(other.unknown()),
        }
    }
    Ok(Command::ServeTrials(options))
}

fn parse_run_pending(words: &mut Words) -> Result<Command, Stop> {
    let mut options = FleetOptions::default();
    while let Some(word) = words.next()? {
        match word {
            CommandWord::Option(option) if option == "--state" => {
                options.state = Some(folder(words)?)
            }
            other => return Err(other.unknown()),
        }
    }
    let run = RunOptions {
        is_for_boot: true,
        ..RunOptions::default()
    };
    Ok(Command::RunLeased {
        options,
        run,
        parent: None,
    })
}

fn parse_run_leased(words: &mut Words) -> Result<Command, Stop> {
    let mut options = FleetOptions::default();
    let mut run = RunOptions::default();
    let mut parent = None;
    while let Some(word) = words.next()? {
        match word {
            CommandWord::Option(option) if option == "--state" => {
                options.state = Some(folder(words)?)
            }
            CommandWord::Option(option) if option == "--once" => options.once = true,
            CommandWord::Option(option) if option == "--lock" => {
                run.lock = Some(words.parsed("a descriptor")?);
            }
            CommandWord::Option(option) if option == "--child-of" => {
                run.is_child = true;
                parent = Some(words.parsed("a process")?);
            }
            other => return Err(other.unknown()),
        }
    }
    Ok(Command::RunLeased {
        options,
        run,
        parent,
    })
}

/// A folder as an absolute path: what this program becomes may have another working directory.
fn folder(words: &mut Words) -> Result<PathBuf, Stop> {
    let given = PathBuf::from(words.value("a folder")?);
    std::path::absolute(&given).map_err(|error| Stop::Refused(error.to_string()))
}
