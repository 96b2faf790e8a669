//! Real builds through the wrapper, judged by the binaries that come out.

mod build_systems;
mod direct;
mod escapes;
mod executables;
mod installation;
mod rewriting;
mod robustness;
mod versions;
mod workshop;
