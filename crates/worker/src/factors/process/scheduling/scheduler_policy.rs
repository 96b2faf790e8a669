//! `scheduler_policy`: the policy under which the kernel schedules `run.sh`.

use datamill_probe::{ChildStep, SchedulingPolicy};
use datamill_protocol::FactorOffer;

use super::permissions::Permissions;
use crate::factors::process::conditions::RunConditions;
use crate::factors::process::factor::{Asked, ProcessFactor, choose, offer_each, refuse};
use crate::factors::process::read_back::{Observer, Reading, witness_did};
use crate::process::policy_name;

/// Names of scheduling policies, the usual one first.
pub const POLICIES: [(&str, SchedulingPolicy); 5] = [
    ("other", SchedulingPolicy::Other),
    ("batch", SchedulingPolicy::Batch),
    ("idle", SchedulingPolicy::Idle),
    ("fifo", SchedulingPolicy::Fifo),
    ("rr", SchedulingPolicy::RoundRobin),
];

/// The factor.
pub struct SchedulerPolicy;

impl ProcessFactor for SchedulerPolicy {
    type Level = SchedulingPolicy;
    /// The kernel's number of the policy, negative when unknown, and the static priority, above 0
    /// under a real-time policy only.
    type Seen = (i32, i32);

    fn name(&self) -> &'static str {
        "scheduler_policy"
    }

    fn offer(&self) -> FactorOffer {
        let permissions = Permissions::find();
        offer_each(
            self.name(),
            POLICIES.map(|(name, policy)| (name.to_owned(), permissions.policy_refusal(policy))),
        )
    }

    fn parse(&self, text: &str) -> Result<SchedulingPolicy, String> {
        choose(&POLICIES, text)
    }

    fn check(&self, level: &SchedulingPolicy) -> Result<(), String> {
        refuse(Permissions::find().policy_refusal(*level))
    }

    fn apply(
        &self,
        level: &SchedulingPolicy,
        conditions: &mut RunConditions,
    ) -> Result<(), String> {
        conditions.settings.policy = Some(*level);
        Ok(())
    }

    fn set_at(&self) -> Option<ChildStep> {
        Some(ChildStep::Policy)
    }

    fn observe(&self, _environment: &[u8]) -> (i32, i32) {
        own_policy()
    }

    fn read_back(
        &self,
        _asked: &Asked<'_, SchedulingPolicy>,
        seen: &(i32, i32),
        _observer: &Observer<'_>,
    ) -> Reading {
        judge(*seen)
    }
}

fn judge((policy, priority): (i32, i32)) -> Reading {
    let name = policy_name(policy);
    let evidence = format!("ran under policy {name} at priority {priority}");
    witness_did(name, evidence)
}

/// Policy and static priority of the calling thread.
fn own_policy() -> (i32, i32) {
    let mut priority: libc::c_int = 0;
    // SAFETY: the priority is all that the kernel's `sched_param` holds.
    unsafe {
        let policy = libc::syscall(libc::SYS_sched_getscheduler, 0);
        libc::syscall(libc::SYS_sched_getparam, 0, &raw mut priority);
        (policy as i32, priority)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_policy_is_that_of_the_witness_whatever_was_asked_for() {
        assert_eq!(judge((libc::SCHED_BATCH, 0)).0.as_deref(), Some("batch"));
    }
}
