//! Reading the command line of a compiler driver (gcc and clang families).

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use super::argument::{Argument, Role, classify_linker_input, extension, is_linker_bracket};
use super::driver_options::{
    ASSEMBLY_SUFFIXES, COMPILE_OPTIONS, PREPROCESS_OPTIONS, QUERY_OPTIONS, QUERY_PREFIXES,
    SOURCE_SUFFIXES, VALUE_OPTIONS, is_level,
};

/// How far a driver call goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Asks about the compiler, has no input, or cannot be understood: passes unchanged.
    Query,
    /// Stops before code is generated.
    Preprocess,
    /// Stops before linking.
    Compile,
    /// Links.
    Link,
}

/// A driver call, read.
#[derive(Debug)]
pub(crate) struct DriverCall {
    pub arguments: Vec<Argument>,
    pub stage: Stage,
    /// The file that it writes, when the call names one.
    pub output: Option<OsString>,
}

impl DriverCall {
    /// Whether an argument plays this part.
    pub(crate) fn has(&self, role: Role) -> bool {
        self.arguments.iter().any(|argument| argument.role == role)
    }

    /// The options, without their values, in their order.
    pub(crate) fn options(&self) -> impl DoubleEndedIterator<Item = &OsStr> {
        let options = self.arguments.iter().filter(|a| a.role == Role::Option);
        options.map(|argument| argument.text.as_os_str())
    }

    /// Whether one of these options is given.
    pub(crate) fn has_option(&self, options: &[&str]) -> bool {
        self.options()
            .any(|option| options.iter().any(|known| option == *known))
    }

    /// Removes these options.
    pub(crate) fn remove_options(&mut self, is_removed: impl Fn(&OsStr) -> bool) {
        self.arguments
            .retain(|argument| argument.role != Role::Option || !is_removed(&argument.text));
    }

    /// Puts an argument last, but before `--`, after which all are files.
    pub(crate) fn append(&mut self, text: impl Into<OsString>, role: Role) {
        let text = text.into();
        self.arguments
            .insert(self.end_of_options(), Argument { text, role });
    }

    /// Where `--` stands, or the end.
    pub(crate) fn end_of_options(&self) -> usize {
        let terminator = self
            .arguments
            .iter()
            .position(|a| a.role == Role::Terminator);
        terminator.unwrap_or(self.arguments.len())
    }
}

/// What `-x` says about the files that follow it.
#[derive(Clone, Copy)]
enum Language {
    BySuffix,
    Compiled,
    Assembled,
}

/// Reads the command line of a driver; `preprocesses` when it is `cpp`, which does nothing else.
pub(crate) fn parse_driver_call(words: Vec<OsString>, preprocesses: bool) -> DriverCall {
    let mut reader = Reader {
        stage: if preprocesses {
            Stage::Preprocess
        } else {
            Stage::Link
        },
        language: Language::BySuffix,
        pending: None,
        terminated: false,
        output: None,
    };
    let mut arguments = Vec::with_capacity(words.len() + 4);
    for text in words {
        let role = reader.read(&text);
        arguments.push(Argument { text, role });
    }
    // An option without its value would swallow whatever is appended.
    if reader.pending.is_some() || !arguments.iter().any(|argument| argument.role.is_input()) {
        reader.stage = Stage::Query;
    }
    DriverCall {
        arguments,
        stage: reader.stage,
        output: reader.output,
    }
}

/// What the next argument is the value of.
#[derive(Clone, Copy)]
enum Pending {
    Plain,
    Language,
    Library,
    Linker,
    Output,
}

struct Reader {
    stage: Stage,
    language: Language,
    pending: Option<Pending>,
    terminated: bool,
    output: Option<OsString>,
}

impl Reader {
    fn read(&mut self, text: &OsStr) -> Role {
        let bytes = text.as_bytes();
        if let Some(pending) = self.pending.take() {
            return self.read_value(pending, bytes);
        }
        if self.terminated || !bytes.starts_with(b"-") || bytes == b"-" {
            return self.read_input(text);
        }
        if bytes == b"--" {
            self.terminated = true;
            return Role::Terminator;
        }
        self.read_option(&String::from_utf8_lossy(bytes))
    }

    fn read_option(&mut self, option: &str) -> Role {
        if is_level(option) {
            return Role::Level;
        }
        if matches!(option, "-o" | "--output") {
            self.pending = Some(Pending::Output);
            return Role::Plain;
        }
        if VALUE_OPTIONS.contains(&option) || option.starts_with("-Xarch_") {
            self.pending = Some(Pending::Plain);
            return Role::Plain;
        }
        if QUERY_OPTIONS.contains(&option) || QUERY_PREFIXES.iter().any(|p| option.starts_with(p)) {
            self.stage = Stage::Query;
        } else if PREPROCESS_OPTIONS.contains(&option) && self.stage != Stage::Query {
            self.stage = Stage::Preprocess;
        } else if COMPILE_OPTIONS.contains(&option) && self.stage == Stage::Link {
            self.stage = Stage::Compile;
        }
        match option {
            "-x" | "--language" => {
                self.pending = Some(Pending::Language);
                Role::Bracket
            }
            "-l" | "--library" => {
                self.pending = Some(Pending::Library);
                Role::Plain
            }
            "-Xlinker" | "--for-linker" => {
                self.pending = Some(Pending::Linker);
                Role::Plain
            }
            _ => self.read_joined_option(option),
        }
    }

    fn read_joined_option(&mut self, option: &str) -> Role {
        if let Some(language) = option
            .strip_prefix("--language=")
            .or_else(|| option.strip_prefix("-x"))
        {
            return self.read_value(Pending::Language, language.as_bytes());
        }
        if option.starts_with("-l") || option.starts_with("--library=") {
            return Role::Library;
        }
        if let Some(output) = option
            .strip_prefix("--output=")
            .or_else(|| option.strip_prefix("-o"))
        {
            self.output = Some(OsString::from(output));
            return Role::Plain;
        }
        let linker_options = option
            .strip_prefix("-Wl,")
            .or_else(|| option.strip_prefix("--for-linker="));
        match linker_options {
            Some(options) if options.split(',').any(|o| is_linker_bracket(o.as_bytes())) => {
                Role::Bracket
            }
            _ => Role::Option,
        }
    }

    fn read_value(&mut self, pending: Pending, value: &[u8]) -> Role {
        match pending {
            Pending::Plain => Role::Plain,
            Pending::Output => {
                self.output = Some(OsStr::from_bytes(value).to_owned());
                Role::Plain
            }
            Pending::Library => Role::Library,
            Pending::Linker if is_linker_bracket(value) => Role::Bracket,
            Pending::Linker => Role::Plain,
            Pending::Language => {
                self.language = match value {
                    b"none" => Language::BySuffix,
                    b"assembler" | b"assembler-with-cpp" => Language::Assembled,
                    _ => Language::Compiled,
                };
                Role::Bracket
            }
        }
    }

    fn read_input(&self, file: &OsStr) -> Role {
        let fixed = file.as_bytes().starts_with(b"-");
        match self.language {
            Language::Compiled if fixed => Role::FixedSource,
            _ if fixed => Role::OtherInput,
            Language::Compiled => Role::Source,
            Language::Assembled => Role::Assembly,
            Language::BySuffix => match extension(file) {
                Some(suffix) if SOURCE_SUFFIXES.contains(&suffix) => Role::Source,
                Some(suffix) if ASSEMBLY_SUFFIXES.contains(&suffix) => Role::Assembly,
                _ => classify_linker_input(file),
            },
        }
    }
}
