//! What a measured process can do, and what is seen of it.
//!
//! The probe reaps every child of its process, so these tests take turns.

mod ends;
mod layout;
mod resources;
mod settings;
mod support;
