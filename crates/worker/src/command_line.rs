//! The command line.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use datamill_fleet::{JoinRequest, RunOptions};

use crate::fleet::FleetOptions;
use crate::host::RestoreOptions;

/// What `--help` prints.
pub const HELP: &str = "\
datamill-worker runs trials, one at a time, and tells what it saw.

Usage:
  datamill-worker run-trial SPEC.json [--record FILE]
      Runs the trial that SPEC.json describes and writes its record to FILE,
      or to standard output.
  datamill-worker build-package SPEC.json
      Unpacks the trial's package and makes its shared build, unless both are
      there already, and prints what is known of the build.
  datamill-worker inventory [--fleet [--state DIR]]
      Prints what this machine is; --fleet adds what a fleet wants to know of it:
      clock, caches, distribution, compilers, counters, isolation and factors.
  datamill-worker noise [--seconds N]
      Measures for N seconds (10) how quiet this machine is, and prints what it saw.
  datamill-worker factors [--guest] [--user FOLDER]... [--ask NAME=LEVEL]...
      Prints what this machine has of each factor, and of the factor in each
      FOLDER (or .tar.gz); each level that is asked about and cannot be had is
      listed as missing, with the reason. --guest asks a guest on this machine.
  datamill-worker places PATH...
      Prints for each path whether it exists here, whether a trial sees it, and
      why it cannot be shown to a package that asks for it, if so.
  datamill-worker restore [--dry-run] [--forget] [--json]
      Undoes what a killed worker left of its changes to this machine, and tells
      it. --dry-run only tells; --forget gives up what cannot be undone; --json
      tells it as JSON.
  datamill-worker join URL [--token TOKEN] [--name NAME] [--state DIR]
      [--policy FILE] [--reboot-command COMMAND] [--once]
      Makes this machine a worker of the coordinator at URL, unless it is one
      already, and serves trials until it is told to end. TOKEN is what
      `datamill worker token` prints. FILE says what the owner of this machine
      allows; it is copied to DIR/fleet/policy.toml. COMMAND reboots the machine
      where an experiment wants that and the policy allows it.
  datamill-worker serve-trials [--state DIR] [--once]
      Serves trials as the worker that this machine has joined as: for systemd
      or init. --once leaves when one attempt has been reported.
  datamill-worker --version | --help

Options of run-trial and build-package:
  --parent PID
      Ends at once when process PID is not the one that started this one: it has
      ended meanwhile, and nobody waits for the record.

Exit status:
  0    the trial completed; the build is there; the machine is as it was before
  1    the trial did not complete, and its record says why; the build failed;
       the machine is not as it was before, or another worker is changing it
  2    the specification or the command line cannot be used; there is no record
  130  interrupted by Ctrl-C or SIGTERM; the record says so

SPEC.json follows protocol/trial-spec.schema.json, the record follows
protocol/trial-record.schema.json. As root, a trial sees the machine through an
overlay that is thrown away afterwards; without root it does so in a user
namespace where the kernel allows one, else it gets a private folder.

Changes to the machine are written to a journal before they are made. It is in
$DATAMILL_STATE_DIR, an absolute path; else in /var/lib/datamill for root, and
in $XDG_STATE_HOME/datamill or ~/.local/state/datamill for others.
";

/// What is to be done.
#[derive(Debug, PartialEq)]
pub enum Command {
    /// Run a trial.
    RunTrial {
        /// Its specification.
        spec: PathBuf,
        /// Where its record goes; absent means standard output.
        record: Option<PathBuf>,
        /// Process that must have started this one.
        parent: Option<u32>,
    },
    /// Make a shared build.
    BuildPackage {
        /// Specification of a trial that would use it.
        spec: PathBuf,
        /// Process that must have started this one.
        parent: Option<u32>,
    },
    /// Describe this machine.
    Inventory,
    /// Describe this machine as a fleet wants to know it.
    FleetInventory(FleetOptions),
    /// Become a worker of a fleet, and serve.
    Join {
        /// How to serve.
        options: FleetOptions,
        /// Whom, and how to be called.
        request: JoinRequest,
    },
    /// Serve the fleet that was joined before.
    ServeTrials(FleetOptions),
    /// Run the trial that the agent took; for the worker's own use.
    RunLeased {
        /// How to serve afterwards.
        options: FleetOptions,
        /// How it was started.
        run: RunOptions,
        /// Process that must have started this one.
        parent: Option<u32>,
    },
    /// Measure how quiet this machine is.
    Noise {
        /// For how long.
        seconds: f64,
    },
    /// Tell what this machine has of each factor.
    Factors {
        /// Levels that are asked about, by factor name.
        asked: Vec<(String, String)>,
        /// Folders or archives with factors of experiments.
        user: Vec<PathBuf>,
        /// Whether a guest is asked, instead of this machine.
        guest: bool,
    },
    /// Tell what a trial sees of places here.
    Places(Vec<PathBuf>),
    /// Undo what a killed worker left.
    Restore(RestoreOptions),
    /// Describe this process; for the worker's own use.
    Witness,
    /// Be the first process of a guest; for the worker's own use.
    BootGuest,
    /// Do the job of the guest that this process is in; for the worker's own use.
    RunGuestJob,
    /// Explain the command.
    Help,
    /// Tell the version.
    Version,
}

