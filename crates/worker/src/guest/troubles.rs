//! Why a trial in a guest did not complete.

use std::time::Duration;

use datamill_protocol::{Failure, FailureKind, Phase};

use super::trust::clip;
use crate::trouble::failure;

pub fn no_network() -> Failure {
    failure(
        Phase::Isolate,
        FailureKind::BadPackage,
        "The package needs the network, and a guest has none.",
        "Choose another isolation, or leave network out of what the package needs.",
    )
}

pub fn no_folders() -> Failure {
    failure(
        Phase::Isolate,
        FailureKind::BadPackage,
        "The package needs folders of the host, and a guest sees none.",
        "Choose another isolation, or put the files into the package.",
    )
}

pub fn no_guest(cause: &str) -> Failure {
    failure(
        Phase::Isolate,
        FailureKind::Isolation,
        format!("This machine has no guest: {}.", clip(cause)),
        "Install what is missing, or choose another isolation; docs/howto/guests.md says what guests need.",
    )
}

pub fn broken(cause: &str) -> Failure {
    failure(
        Phase::Run,
        FailureKind::Internal,
        format!("The guest was lost: {}.", clip(cause)),
        "Look whether this host is out of memory; the trial can be attempted again.",
    )
}

pub fn overdue(elapsed: Duration) -> Failure {
    failure(
        Phase::Run,
        FailureKind::Timeout,
        format!(
            "The guest was switched off after {} s: the worker in it did not keep the trial's time limits.",
            elapsed.as_secs()
        ),
        "Look whether the package takes all processes or all memory of its machine; else raise its time limits.",
    )
}

pub fn went_off(last_words: &str) -> Failure {
    let said = if last_words.is_empty() {
        "it said nothing".to_owned()
    } else {
        format!("it said last: {}", clip(last_words))
    };
    failure(
        Phase::Run,
        FailureKind::ExitStatus,
        format!("The guest went off before its trial had ended; {said}."),
        "Look whether the package reboots or halts its machine, or makes its kernel panic.",
    )
}

pub fn forged(cause: &str) -> Failure {
    failure(
        Phase::Collect,
        FailureKind::BadPackage,
        format!("What the guest handed back cannot be from its worker: {cause}."),
        "The package has tampered with its guest: do not trust anything that it reports.",
    )
}

pub fn refused(cause: &str) -> Failure {
    failure(
        Phase::Isolate,
        FailureKind::Factor,
        format!("The guest did not run the trial: {}.", clip(cause)),
        "`datamill-worker factors --guest` lists what a guest here offers of each factor.",
    )
}
