//! Reading the command line of a linker (GNU ld, gold, lld, mold).

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

use super::argument::{Argument, Role, classify_linker_input, is_linker_bracket};

/// A linker call, read.
#[derive(Debug)]
pub(crate) struct LinkerCall {
    pub arguments: Vec<Argument>,
    /// Whether it links, rather than answer a question.
    pub links: bool,
    /// The executable that it makes; absent when it makes something else.
    pub executable: Option<OsString>,
}

/// Options after which a link makes a shared library or an object instead of an executable.
const OTHER_PRODUCTS: [&str; 7] = [
    "shared",
    "Bshareable",
    "dylib",
    "r",
    "relocatable",
    "i",
    "Ur",
];

/// Whether an option of the linker makes it make something else than an executable.
pub(crate) fn makes_no_executable(option: &str) -> bool {
    long_name(option).is_some_and(|name| OTHER_PRODUCTS.contains(&name))
}

/// An option without its one or two dashes.
fn long_name(option: &str) -> Option<&str> {
    option
        .strip_prefix("--")
        .or_else(|| option.strip_prefix('-'))
}

/// Short options whose value is the next argument when nothing is joined to them.
const SHORT_VALUE_OPTIONS: &[&str] = &[
    "-a", "-A", "-c", "-e", "-f", "-F", "-G", "-h", "-I", "-L", "-m", "-o", "-O", "-P", "-R", "-T",
    "-u", "-y", "-Y", "-z",
];

/// Long options, without their dashes, whose value is the next argument when it is not joined by `=`.
const LONG_VALUE_OPTIONS: &[&str] = &[
    "Map",
    "Tbss",
    "Tdata",
    "Ttext",
    "Ttext-segment",
    "Trodata-segment",
    "Tldata-segment",
    "architecture",
    "assert",
    "audit",
    "auxiliary",
    "base-file",
    "build-id-link",
    "chroot",
    "def",
    "default-script",
    "defsym",
    "depaudit",
    "dependency-file",
    "dll-search-prefix",
    "dT",
    "dynamic-linker",
    "dynamic-list",
    "entry",
    "exclude-libs",
    "export-dynamic-symbol",
    "export-dynamic-symbol-list",
    "filter",
    "fini",
    "gpsize",
    "hash-size",
    "image-base",
    "init",
    "just-symbols",
    "library-path",
    "lto-O",
    "mri-script",
    "oformat",
    "orphan-handling",
    "out-implib",
    "output",
    "plugin",
    "plugin-opt",
    "retain-symbols-file",
    "rpath",
    "rpath-link",
    "script",
    "section-start",
    "soname",
    "sort-section",
    "symbol-ordering-file",
    "sysroot",
    "task-link",
    "thread-count",
    "threads",
    "trace-symbol",
    "undefined",
    "undefined-version",
    "version-exports-section",
    "version-script",
    "wrap",
    "ignore-unresolved-symbol",
    "require-defined",
    "section-ordering-file",
];

/// Reads the command line of a linker.
pub(crate) fn parse_linker_call(words: Vec<OsString>) -> LinkerCall {
    let mut pending: Option<Role> = None;
    let mut query = false;
    let mut executable = Some(OsString::from("a.out"));
    let mut output_follows = false;
    let mut arguments = Vec::with_capacity(words.len());
    for text in words {
        let bytes = text.as_bytes();
        let role = match pending.take() {
            Some(role) => {
                if std::mem::take(&mut output_follows) {
                    executable = executable.map(|_| text.clone());
                }
                role
            }
            None if !bytes.starts_with(b"-") || bytes == b"-" => classify_linker_input(&text),
            None => {
                let option = String::from_utf8_lossy(bytes);
                query |= matches!(&*option, "--version" | "-version" | "--help" | "-help");
                output_follows = matches!(&*option, "-o" | "--output" | "-output");
                if makes_no_executable(&option) {
                    executable = None;
                } else if let Some(output) = joined_output(&option) {
                    executable = executable.map(|_| output);
                }
                let (role, value) = read_option(&option);
                pending = value;
                role
            }
        };
        arguments.push(Argument { text, role });
    }
    let links = !query && arguments.iter().any(|a| a.role.is_input());
    LinkerCall {
        links,
        executable: executable.filter(|_| links),
        arguments,
    }
}

/// The value of `-oFILE` or `--output=FILE`; `-omagic` and `-oformat` are other options.
fn joined_output(option: &str) -> Option<OsString> {
    if let Some(output) = option.strip_prefix("--output=") {
        return Some(OsString::from(output));
    }
    let output = option.strip_prefix("-o")?;
    let is_other = output.is_empty() || output.starts_with("format") || output == "magic";
    (!is_other).then(|| OsString::from(output))
}

/// The role of an option, and that of the next argument if this is its value.
fn read_option(option: &str) -> (Role, Option<Role>) {
    if matches!(option, "-l" | "--library" | "-library") {
        return (Role::Plain, Some(Role::Library));
    }
    if matches!(option, "-b" | "--format" | "-format") {
        return (Role::Bracket, Some(Role::Bracket));
    }
    let long = long_name(option).unwrap_or(option);
    if SHORT_VALUE_OPTIONS.contains(&option) || LONG_VALUE_OPTIONS.contains(&long) {
        return (Role::Plain, Some(Role::Plain));
    }
    if is_linker_bracket(option.as_bytes()) {
        return (Role::Bracket, None);
    }
    if option.starts_with("-l") || option.starts_with("--library=") {
        return (Role::Library, None);
    }
    (Role::Plain, None)
}
