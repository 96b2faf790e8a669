//! The arguments of one command, one after the other.

use std::ffi::OsString;
use std::fmt;
use std::str::FromStr;

use lexopt::{Arg, Error, Parser};

/// One argument.
#[derive(Debug)]
pub enum CommandWord {
    /// An option, as it is written: `--record`.
    Option(String),
    /// What is not an option, and not the value of one.
    Value(OsString),
}

/// Why arguments are not a command.
#[derive(Debug, PartialEq)]
pub enum Stop {
    /// They ask what the command does.
    Help,
    /// They cannot be used; one sentence without its full stop.
    Refused(String),
}

/// A command line that cannot be used.
#[derive(Debug, PartialEq)]
pub struct Misuse {
    /// Why; one sentence without its full stop.
    pub cause: String,
    /// The command that it was meant for, if that is known.
    pub command: Option<&'static str>,
}

impl fmt::Display for Misuse {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let command = self
            .command
            .map(|name| format!("{name} "))
            .unwrap_or_default();
        write!(
            out,
            "{}\nTry `datamill-worker {command}--help`.",
            self.cause
        )
    }
}

/// The arguments of a program or of one of its commands.
pub struct Words {
    parser: Parser,
    /// The option that was read last.
    option: String,
}

impl Words {
    /// Those behind the program's name.
    pub fn of(arguments: Vec<OsString>) -> Self {
        Self {
            parser: Parser::from_args(arguments),
            option: String::new(),
        }
    }

    /// The next one; `--help` stops.
    pub fn next(&mut self) -> Result<Option<CommandWord>, Stop> {
        let option = match self.parser.next().map_err(explain)? {
            None => return Ok(None),
            Some(Arg::Value(value)) => return Ok(Some(CommandWord::Value(value))),
            Some(Arg::Long("help") | Arg::Short('h')) => return Err(Stop::Help),
            Some(Arg::Long(name)) => format!("--{name}"),
            Some(Arg::Short(letter)) => format!("-{letter}"),
        };
        self.option.clone_from(&option);
        Ok(Some(CommandWord::Option(option)))
    }

    /// All that are left, as they are; `--help` stops.
    pub fn rest(&mut self) -> Result<Vec<OsString>, Stop> {
        let rest: Vec<OsString> = self.parser.raw_args().map_err(explain)?.collect();
        match rest.iter().any(|word| word == "--help" || word == "-h") {
            true => Err(Stop::Help),
            false => Ok(rest),
        }
    }

    /// The value of the option that was read last; `what` it is, for those who forgot it.
    pub fn value(&mut self, what: &str) -> Result<OsString, Stop> {
        match self.parser.value() {
            Ok(value) if !value.is_empty() => Ok(value),
            _ => Err(self.needs(what)),
        }
    }

    /// The same, as text.
    pub fn text(&mut self, what: &str) -> Result<String, Stop> {
        self.value(what)?
            .into_string()
            .map_err(|value| Stop::Refused(format!("`{}` is not UTF-8", value.display())))
    }

    /// The same, as what such a text means.
    pub fn parsed<T: FromStr>(&mut self, what: &str) -> Result<T, Stop> {
        let text = self.value(what)?.into_string().ok();
        text.and_then(|text| text.parse().ok())
            .ok_or_else(|| self.needs(what))
    }

    /// The option that was read last needs another value.
    pub fn needs(&self, what: &str) -> Stop {
        Stop::Refused(format!("{} needs {what}", self.option))
    }
}

impl CommandWord {
    /// The command does not know it.
    pub fn unknown(&self) -> Stop {
        Stop::Refused(match self {
            Self::Option(option) => format!("`{option}` is not understood here"),
            Self::Value(value) => format!("`{}` is not understood here", value.display()),
        })
    }
}

fn explain(error: Error) -> Stop {
    Stop::Refused(match error {
        Error::UnexpectedValue { option, value } => {
            format!(
                "{option} takes no value, and was given `{}`",
                value.display()
            )
        }
        other => other.to_string(),
    })
}
