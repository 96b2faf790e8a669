//! What a trial needs before its world is made: folders, unpacked packages, factors.

use std::fs::{self, File};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use datamill_host::{KernelLog, OtherProcesses};
use datamill_protocol::{Phase, TrialSpec};

use crate::assignment::{Assignment, Purpose};
use crate::factors::{Levels, UserFactors, prepare_user_factors};
use crate::interrupt::Interrupt;
use crate::package::{Package, prepare_package};
use crate::resources::Resources;
use crate::trouble::{Step, io_failure};
use crate::world::{clear_scratch, own_binary};

/// What a trial needs before its world is made.
pub struct Prepared {
    pub package: Package,
    output: OwnedFd,
    pub worker: PathBuf,
    kernel_log: Option<KernelLog>,
    others: Option<OtherProcesses>,
    pub user_factors: UserFactors,
    background: Option<Package>,
}

impl Prepared {
    /// What is to be done in a world.
    pub fn assignment<'a>(
        &'a self,
        spec: &'a TrialSpec,
        purpose: Purpose,
        levels: &'a Levels,
        resources: &'a Rc<Resources>,
        interrupt: &'a Interrupt,
    ) -> Assignment<'a> {
        Assignment {
            spec,
            purpose,
            levels,
            package: &self.package,
            output: &self.output,
            resources,
            interrupt,
            kernel_log: self.kernel_log.as_ref(),
            others: self.others.as_ref(),
            environment_factors: &self.user_factors.environment,
            // A profile counts what the package executes, however busy the machine is.
            background: match purpose {
                Purpose::Measurements => self.background.as_ref(),
                Purpose::Profile => None,
            },
        }
    }
}

/// Makes folders, unpacks packages and factors.
pub fn prepare(spec: &TrialSpec, levels: &Levels, interrupt: &Interrupt) -> Step<Prepared> {
    for folder in [&spec.scratch_dir, &spec.cache_dir, &spec.output_dir] {
        fs::create_dir_all(folder).map_err(io_failure(
            Phase::Isolate,
            format!("making the folder `{folder}`"),
        ))?;
    }
    // What a killed worker may have left in its plain world.
    clear_scratch(Path::new(&spec.scratch_dir)).map_err(io_failure(
        Phase::Isolate,
        format!("clearing the folder `{}`", spec.scratch_dir),
    ))?;
    let output = File::open(&spec.output_dir).map_err(io_failure(
        Phase::Isolate,
        format!("opening the folder `{}`", spec.output_dir),
    ))?;
    let package = prepare_package(
        &spec.package,
        Path::new(&spec.cache_dir),
        &spec.limits,
        interrupt,
    )?;
    let background = match &spec.background {
        None => None,
        Some(background) => {
            let cache = Path::new(&spec.cache_dir);
            Some(prepare_package(background, cache, &spec.limits, interrupt)?)
        }
    };
    let user_factors = prepare_user_factors(spec, &levels.user, interrupt)?;
    let worker = own_binary().map_err(io_failure(Phase::Isolate, "finding the worker's binary"))?;
    Ok(Prepared {
        package,
        output: output.into(),
        worker,
        kernel_log: KernelLog::open(),
        others: OtherProcesses::open(),
        user_factors,
        background,
    })
}

/// Ends what is left of a trial and gives back what kept it within its bounds; the error is a sentence.
pub fn release(resources: Rc<Resources>) -> Result<(), String> {
    Rc::into_inner(resources).map_or(Ok(()), Resources::release)
}
