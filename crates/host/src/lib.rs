//! What this machine is.
