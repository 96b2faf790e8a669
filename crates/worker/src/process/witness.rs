//! A process that says what the kernel gave it, launched in place of `run.sh` to read factors back.

use std::collections::BTreeMap;
use std::fs;
use std::hint::black_box;

use rustix::process::{Resource, getrlimit};
use serde::{Deserialize, Serialize};

/// Start of the names of padding variables; one letter follows.
pub const PADDING_NAME: &str = "PAD";

const ADDR_NO_RANDOMIZE: i32 = 0x0040000;

/// What a witness sees of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Witness {
    /// Where its stack is.
    pub stack: u64,
    /// Where the kernel maps memory for it.
    pub mapping: u64,
    /// Whether its personality turns address-space randomisation off.
    pub randomization_off: bool,
    /// Bytes of padding in the environment that the kernel delivered.
    pub padding_bytes: u64,
    /// Its working folder as the kernel names it; absent when that name is no text.
    pub directory: Option<String>,
    /// Group in which the scheduler's autogroup puts it; absent where there is none.
    pub autogroup: Option<String>,
    /// Whether it leads its session.
    pub leads_session: bool,
    /// The variables of [`OBSERVED_VARIABLES`] that the kernel delivered, by name.
    pub variables: BTreeMap<String, String>,
    /// The kernel's number of its scheduling policy; negative when unknown.
    pub policy: i32,
    /// Its static priority, above 0 under a real-time policy only.
    pub priority: i32,
    /// Its niceness.
    pub niceness: i32,
    /// Processors that it may run on, in words of 64 bits; empty when unknown.
    pub processors: Vec<u64>,
    /// The kernel's number of its NUMA policy; absent where there is none.
    pub memory_policy: Option<i32>,
    /// Nodes of that policy, in words of 64 bits.
    pub memory_nodes: Vec<u64>,
    /// Soft and hard limit of its stack, in bytes; the largest number means none.
    pub stack_limit: (u64, u64),
    /// Soft limit of its private writable memory, in bytes; the largest number means none.
    pub heap_limit: u64,
}

/// Variables that factors set.
pub const OBSERVED_VARIABLES: [&str; 6] = [
    "USER",
    "LOGNAME",
    "LANG",
    "LC_ALL",
    "LD_PRELOAD",
    "GLIBC_TUNABLES",
];

/// Words of the masks that are asked for: as many processors or nodes as the kernel can have.
const MASK_WORDS: usize = 128;

/// Observes the calling process.
pub fn observe_self() -> std::io::Result<Witness> {
    let on_stack = 0u8;
    // SAFETY: a fresh anonymous page, never touched; the query changes nothing.
    let (mapping, personality) = unsafe {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let page = libc::mmap(std::ptr::null_mut(), 4096, libc::PROT_READ, flags, -1, 0);
        (page as u64, libc::personality(0xffff_ffff))
    };
    let environment = fs::read("/proc/self/environ")?;
    let (policy, priority) = own_policy();
    let (memory_policy, memory_nodes) = own_memory_policy();
    Ok(Witness {
        stack: std::ptr::from_ref(black_box(&on_stack)) as u64,
        mapping,
        randomization_off: personality >= 0 && personality & ADDR_NO_RANDOMIZE != 0,
        padding_bytes: padding_bytes(&environment),
        directory: std::env::current_dir()?.into_os_string().into_string().ok(),
        autogroup: autogroup_of("self"),
        // SAFETY: no pointers involved.
        leads_session: unsafe { libc::getsid(0) == libc::getpid() },
        variables: observed_variables(&environment),
        policy,
        priority,
        niceness: own_niceness(),
        processors: own_processors(),
        memory_policy,
        memory_nodes,
        stack_limit: own_limit(Resource::Stack),
        heap_limit: own_limit(Resource::Data).0,
    })
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

fn own_niceness() -> i32 {
    // SAFETY: no pointers involved; the system call itself tells 20 less the niceness.
    let told = unsafe { libc::syscall(libc::SYS_getpriority, libc::PRIO_PROCESS, 0) };
    20 - told as i32
}

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

/// The kernel's number and nodes of this thread's NUMA policy.
pub fn own_memory_policy() -> (Option<i32>, Vec<u64>) {
    /// Flags beside the mode.
    const MODE: i32 = 0xff;
    let mut mode: libc::c_int = 0;
    let mut words = [0u64; MASK_WORDS];
    // SAFETY: the size is that of the words; no address is asked about.
    let told = unsafe {
        libc::syscall(
            libc::SYS_get_mempolicy,
            &raw mut mode,
            words.as_mut_ptr(),
            MASK_WORDS * 64,
            std::ptr::null::<libc::c_void>(),
            0,
        )
    };
    if told == 0 {
        (Some(mode & MODE), words.to_vec())
    } else {
        (None, Vec::new())
    }
}

/// Soft and hard limit of a resource; the largest number means none.
pub fn own_limit(resource: Resource) -> (u64, u64) {
    let limit = getrlimit(resource);
    (
        limit.current.unwrap_or(u64::MAX),
        limit.maximum.unwrap_or(u64::MAX),
    )
}

fn observed_variables(environment: &[u8]) -> BTreeMap<String, String> {
    environment
        .split(|byte| *byte == 0)
        .filter_map(|string| {
            let text = String::from_utf8_lossy(string);
            let (name, value) = text.split_once('=')?;
            OBSERVED_VARIABLES
                .contains(&name)
                .then(|| (name.to_owned(), value.to_owned()))
        })
        .collect()
}

/// Name of the scheduler's group of a process, which those of one session share.
pub fn autogroup_of(process: &str) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{process}/autogroup")).ok()?;
    text.split_ascii_whitespace().next().map(str::to_owned)
}

/// Bytes of the padding variables among NUL-terminated strings, their NULs included.
fn padding_bytes(environment: &[u8]) -> u64 {
    environment
        .split_inclusive(|byte| *byte == 0)
        .filter(|string| is_padding(string))
        .map(|string| string.len() as u64)
        .sum()
}

fn is_padding(string: &[u8]) -> bool {
    matches!(string.strip_prefix(PADDING_NAME.as_bytes()), Some([letter, b'=', ..]) if letter.is_ascii_alphabetic())
}

/// Whether a variable of the package would be taken for padding.
pub fn is_padding_name(name: &str) -> bool {
    is_padding(format!("{name}=").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_padding_variables_count() {
        assert_eq!(
            padding_bytes(b"PATH=/bin\0PADa=xx\0PADDING=1\0PADb=\0PAD=1\0"),
            8 + 6
        );
    }

    #[test]
    fn two_variables_of_this_process_have_different_addresses() {
        let seen = observe_self().unwrap();
        assert!(seen.stack != 0 && seen.mapping != 0 && seen.stack != seen.mapping);
    }
}
