//! Commands measured through the binary.

mod ends;
mod factors;
mod requests;
mod session;
mod streams;
