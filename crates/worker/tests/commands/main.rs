//! Commands measured through the binary.

mod building;
mod ends;
mod factors;
mod requests;
mod session;
mod streams;
