//! The agent: connected, it follows orders, takes attempts and hands reports in.

mod agent;
mod answers;
mod attempt;
mod delivery;
mod following;
mod live_output;
mod renewal;
mod rest;
mod serve;

pub use serve::{ServeOptions, agent_arguments, serve};
