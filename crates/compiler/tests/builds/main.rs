//! Real builds through the wrapper, judged by the binaries that come out.

mod build_systems;
mod direct;
mod escapes;
mod installation;
mod robustness;
mod workshop;