/// Verbs of a member of a fleet, and the one that they share with others.
const FLEET_VERBS: [&str; 4] = ["inventory", "join", "serve-trials", "run-leased"];

/// Understands the arguments behind the program's name.
pub fn parse_command_line(arguments: Vec<OsString>) -> Result<Command, String> {
    let mut arguments = arguments.into_iter();
    let verb = arguments.next().ok_or("say what to do")?;
    let mut spec = None;
    let mut record = None;
    let mut parent = None;
    let mut asked = Vec::new();
    let mut user = Vec::new();
    let mut guest = false;
    let mut places = Vec::new();
    let mut options = RestoreOptions::default();
    let mut seconds = 10.0;
    if FLEET_VERBS.iter().any(|fleet| verb == *fleet) {
        return parse_fleet_command(&verb, arguments.collect());
    }
    let takes_spec = verb == "run-trial" || verb == "build-package";
    while let Some(argument) = arguments.next() {
        if argument == "--help" || argument == "-h" {
            return Ok(Command::Help);
        } else if verb == "run-trial" && argument == "--record" {
            record = Some(PathBuf::from(
                arguments.next().ok_or("--record needs a file")?,
            ));
        } else if verb == "noise" && argument == "--seconds" {
            let given = arguments.next().unwrap_or_default();
            seconds = given
                .to_str()
                .and_then(|text| text.parse().ok())
                .filter(|seconds| (0.1..=3600.0).contains(seconds))
                .ok_or("--seconds needs a number from 0.1 to 3600")?;
        } else if verb == "factors" && argument == "--ask" {
            let given = arguments.next().unwrap_or_default();
            let (name, level) = given
                .to_str()
                .and_then(|text| text.split_once('='))
                .ok_or("--ask needs NAME=LEVEL")?;
            asked.push((name.to_owned(), level.to_owned()));
        } else if verb == "factors" && argument == "--guest" {
            guest = true;
        } else if verb == "factors" && argument == "--user" {
            user.push(PathBuf::from(
                arguments.next().ok_or("--user needs a folder")?,
            ));
        } else if verb == "restore" && argument == "--dry-run" {
            options.dry_run = true;
        } else if verb == "restore" && argument == "--forget" {
            options.forget = true;
        } else if verb == "restore" && argument == "--json" {
            options.json = true;
        } else if takes_spec && argument == "--parent" {
            let given = arguments.next().unwrap_or_default();
            parent = Some(
                given
                    .to_str()
                    .and_then(|text| text.parse().ok())
                    .ok_or("--parent needs the number of a process")?,
            );
        } else if verb == "places" {
            places.push(PathBuf::from(argument));
        } else if takes_spec && spec.is_none() && !argument.to_string_lossy().starts_with('-') {
            spec = Some(PathBuf::from(argument));
        } else {
            return Err(format!("`{}` is not understood here", argument.display()));
        }
    }
    let spec =
        || spec.ok_or_else(|| format!("{} needs a specification, a JSON file", verb.display()));
    match verb.to_str() {
        Some("run-trial") => Ok(Command::RunTrial {
            spec: spec()?,
            record,
            parent,
        }),
        Some("build-package") => Ok(Command::BuildPackage {
            spec: spec()?,
            parent,
        }),
        Some("noise") => Ok(Command::Noise { seconds }),
        Some("factors") => Ok(Command::Factors { asked, user, guest }),
        Some("places") => Ok(Command::Places(places)),
        Some("restore") => Ok(Command::Restore(options)),
        Some("witness") => Ok(Command::Witness),
        Some("boot-guest") => Ok(Command::BootGuest),
        Some("run-guest-job") => Ok(Command::RunGuestJob),
        Some("--help" | "-h" | "help") => Ok(Command::Help),
        Some("--version" | "-V") => Ok(Command::Version),
        _ => Err(format!("`{}` is not a command", verb.display())),
    }
}

