//! The machine that a guest is, seen from outside: what it boots, what emulates it, and how that is kept in.

mod emulator;
mod image;
mod jail;
mod running;

pub use emulator::{Emulator, JOB_DISK, Machine, RESULT_DISK, ROOT_DISK, find_emulator};
pub use image::{GuestImage, find_image};
pub use running::{Boot, Ended, UP, run_guest};
