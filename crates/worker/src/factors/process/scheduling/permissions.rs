//! What the kernel lets this worker set on processes: found by trying on a thread that then ends.

use std::io;
use std::thread;

use datamill_probe::{BitSet, ProcessorSet, SchedulingPolicy};

use super::scheduler_policy::POLICIES;

/// What is allowed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Permissions {
    /// Number of the error with which a policy was refused, by its name; those allowed are not here.
    pub refused_policies: Vec<(&'static str, i32)>,
    /// The least niceness.
    pub least_niceness: i32,
}

impl Permissions {
    /// Tries; what cannot be tried counts as refused.
    pub fn find() -> Self {
        thread::Builder::new()
            .spawn(|| Self {
                least_niceness: lower_niceness(),
                refused_policies: refused_policies(),
            })
            .ok()
            .and_then(|trial| trial.join().ok())
            .unwrap_or_default()
    }

    /// Why a policy cannot be set, if it cannot.
    pub fn policy_refusal(&self, wanted: SchedulingPolicy) -> Option<String> {
        let (name, _) = POLICIES.iter().find(|(_, policy)| *policy == wanted)?;
        let (_, errno) = self
            .refused_policies
            .iter()
            .find(|(refused, _)| refused == name)?;
        Some(if wanted.is_real_time() && *errno == libc::EPERM {
            "the kernel refuses it to this worker: it needs CAP_SYS_NICE or a limit `ulimit -r` of \
             1, and real-time time in its control group"
                .to_owned()
        } else {
            let error = io::Error::from_raw_os_error(*errno);
            format!("the kernel refuses it to this worker: {error}")
        })
    }

    /// Why a niceness cannot be set, if it cannot.
    pub fn niceness_refusal(&self, wanted: i32) -> Option<String> {
        (wanted < self.least_niceness).then(|| {
            format!(
                "the least niceness that the kernel allows this worker is {}; CAP_SYS_NICE or \
                 `ulimit -e` allows less",
                self.least_niceness
            )
        })
    }
}

/// Every processor that a program can be given, whatever this worker itself is confined to.
pub fn usable_processors() -> ProcessorSet {
    thread::Builder::new()
        .spawn(widen_processors)
        .ok()
        .and_then(|trial| trial.join().ok())
        .unwrap_or_default()
}

/// Words of a mask of as many processors as the kernel can have.
const MASK_WORDS: usize = 128;

/// Processors that the calling thread may run on, in words of 64 bits; empty when unknown.
pub fn own_processors() -> Vec<u64> {
    let mut words = [0u64; MASK_WORDS];
    // SAFETY: the size is that of the words; the kernel returns how many bytes it wrote.
    let written = unsafe {
        libc::syscall(
            libc::SYS_sched_getaffinity,
            0,
            size_of_val(&words),
            words.as_mut_ptr(),
        )
    };
    words[..usize::try_from(written).unwrap_or(0) / size_of::<u64>()].to_vec()
}

/// Asks for all processors there could be: the kernel gives those that there are.
fn widen_processors() -> ProcessorSet {
    let all = [u64::MAX; MASK_WORDS];
    // SAFETY: the size is that of the words.
    unsafe { libc::syscall(libc::SYS_sched_setaffinity, 0, size_of_val(&all), &all) };
    BitSet::from_words(&own_processors())
}

/// Takes the least niceness that is allowed, and tells it.
fn lower_niceness() -> i32 {
    // SAFETY: no pointers involved.
    (-20..=19)
        .find(|niceness| unsafe {
            libc::syscall(libc::SYS_setpriority, libc::PRIO_PROCESS, 0, *niceness) == 0
        })
        .unwrap_or(19)
}

fn refused_policies() -> Vec<(&'static str, i32)> {
    let is_idle = |(_, policy): &&(&str, SchedulingPolicy)| *policy == SchedulingPolicy::Idle;
    // From idle there may be no way back: it comes last.
    let others = POLICIES.iter().filter(|policy| !is_idle(policy));
    others
        .chain(POLICIES.iter().filter(is_idle))
        .filter_map(|(name, policy)| Some((*name, take_policy(*policy).err()?)))
        .collect()
}

fn take_policy(policy: SchedulingPolicy) -> Result<(), i32> {
    let priority: libc::c_int = policy.priority();
    // SAFETY: the priority is all that the kernel's `sched_param` holds.
    let set = unsafe {
        libc::syscall(
            libc::SYS_sched_setscheduler,
            0,
            policy.kernel_number(),
            &raw const priority,
        )
    };
    if set == 0 {
        return Ok(());
    }
    Err(io::Error::last_os_error().raw_os_error().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trying_leaves_the_caller_as_it_was() {
        let before = own_processors();
        let (_, usable) = (Permissions::find(), usable_processors());
        assert_eq!(own_processors(), before);
        // SAFETY: no pointers involved.
        let policy = unsafe { libc::syscall(libc::SYS_sched_getscheduler, 0) };
        assert_eq!(policy, 0);
        assert!(BitSet::from_words(&before).is_subset(&usable));
    }

    #[test]
    fn a_refusal_says_what_is_needed() {
        let found = Permissions {
            refused_policies: vec![("fifo", libc::EPERM)],
            least_niceness: 0,
        };
        let refusal = found.policy_refusal(SchedulingPolicy::Fifo).unwrap();
        assert!(refusal.contains("CAP_SYS_NICE"), "{refusal}");
        assert_eq!(found.policy_refusal(SchedulingPolicy::Batch), None);
        assert!(found.niceness_refusal(-1).unwrap().contains("worker is 0"));
        assert_eq!(found.niceness_refusal(0), None);
    }
}
