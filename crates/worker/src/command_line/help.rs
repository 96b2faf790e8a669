//! What `--help` prints: of the program, and of each command.

/// What one command is, for those who ask.
struct Entry {
    name: &'static str,
    /// Its arguments, behind its name.
    arguments: &'static [&'static str],
    /// What it does, in lines of at most 72 characters; none for what only the worker itself uses.
    does: &'static [&'static str],
    /// Its options, each with what it means.
    options: &'static [(&'static str, &'static [&'static str])],
}

const PARENT: (&str, &[&str]) = (
    "--parent PID",
    &[
        "ends at once when process PID is not the one that started this one:",
        "it has ended meanwhile, and nobody waits for what it would tell",
    ],
);

const STATE: (&str, &[&str]) = (
    "--state DIR",
    &["the folder of the worker's state, instead of this host's"],
);

const ENTRIES: [Entry; 15] = [
    Entry {
        name: "run-trial",
        arguments: &["SPEC.json [--record FILE] [--parent PID]"],
        does: &[
            "Runs the trial that SPEC.json describes and writes its record to FILE,",
            "or to standard output.",
        ],
        options: &[
            (
                "--record FILE",
                &["where the record goes; its folder must exist"],
            ),
            PARENT,
        ],
    },
    Entry {
        name: "build-package",
        arguments: &["SPEC.json [--parent PID]"],
        does: &[
            "Unpacks the trial's package and makes its shared build, unless both are",
            "there already, and prints what is known of the build.",
        ],
        options: &[PARENT],
    },
    Entry {
        name: "measure-commands",
        arguments: &["[--parent PID]"],
        does: &[
            "Executes and measures commands as their user would, one at a time, until",
            "standard input ends: a request on each line of it, an answer on each line",
            "of standard output, as protocol/commands/*.schema.json describe them.",
        ],
        options: &[PARENT],
    },
    Entry {
        name: "inventory",
        arguments: &["[--fleet [--state DIR]]"],
        does: &[
            "Prints what this machine is; --fleet adds what a fleet wants to know of it:",
            "clock, caches, distribution, compilers, counters, isolation and factors.",
        ],
        options: &[("--fleet", &["adds what a fleet wants to know"]), STATE],
    },
    Entry {
        name: "noise",
        arguments: &["[--seconds N]"],
        does: &["Measures for N seconds (10) how quiet this machine is, and prints what it saw."],
        options: &[("--seconds N", &["for how long: 0.1 to 3600 seconds"])],
    },
    Entry {
        name: "factors",
        arguments: &["[--guest] [--user FOLDER]... [--ask NAME=LEVEL]..."],
        does: &[
            "Prints what this machine has of each factor, and of the factor in each",
            "FOLDER (or .tar.gz). A level that is asked for and that this machine lacks is",
            "listed as missing, with the reason. --guest asks a guest on this machine.",
        ],
        options: &[
            ("--guest", &["asks a guest on this machine"]),
            (
                "--user FOLDER",
                &["a factor of an experiment, as a folder or .tar.gz; may be repeated"],
            ),
            (
                "--ask NAME=LEVEL",
                &["whether this machine has a level of a factor; may be repeated"],
            ),
        ],
    },
    Entry {
        name: "places",
        arguments: &["PATH..."],
        does: &[
            "Prints for each path whether it exists here, whether a trial sees it, and",
            "why it cannot be shown to a package that asks for it, if so.",
        ],
        options: &[],
    },
    Entry {
        name: "restore",
        arguments: &["[--dry-run] [--forget] [--json]"],
        does: &[
            "Undoes what a killed worker left of its changes to this machine, and tells",
            "it. --dry-run only tells; --forget gives up what cannot be undone; --json",
            "tells it as JSON.",
        ],
        options: &[
            ("--dry-run", &["only tells what would be undone"]),
            ("--forget", &["gives up what cannot be undone"]),
            ("--json", &["tells it as JSON"]),
        ],
    },
    Entry {
        name: "join",
        arguments: &[
            "URL [--token TOKEN] [--name NAME] [--state DIR]",
            "[--policy FILE] [--reboot-command COMMAND] [--once]",
        ],
        does: &[
            "Makes this machine a worker of the coordinator at URL, unless it is one",
            "already, and serves trials until it is told to end. TOKEN is what",
            "`datamill worker token` prints. FILE says what the owner of this machine",
            "allows; it is copied to DIR/fleet/policy.toml. COMMAND reboots the machine",
            "where an experiment wants that and the policy allows it.",
        ],
        options: &[
            ("--token TOKEN", &["what `datamill worker token` prints"]),
            (
                "--name NAME",
                &["what the fleet calls this machine, instead of its hostname"],
            ),
            STATE,
            (
                "--policy FILE",
                &["what the owner of this machine allows; copied to DIR/fleet/policy.toml"],
            ),
            ("--reboot-command COMMAND", &["reboots this machine"]),
            ("--once", &["leaves when one attempt has been reported"]),
        ],
    },
    Entry {
        name: "serve-trials",
        arguments: &["[--state DIR] [--once]"],
        does: &[
            "Serves trials as the worker that this machine has joined as: for systemd",
            "or init. --once leaves when one attempt has been reported.",
        ],
        options: &[
            STATE,
            ("--once", &["leaves when one attempt has been reported"]),
        ],
    },
    Entry {
        name: "run-pending",
        arguments: &["[--state DIR]"],
        does: &[
            "Runs the trial for which this machine was rebooted, if there is one and",
            "nothing of it has run, keeps its report for serve-trials, and ends: for",
            "the boot, before anything else is started.",
        ],
        options: &[STATE],
    },
    Entry::own("run-leased"),
    Entry::own("witness"),
    Entry::own("boot-guest"),
    Entry::own("run-guest-job"),
];

