//! What a trial's carrier and the keeper of its background package say to each other.

/// Sets the package up and starts its `run.sh`; answered by [`SetUp`].
pub const START: u8 = b's';
/// Asks for a [`LoadLook`](crate::factors::LoadLook).
pub const LOOK: u8 = b'l';
/// Ends what runs; answered by a last [`LoadLook`](crate::factors::LoadLook).
pub const STOP: u8 = b'x';

/// Whether the background package was set up; otherwise why not.
pub type SetUp = Result<(), String>;
