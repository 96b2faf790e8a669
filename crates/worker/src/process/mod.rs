//! The processes of a package: how its scripts are run and judged, where the kernel keeps its programs,
//! and what a witness sees.

mod environment;
mod phases;
mod placing;
mod witness;

pub use environment::{
    announce_measurements, inherited_notices, phase_environment, policy_name, set_variable,
};
pub use phases::{Execution, Script, Stage, is_full, launch_failure, output_file, run_script};
pub use placing::{
    LockedFiles, Pages, fill, find_program, find_programs, place_anew, resident_pages,
};
pub use witness::{Witness, autogroup_of, observe_self, own_limit, variable_of};
