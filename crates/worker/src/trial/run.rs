//! One trial from its specification to its record.

use std::mem;
use std::path::Path;
use std::rc::Rc;

use datamill_host::Host;
use datamill_protocol::{TrialRecord, TrialSpec};

use super::inside::TrialParts;
use super::prepared::{prepare, release};
use super::record::{begin_record, outcome_of, unix_ns};
use super::worlds::{try_isolations, weakest};
use crate::assignment::Purpose;
use crate::factors::{HostTurn, Levels, add_unread_factors};
use crate::interrupt::Interrupt;
use crate::resources::Resources;
use crate::world::remove_scratch;

/// Runs one trial, for its measurements or for a profile; whatever happens, the record tells it.
pub fn run_trial(
    spec: &TrialSpec,
    purpose: Purpose,
    levels: &Levels,
    interrupt: &Interrupt,
) -> TrialRecord {
    let begun = begin_record(spec, weakest(spec));
    let mut isolation = begun.isolation.clone();
    let mut package_sha256 = None;
    let mut resources = None;
    let mut turn = HostTurn::begin(Host::here());
    let mut parts = match prepare(spec, levels, interrupt) {
        Err(failure) => TrialParts {
            failure: Some(failure),
            ..TrialParts::default()
        },
        Ok(prepared) => {
            package_sha256.clone_from(&prepared.package.sha256);
            let bounds = Rc::new(Resources::prepare(&spec.limits));
            resources = Some(bounds.facts());
            let assignment = prepared.assignment(spec, purpose, levels, &bounds, interrupt);
            let user = &prepared.user_factors.host;
            let mut parts = match turn.set(&levels.host, user) {
                Err(failure) => TrialParts {
                    failure: Some(failure),
                    ..TrialParts::default()
                },
                Ok(()) => {
                    let (used, parts) = try_isolations(&assignment, &prepared.worker);
                    isolation = used;
                    parts
                }
            };
            parts.factors.extend(turn.end(&levels.host, user));
            parts.notices.extend(release(bounds).err());
            parts
        }
    };
    parts.notices.splice(0..0, mem::take(&mut turn.notices));
    if let Err(error) = remove_scratch(Path::new(&spec.scratch_dir)) {
        parts.notices.push(format!(
            "The scratch folder {} could not be removed: {error}.",
            spec.scratch_dir
        ));
    }
    parts.interrupted |= parts.failure.is_some() && interrupt.is_pending();
    add_unread_factors(&spec.levels, &mut parts.factors);
    TrialRecord {
        package_sha256,
        isolation,
        resources,
        ended_unix_ns: unix_ns(),
        outcome: outcome_of(parts.failure.as_ref(), parts.interrupted),
        failure: parts.failure,
        build: parts.build,
        warmups: parts.warmups,
        quiet: parts.quiet,
        run: parts.run,
        disturbance: parts.disturbance,
        collect: parts.collect,
        factors: parts.factors,
        metrics: parts.metrics,
        archive: parts.archive,
        unrestored: turn.take_unrestored(),
        notices: parts.notices,
        ..begun
    }
}
