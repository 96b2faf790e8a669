//! The command line: what is to be done, and what `--help` says of it.

mod commands;
mod help;
mod words;

use std::path::PathBuf;

use datamill_fleet::{JoinRequest, RunOptions};

pub use commands::parse_command_line;
pub use help::help_text;

use crate::fleet::FleetOptions;
use crate::host::RestoreOptions;

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
    /// Measure commands as they are asked for.
    MeasureCommands {
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
    /// Explain the program, or one of its commands.
    Help(Option<&'static str>),
    /// Tell the version.
    Version,
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;

    fn parse(arguments: &[&str]) -> Result<Command, String> {
        parse_command_line(arguments.iter().map(OsString::from).collect())
            .map_err(|misuse| misuse.to_string())
    }

    /// Why a command line cannot be used; advice follows it.
    fn refusal(arguments: &[&str]) -> String {
        let told = parse(arguments).unwrap_err();
        told.split_once('\n').unwrap().0.to_owned()
    }

    #[test]
    fn a_trial_is_run_from_its_specification() {
        let expected = Command::RunTrial {
            spec: "s.json".into(),
            record: Some("r.json".into()),
            parent: Some(7),
        };
        for arguments in [
            vec!["run-trial", "s.json", "--record", "r.json", "--parent", "7"],
            vec!["run-trial", "--record=r.json", "--parent=7", "--", "s.json"],
        ] {
            assert_eq!(parse(&arguments).as_ref(), Ok(&expected));
        }
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
    fn a_place_may_look_like_an_option() {
        let expected = Command::Places(vec!["/a".into(), "--b".into(), "-c=d".into()]);
        assert_eq!(parse(&["places", "/a", "--b", "-c=d"]), Ok(expected));
        assert_eq!(
            parse(&["places", "/a", "--help"]),
            Ok(Command::Help(Some("places")))
        );
    }

    #[test]
    fn the_agent_starts_the_runner_and_the_runner_the_agent() {
        let options = FleetOptions {
            state: Some("/s".into()),
            once: true,
            has_run: false,
        };
        let run = RunOptions {
            lock: Some(5),
            is_child: true,
            is_for_boot: false,
        };
        assert_eq!(
            parse(&[
                "run-leased",
                "--state",
                "/s",
                "--once",
                "--lock",
                "5",
                "--child-of",
                "9"
            ]),
            Ok(Command::RunLeased {
                options: options.clone(),
                run,
                parent: Some(9),
            })
        );
        let served = FleetOptions {
            has_run: true,
            ..options
        };
        assert_eq!(
            parse(&["serve-trials", "--state", "/s", "--once", "--has-run"]),
            Ok(Command::ServeTrials(served))
        );
    }

    #[test]
    fn what_is_not_understood_is_quoted() {
        for (arguments, told) in [
            (&["fly"][..], "`fly` is not a command"),
            (&["inventory", "now"], "`now` is not understood here"),
            (&["noise", "--fast"], "`--fast` is not understood here"),
            (
                &["run-trial"],
                "run-trial needs a specification, a JSON file",
            ),
            (
                &["run-trial", "s.json", "--record"],
                "--record needs a file",
            ),
            (
                &["noise", "--seconds", "0"],
                "--seconds needs a number from 0.1 to 3600",
            ),
            (&["factors", "--ask", "swap"], "--ask needs NAME=LEVEL"),
            (
                &["restore", "--json=1"],
                "--json takes no value, and was given `1`",
            ),
            (&["join", "--token", ""], "--token needs a token"),
            (
                &["inventory", "--state", "/s"],
                "--state goes with --fleet here",
            ),
            (&[], "say what to do"),
        ] {
            assert_eq!(refusal(arguments), told);
        }
    }

    #[test]
    fn each_command_explains_itself_and_misuse_names_the_explanation() {
        assert_eq!(parse(&["--help"]), Ok(Command::Help(None)));
        assert_eq!(parse(&["help", "join"]), Ok(Command::Help(Some("join"))));
        assert_eq!(
            parse(&["join", "--once", "-h"]),
            Ok(Command::Help(Some("join")))
        );
        let told = parse(&["noise", "--fast"]).unwrap_err();
        assert!(
            told.ends_with("Try `datamill-worker noise --help`."),
            "{told}"
        );
        let told = parse(&["fly"]).unwrap_err();
        assert!(told.ends_with("Try `datamill-worker --help`."), "{told}");
    }
}