const END: &str = "\
  datamill-worker --version | --help
  datamill-worker COMMAND --help

Options of run-trial, build-package and measure-commands:
  --parent PID
      Ends at once when process PID is not the one that started this one: it has
      ended meanwhile, and nobody waits for what it would tell.

Exit status:
  0    the trial completed; the build is there; the machine is as it was before
  1    the trial did not complete, and its record says why; the build failed;
       the machine is not as it was before, or another worker is changing it
  2    the specification or the command line cannot be used; there is no record
  130  interrupted by Ctrl-C or SIGTERM; the record says so

SPEC.json follows protocol/trials/trial-spec.schema.json, the record follows
protocol/trials/trial-record.schema.json. As root, a trial sees the machine
through an overlay that is thrown away afterwards; without root it does so in
a user namespace where the kernel allows one, else it gets a private folder.

Changes to the machine are written to a journal before they are made. It is in
$DATAMILL_STATE_DIR, an absolute path; else in /var/lib/datamill for root, and
in $XDG_STATE_HOME/datamill or ~/.local/state/datamill for others.
";

impl Entry {
    /// A command that only the worker itself uses.
    const fn own(name: &'static str) -> Self {
        Self {
            name,
            arguments: &[],
            does: &[],
            options: &[],
        }
    }

    fn usage(&self) -> String {
        let arguments = self.arguments.join("\n      ");
        format!("datamill-worker {} {arguments}", self.name)
            .trim_end()
            .to_owned()
    }

    fn help(&self) -> String {
        if self.does.is_empty() {
            return format!("{} is for the worker's own use.\n", self.name);
        }
        let mut text = format!("Usage: {}\n\n{}\n", self.usage(), self.does.join("\n"));
        if !self.options.is_empty() {
            text.push_str("\nOptions:\n");
        }
        for (option, means) in self.options {
            text.push_str(&format!("  {option}\n      {}\n", means.join("\n      ")));
        }
        text
    }
}

/// What `--help` prints behind a command, or alone.
pub fn help_text(command: Option<&str>) -> String {
    if let Some(entry) = ENTRIES.iter().find(|entry| Some(entry.name) == command) {
        return entry.help();
    }
    let mut text =
        "datamill-worker runs trials, one at a time, and tells what it saw.\n\nUsage:\n".to_owned();
    for entry in ENTRIES.iter().filter(|entry| !entry.does.is_empty()) {
        let does = entry.does.join("\n      ");
        text.push_str(&format!("  {}\n      {does}\n", entry.usage()));
    }
    text + END
}

/// The command of this name.
pub fn find_command(name: &str) -> Option<&'static str> {
    let found = ENTRIES.iter().find(|entry| entry.name == name);
    found.map(|entry| entry.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_explains_itself_in_lines_that_a_terminal_shows_whole() {
        let texts = ENTRIES.iter().map(|entry| help_text(Some(entry.name)));
        for text in texts.chain([help_text(None)]) {
            assert!(
                text.lines().all(|line| line.chars().count() <= 84),
                "{text}"
            );
            assert!(
                text.contains("datamill-worker") || text.contains("own use"),
                "{text}"
            );
        }
    }

    #[test]
    fn every_option_of_a_usage_line_is_explained() {
        for entry in &ENTRIES {
            for word in entry
                .arguments
                .iter()
                .flat_map(|line| line.split(['[', ']', ' ']))
            {
                let is_explained = || {
                    entry
                        .options
                        .iter()
                        .any(|(option, _)| option.starts_with(word))
                };
                assert!(
                    !word.starts_with("--") || is_explained(),
                    "{word} of {}",
                    entry.name
                );
            }
        }
    }
}
