//! Private worlds: what a trial sees of its host, and what it leaves.

mod privacy;
mod private_worlds;
