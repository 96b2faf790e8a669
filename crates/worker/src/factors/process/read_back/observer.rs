//! Launching programs exactly as `run.sh` is, to see what the kernel gives them.

use std::ffi::CString;
use std::fs::File;
use std::io::{Read, Seek};
use std::path::Path;
use std::time::Duration;

use datamill_probe::{Bounds, Launch, Output, USUAL_UMASK, launch};
use rustix::fs::{MemfdFlags, memfd_create};
use serde::Deserialize;
use serde_json::Value;

use crate::factors::process::conditions::RunConditions;
use crate::factors::process::factor::ProcessFactor;
use crate::interrupt::Interrupt;
use crate::package::RUN;
use crate::process::Witness;
use crate::resources::Members;
use crate::world::World;

/// The level that a factor is seen to have, and the evidence, one sentence.
pub type Reading = (Option<String>, String);

/// Most output that is read: long lists of mappings fit.
const OUTPUT_BYTES: u64 = 256 * 1024;
const TIMEOUT: Duration = Duration::from_secs(10);

/// How processes are observed.
pub struct Observer<'a> {
    /// The world that this process is in.
    pub world: &'a World,
    /// The program that it will be.
    pub program: &'a Path,
    /// What `run.sh` will be launched with.
    pub conditions: &'a RunConditions,
    /// The pending interruption.
    pub interrupt: &'a Interrupt,
}

/// Launches one witness process exactly as `run.sh` will be launched; the error is a sentence.
pub fn launch_witness(
    world: &World,
    conditions: &RunConditions,
    interrupt: &Interrupt,
) -> Result<Witness, String> {
    let observer = Observer {
        world,
        program: &world.root.join(RUN),
        conditions,
        interrupt,
    };
    observer.launch_witness()
}

impl Observer<'_> {
    /// What another witness sees of a factor; the error is a sentence.
    pub fn look_again<F: ProcessFactor>(&self, factor: &F) -> Result<F::Seen, String> {
        let witness = self.launch_witness()?;
        let seen = witness.factors.get(factor.name()).unwrap_or(&Value::Null);
        F::Seen::deserialize(seen)
            .map_err(|cause| format!("No witness process could be observed: {cause}."))
    }

    /// Launches a witness; the error is a sentence.
    pub fn launch_witness(&self) -> Result<Witness, String> {
        let program = self.world.tools.join("datamill-worker");
        self.output_of(&program, &[c"witness".to_owned()])
            .and_then(|text| serde_json::from_str(&text).map_err(|error| error.to_string()))
            .map_err(|cause| format!("No witness process could be observed: {cause}."))
    }

    /// What a program writes to its standard output; the error is the cause of there being none.
    pub fn output_of(&self, program: &Path, arguments: &[CString]) -> Result<String, String> {
        let mut stdout: File = memfd_create("witness", MemfdFlags::CLOEXEC)
            .map_err(|error| error.to_string())?
            .into();
        let writer = stdout.try_clone().map_err(|error| error.to_string())?;
        let stderr = File::options()
            .write(true)
            .open("/dev/null")
            .map_err(|error| error.to_string())?;
        let bounds = self.world.script_bounds(Members::Measured, 0);
        let measured = launch(Launch {
            program,
            name: None,
            arguments,
            environment: &self.conditions.environment,
            directory: &self.world.directory,
            settings: &self.conditions.settings,
            confinement: self
                .world
                .confinement()
                .map_err(|error| error.to_string())?,
            own_session: self.world.own_session,
            with_counters: false,
            timeout: Some(TIMEOUT),
            output_bytes: OUTPUT_BYTES,
            stdin: None,
            stdout: Output::Kept(writer),
            stderr: Output::Kept(stderr),
            umask: USUAL_UMASK,
            family: self.world.family,
            bounds: bounds.as_ref().map(|bounds| bounds as &dyn Bounds),
            interrupt: Some(self.interrupt),
        })
        .map_err(|error| error.to_string())?;
        if measured.facts.exit_code != Some(0) {
            let tail = String::from_utf8_lossy(&measured.stderr_tail)
                .trim()
                .to_owned();
            let end = match (measured.facts.exit_code, measured.facts.signal) {
                (Some(status), _) => format!("it exited with status {status}"),
                (None, Some(signal)) => format!("it was killed by signal {signal}"),
                (None, None) => "it failed".to_owned(),
            };
            return Err(format!("{end}: {tail}").trim_end_matches(": ").to_owned());
        }
        let mut text = String::new();
        stdout
            .rewind()
            .and_then(|()| stdout.read_to_string(&mut text))
            .map_err(|error| error.to_string())?;
        Ok(text)
    }
}
