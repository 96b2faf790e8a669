//! Factors of the environment that `run.sh` gets.

mod env_padding;
mod installed_locales;
mod locale;
mod user_name_length;

pub use env_padding::EnvPadding;
pub use locale::Locale;
pub use user_name_length::UserNameLength;
