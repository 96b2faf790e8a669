//! Position-independent executables: what is compiled for them and linked as such.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use crate::arguments::{Argument, DriverCall, Role, Stage, makes_no_executable};

/// What is wanted of the executables of a build.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WantedPie {
    /// Whether they are to be position-independent.
    pub on: bool,
    /// Whether a static one can be.
    pub static_pie: bool,
    /// Whether options are added behind these that make all executables static.
    pub forced_static: bool,
}

/// Options that choose for what kind of file code is generated; the last one counts.
const EXECUTABLE_CODE: [&str; 6] = [
    "-fPIE", "-fpie", "-fno-PIE", "-fno-pie", "-fno-PIC", "-fno-pic",
];
const LIBRARY_CODE: [&str; 2] = ["-fPIC", "-fpic"];

/// Code of kernels and boot loaders, whose place their own linker scripts decide.
const FREESTANDING_CODE: [&str; 2] = ["-ffreestanding", "-mcmodel=kernel"];

/// Options that choose the type of an executable.
const EXECUTABLE_TYPES: [&str; 7] = [
    "-pie",
    "--pie",
    "-no-pie",
    "--no-pie",
    "-nopie",
    "-static-pie",
    "--static-pie",
];
const STATIC: [&str; 2] = ["-static", "--static"];
const STATIC_PIE: [&str; 2] = ["-static-pie", "--static-pie"];

/// The linker's own names for them.
const LINKER_TYPES: [&[u8]; 6] = [
    b"-pie",
    b"--pie",
    b"-pic-executable",
    b"--pic-executable",
    b"-no-pie",
    b"--no-pie",
];

/// Options of a link that makes no executable.
const OTHER_PRODUCTS: [&str; 6] = [
    "-shared",
    "--shared",
    "-r",
    "-dynamiclib",
    "-bundle",
    "-qmkshrobj",
];

/// Options of a link that brings its own start-up code, which decides where it can be loaded.
const OWN_STARTUP: [&str; 2] = ["-nostdlib", "-nostartfiles"];

/// Whether the option decides, alone or with others, whether executables are position-independent.
pub(crate) fn is_pie_option(option: &OsStr) -> bool {
    is_one_of(option, &EXECUTABLE_CODE) || is_one_of(option, &EXECUTABLE_TYPES)
}

/// Whether the driver call links an executable.
pub(crate) fn makes_executable(call: &DriverCall) -> bool {
    call.stage == Stage::Link
        && !call.has_option(&OTHER_PRODUCTS)
        && !call.options().any(|option| {
            let option = option.to_string_lossy();
            let items = option.strip_prefix("-Wl,");
            items.is_some_and(|items| items.split(',').any(makes_no_executable))
        })
}

/// Whether the option makes a link static.
pub(crate) fn is_static(option: &OsStr) -> bool {
    is_one_of(option, &STATIC)
}

/// Compiles for, and links, an executable of the wanted type.
///
/// Code for shared libraries (`-fPIC`) stays: it can be linked into either type. Returns whether the
/// type of an executable was left as the build system has it: when it is static and cannot be
/// position-independent, or brings its own start-up code.
pub(crate) fn set_pie(call: &mut DriverCall, wanted: WantedPie) -> bool {
    if generates_executable_code(call) {
        call.remove_options(|option| {
            is_one_of(option, &EXECUTABLE_CODE) || is_one_of(option, &LIBRARY_CODE)
        });
        call.append(if wanted.on { "-fPIE" } else { "-fno-pie" }, Role::Option);
    }
    if !makes_executable(call) {
        return false;
    }
    let is_static = wanted.forced_static || call.has_option(&STATIC);
    let can_be_static_pie = wanted.static_pie && !wanted.forced_static;
    if call.has_option(&OWN_STARTUP) || (wanted.on && is_static && !can_be_static_pie) {
        return true;
    }
    let is_static = is_static || call.has_option(&STATIC_PIE);
    if !wanted.on {
        for argument in &mut call.arguments {
            if argument.role == Role::Option && is_one_of(&argument.text, &STATIC_PIE) {
                argument.text = "-static".into();
            }
        }
    }
    call.remove_options(|option| {
        is_one_of(option, &EXECUTABLE_TYPES) || (wanted.on && is_one_of(option, &STATIC))
    });
    remove_linker_types(&mut call.arguments);
    let executable_type = match (wanted.on, is_static) {
        (false, false) => "-no-pie",
        // Has a fixed address without more, and clang warns of more.
        (false, true) => return false,
        (true, false) => "-pie",
        (true, true) => "-static-pie",
    };
    call.append(executable_type, Role::Option);
    false
}

/// Whether the call generates code that only executables can have; assembly that is preprocessed
/// asks for the type as well.
fn generates_executable_code(call: &DriverCall) -> bool {
    let generates = [Role::Source, Role::FixedSource, Role::Assembly]
        .iter()
        .any(|role| call.has(*role));
    let chosen = call
        .options()
        .rfind(|option| is_one_of(option, &EXECUTABLE_CODE) || is_one_of(option, &LIBRARY_CODE));
    let for_library = chosen.is_some_and(|option| is_one_of(option, &LIBRARY_CODE))
        || call.has_option(&["-shared", "--shared"]);
    generates && !for_library && !call.has_option(&FREESTANDING_CODE)
}

/// Takes the type out of `-Wl,…`, as the driver chooses start-up files that go with its own option.
fn remove_linker_types(arguments: &mut Vec<Argument>) {
    arguments.retain_mut(|argument| {
        if !matches!(argument.role, Role::Option | Role::Bracket) {
            return true;
        }
        let Some(items) = argument.text.as_bytes().strip_prefix(b"-Wl,") else {
            return true;
        };
        let all: Vec<&[u8]> = items.split(|byte| *byte == b',').collect();
        let kept: Vec<&[u8]> = all
            .iter()
            .copied()
            .filter(|item| !LINKER_TYPES.contains(item))
            .collect();
        if kept.len() < all.len() {
            let left = !kept.is_empty();
            let text = [b"-Wl,", &kept.join(&b',')[..]].concat();
            argument.text = OsString::from_vec(text);
            return left;
        }
        true
    });
}

fn is_one_of(option: &OsStr, known: &[&str]) -> bool {
    known.iter().any(|known| option == *known)
}
