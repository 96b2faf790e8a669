//! The machine that a guest is, seen from outside: what it boots, what emulates it, and how that is kept in.

pub mod emulator;
pub mod image;
mod jail;
pub mod running;
