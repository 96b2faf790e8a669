//! What becomes of a call: its options, and the random draws that it follows.

mod options;
mod random;
