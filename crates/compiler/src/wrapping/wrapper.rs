//! Standing in for one call of a wrapped program.

use std::convert::Infallible;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{self, Path};
use std::process::{self, Command};

use super::chain::{CHAIN_VARIABLE, Chain};
use super::escape::is_called_by_compiler;
use crate::arguments::{expand_response_files, names_response_file, write_response_file};
use crate::build_log::{CallFacts, append_call};
use crate::compilers::{Driver, Toolchain};
use crate::program::{FileIdentity, ProgramKind, find_real_program, identify_program};
use crate::rewriting::{CallWishes, Wanted, WantedPie, is_static, rewrite_call};
use crate::settings::WrapperSettings;

/// An archive that has a member is longer than this.
const EMPTY_ARCHIVE_BYTES: u64 = 8;

/// Longer command lines than this are passed on in a response file.
const LONG_COMMAND_LINE_BYTES: usize = 100 * 1024;

/// Rewrites this call's arguments, logs it and becomes the real program of the name it has.
///
/// Prints one line and ends with status 1 when that is impossible: a build must not go on with
/// another level than the one asked for.
pub fn run_wrapper() -> ! {
    let Err(message) = become_real_program();
    eprintln!("datamill: {message}");
    process::exit(1);
}

fn become_real_program() -> Result<Infallible, String> {
    let mut words = env::args_os();
    let argv0 = words.next().unwrap_or_default();
    let original: Vec<OsString> = words.collect();
    let name = Path::new(&argv0)
        .file_name()
        .unwrap_or(&argv0)
        .to_os_string();
    let kind = identify_program(name.as_bytes())
        .ok_or_else(|| format!("{} is not a wrapped program", argv0.display()))?;

    let own_path = env::current_exe().map_err(|e| format!("cannot find my own folder: {e}"))?;
    let own = fs::metadata(&own_path).map_err(|e| format!("{}: {e}", own_path.display()))?;
    let dir = own_path.parent().unwrap_or(Path::new("/"));
    let chain = Chain::from_environment();
    let mut passed = chain.passed_programs(&name);
    passed.push(FileIdentity::of(&own));
    let own_driver = || {
        find_real_program(&name, env::var_os("PATH"), &passed)
            .ok_or_else(|| format!("no real {} on PATH behind the wrapper", name.display()))
    };
    if kind == ProgramKind::Assembler {
        return pass_on(&own_driver()?, original, &chain, dir);
    }

    let settings = WrapperSettings::read_from(dir).map_err(|e| e.to_string())?;
    let wishes = settings.wishes();
    let chosen = choose_driver(&wishes, kind, &name, dir)?;
    let is_chosen = chosen != Driver::Own;
    let (real, standard) = match chosen {
        Driver::Replaced(real, standard) => (real, standard),
        Driver::Own => (own_driver()?, Vec::new()),
    };
    let original = [standard, original].concat();
    let resolved = resolved_name(&real);
    let expanded = expand_response_files(original.clone()).map_err(|e| e.to_string())?;
    let wanted = Wanted {
        optimization: wishes.optimization.as_deref(),
        link_order: wishes.link_order,
        pie: wishes.pie.map(|on| WantedPie {
            on,
            static_pie: on && makes_static_pie(&real, &name, &chain, &expanded),
            forced_static: wishes.flags.iter().any(|flag| is_static(flag)),
        }),
        symbol_seed: wishes.symbol_seed.filter(|_| has_symbol_seed(&resolved)),
        flags: &wishes.flags,
        nested: !chain.is_empty(),
    };
    let mut rewritten = rewrite_call(kind, expanded.clone(), wanted);
    // Members join an archive behind those that it has.
    if let (Some(link), Some(archive)) = (&mut rewritten.facts.link, &rewritten.archive) {
        link.in_order &= !fs::metadata(archive).is_ok_and(|m| m.len() > EMPTY_ARCHIVE_BYTES);
    }
    if let Some(compiler) = wishes.compiler
        && rewritten.facts.level.is_some()
    {
        rewritten.facts.compiler = Some(match is_chosen {
            true => compiler,
            false => file_name(&resolved),
        });
    }
    rewritten.facts.program = resolved;
    rewritten.facts.executable = rewritten.executable.as_deref().map(absolute_name);
    append_call(dir, &rewritten.facts).map_err(|e| e.to_string())?;

    let arguments = if rewritten.arguments == expanded {
        original
    } else {
        shorten(rewritten.arguments, names_response_file(&original))?
    };
    let mut command = Command::new(&real);
    command.args(arguments);
    if kind != ProgramKind::Linker {
        command.env(CHAIN_VARIABLE, chain.extended(&name, &real));
    }
    Err(format!("{}: {}", real.display(), command.exec()))
}

