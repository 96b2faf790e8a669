//! The processes of a package: how its scripts are run and judged, and what a witness sees.

mod environment;
mod phases;
mod witness;

pub use environment::{
    announce_measurements, inherited_notices, phase_environment, policy_name, set_variable,
};
pub use phases::{Script, Stage, is_full, output_file, run_script};
pub use witness::{
    PADDING_NAME, Witness, autogroup_of, is_padding_name, observe_self, own_limit,
    own_memory_policy, own_processors,
};
