//! The compiler wrapper alone: dispatches on the name that it was started under.

fn main() {
    let started_as = std::env::args_os().next().unwrap_or_default();
    if datamill_compiler::is_wrapped_program(&started_as) {
        datamill_compiler::run_wrapper();
    }
    eprintln!("datamill: start this program under the name of a compiler, linker or archiver");
    std::process::exit(2);
}