/// The program that stands in for a compiler driver, where a compiler was asked for.
fn choose_driver(
    wishes: &CallWishes,
    kind: ProgramKind,
    name: &OsStr,
    dir: &Path,
) -> Result<Driver, String> {
    let compiles = matches!(kind, ProgramKind::Driver | ProgramKind::Preprocessor);
    if wishes.compiler.is_none() || !compiles {
        return Ok(Driver::Own);
    }
    let toolchain = Toolchain::read_from(dir).map_err(|e| e.to_string())?;
    toolchain.map_or(Ok(Driver::Own), |toolchain| {
        toolchain.choose(&name.to_string_lossy())
    })
}

fn file_name(program: &str) -> String {
    let name = Path::new(program).file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// Becomes the assembler, and logs its call if a compilation made it that no wrapper saw.
fn pass_on(
    real: &Path,
    arguments: Vec<OsString>,
    chain: &Chain,
    dir: &Path,
) -> Result<Infallible, String> {
    if !chain.has_driver() && is_called_by_compiler() {
        let call = CallFacts {
            program: resolved_name(real),
            escaped: true,
            ..CallFacts::default()
        };
        append_call(dir, &call).map_err(|e| e.to_string())?;
    }
    let error = Command::new(real).args(arguments).exec();
    Err(format!("{}: {error}", real.display()))
}

/// Whether the driver can make the static executable that a call asks for position-independent: the
/// C library has a start-up file for those.
fn makes_static_pie(real: &Path, name: &OsStr, chain: &Chain, words: &[OsString]) -> bool {
    if !words.iter().any(|word| is_static(word)) {
        return false;
    }
    let machine = words.iter().filter(|word| {
        let word = word.as_bytes();
        let prefixes: [&[u8]; 5] = [b"-m32", b"-m64", b"-mx32", b"--target=", b"--sysroot="];
        prefixes.iter().any(|prefix| word.starts_with(prefix))
    });
    let answer = Command::new(real)
        .args(machine)
        .arg("-print-file-name=rcrt1.o")
        .env(CHAIN_VARIABLE, chain.extended(name, real))
        .output();
    // A file that there is not is answered by its bare name.
    answer.is_ok_and(|answer| answer.stdout.starts_with(b"/"))
}

/// Clang takes the option for a seed and does nothing with it.
fn has_symbol_seed(resolved: &str) -> bool {
    !file_name(resolved).contains("clang")
}

fn absolute_name(file: &OsStr) -> String {
    let path = path::absolute(file).unwrap_or_else(|_| Path::new(file).to_path_buf());
    path.to_string_lossy().into_owned()
}

fn resolved_name(program: &Path) -> String {
    let resolved = fs::canonicalize(program).unwrap_or_else(|_| program.to_path_buf());
    resolved.to_string_lossy().into_owned()
}

/// Only a call that named a response file can be too long for a command line.
///
/// The first argument stays outside: archivers look there for what to do.
fn shorten(words: Vec<OsString>, named_response_file: bool) -> Result<Vec<OsString>, String> {
    let bytes: usize = words.iter().map(|word| word.len() + 1).sum();
    match words.split_first() {
        Some((first, rest)) if named_response_file && bytes > LONG_COMMAND_LINE_BYTES => {
            let file = write_response_file(rest).map_err(|e| format!("response file: {e}"))?;
            Ok(vec![first.clone(), file])
        }
        _ => Ok(words),
    }
}
