//! The worker in a guest: does the job that is on one disk, and writes what came of it to another.

mod boot;

use std::fs::File;
use std::io;
use std::path::Path;

use datamill_protocol::{FactorOffer, TrialRecord, TrialSpec};
use serde::{Deserialize, Serialize};

pub use boot::boot_guest;

use super::job::{GuestJob, read_job};
use super::result::write_result;
use crate::factors::{Levels, offer_asked, offer_user_factors};
use crate::guest::machine::{JOB_DISK, RESULT_DISK};
use crate::interrupt::Interrupt;
use crate::trial::{check_spec, make_build, run_with_build};
use boot::find_disk;

/// Who made a build, as its users in other guests hear it.
pub const ORIGIN: &str = "a guest";

/// What a guest has to say.
#[derive(Debug, Serialize, Deserialize)]
pub enum GuestReport {
    /// What it offers of each factor.
    Offers(Vec<FactorOffer>),
    /// The record of its trial.
    Record(Box<TrialRecord>),
    /// Why it did not do its job.
    Refused(String),
}

/// Does the job of this guest.
pub fn run_guest_job(interrupt: &Interrupt) -> io::Result<()> {
    let job = File::open(find_disk(JOB_DISK)?)?;
    let mut output = None;
    let report = match read_job(&job) {
        Err(error) => GuestReport::Refused(format!("its job cannot be read: {error}")),
        Ok(GuestJob::Probe { asked, user }) => match offer_user_factors(&user, interrupt) {
            Ok(offers) => GuestReport::Offers(offer_asked(&asked, offers)),
            Err(cause) => GuestReport::Refused(cause),
        },
        Ok(GuestJob::Trial {
            spec,
            prebuilt,
            purpose,
        }) => {
            output = Some(spec.output_dir.clone());
            perform(&spec, |levels| {
                run_with_build(&spec, prebuilt.as_deref(), purpose, levels, interrupt)
            })
        }
        Ok(GuestJob::Build(spec)) => {
            output = Some(spec.output_dir.clone());
            perform(&spec, |levels| make_build(&spec, levels, ORIGIN, interrupt))
        }
    };
    let text = serde_json::to_vec(&report)?;
    let mut disk = File::options().write(true).open(find_disk(RESULT_DISK)?)?;
    let folder = output
        .as_deref()
        .map(Path::new)
        .filter(|path| path.is_dir());
    write_result(&mut disk, folder, &text)
}

fn perform(spec: &TrialSpec, run: impl FnOnce(&Levels) -> TrialRecord) -> GuestReport {
    match check_spec(spec) {
        Err(cause) => GuestReport::Refused(cause),
        Ok(levels) => GuestReport::Record(Box::new(run(&levels))),
    }
}
