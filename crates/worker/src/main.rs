//! The program that runs trials.

fn main() {}
