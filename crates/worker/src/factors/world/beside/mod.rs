//! Factors of what runs beside `run.sh`.

mod background_load;
mod session;

pub use background_load::{BACKGROUND_LOAD, BackgroundLoad};
pub use session::Session;
