//! Launching a process and measuring it.