fn parse_fleet_command(verb: &OsStr, given: Vec<OsString>) -> Result<Command, String> {
    let mut options = FleetOptions::default();
    let mut request = JoinRequest::default();
    let mut run = RunOptions::default();
    let (mut parent, mut is_fleet) = (None, false);
    let joins = verb == "join";
    let runs = verb == "run-leased";
    let mut given = given.into_iter();
    while let Some(argument) = given.next() {
        let mut value = |what: &str| {
            given
                .next()
                .filter(|value| !value.is_empty())
                .ok_or_else(|| format!("{} needs {what}", argument.display()))
        };
        match argument.to_str() {
            Some("--help" | "-h") => return Ok(Command::Help),
            Some("--fleet") if verb == "inventory" => is_fleet = true,
            Some("--state") => {
                let folder = PathBuf::from(value("a folder")?);
                let folder = std::path::absolute(&folder).map_err(|error| error.to_string())?;
                options.state = Some(folder);
            }
            Some("--once") if verb != "inventory" => options.once = true,
            Some("--has-run") if verb == "serve-trials" => options.has_run = true,
            Some("--token") if joins => request.token = Some(text(value("a token")?)?),
            Some("--name") if joins => request.name = Some(text(value("a name")?)?),
            Some("--policy") if joins => request.policy = Some(value("a file")?.into()),
            Some("--reboot-command") if joins => {
                request.reboot_command = Some(text(value("a command")?)?);
            }
            Some("--lock") if runs => run.lock = Some(number(value("a descriptor")?)?),
            Some("--child-of") if runs => {
                run.is_child = true;
                parent = Some(number(value("a process")?)?);
            }
            Some(url) if joins && request.url.is_empty() && !url.starts_with('-') => {
                request.url = url.to_owned();
            }
            _ => return Err(format!("`{}` is not understood here", argument.display())),
        }
    }
    match verb.to_str() {
        Some("inventory") if is_fleet => Ok(Command::FleetInventory(options)),
        Some("inventory") if options == FleetOptions::default() => Ok(Command::Inventory),
        Some("inventory") => Err("--state goes with --fleet here".to_owned()),
        Some("join") if request.url.is_empty() => {
            Err("join needs the address of a coordinator, such as https://HOST:PORT".to_owned())
        }
        Some("join") => Ok(Command::Join { options, request }),
        Some("run-leased") => Ok(Command::RunLeased {
            options,
            run,
            parent,
        }),
        _ => Ok(Command::ServeTrials(options)),
    }
}

fn text(value: OsString) -> Result<String, String> {
    value
        .into_string()
        .map_err(|value| format!("`{}` is not UTF-8", value.display()))
}

fn number<T: std::str::FromStr>(value: OsString) -> Result<T, String> {
    let text = text(value)?;
    text.parse()
        .map_err(|_| format!("`{text}` is not a number that is understood here"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str]) -> Result<Command, String> {
        parse_command_line(arguments.iter().map(OsString::from).collect())
    }

    #[test]
    fn a_trial_is_run_from_its_specification() {
        let expected = Command::RunTrial {
            spec: "s.json".into(),
            record: Some("r.json".into()),
            parent: Some(7),
        };
        assert_eq!(
            parse(&["run-trial", "s.json", "--record", "r.json", "--parent", "7"]),
            Ok(expected)
        );
    }

    #[test]
    fn factors_are_asked_about_by_folder_and_level() {
        let expected = Command::Factors {
            asked: vec![("swap".to_owned(), "off".to_owned())],
            user: vec!["f".into()],
            guest: true,
        };
        assert_eq!(
            parse(&["factors", "--guest", "--user", "f", "--ask", "swap=off"]),
            Ok(expected)
        );
    }

    #[test]
    fn a_restoration_can_be_tried_out() {
        let expected = RestoreOptions {
            dry_run: true,
            json: true,
            forget: false,
        };
        assert_eq!(
            parse(&["restore", "--dry-run", "--json"]),
            Ok(Command::Restore(expected))
        );
        assert!(parse(&["restore", "--all"]).is_err());
    }

    #[test]
    fn what_is_not_understood_is_quoted() {
        assert_eq!(parse(&["fly"]), Err("`fly` is not a command".to_owned()));
        assert_eq!(
            parse(&["inventory", "now"]),
            Err("`now` is not understood here".to_owned())
        );
        assert!(
            parse(&["run-trial"])
                .unwrap_err()
                .contains("needs a specification")
        );
        assert!(
            parse(&["run-trial", "s.json", "--record"])
                .unwrap_err()
                .contains("--record")
        );
        assert!(parse(&[]).is_err());
    }
}
