//! Building the one kind of error that ends a trial: a [`Failure`] in words.

use std::fmt::Display;
use std::io;

use datamill_protocol::{Failure, FailureKind, Phase};

/// Outcome of a step of a trial.
pub type Step<T> = Result<T, Failure>;

/// A failure with its cause and its remedy, one sentence each.
pub fn failure(
    phase: Phase,
    kind: FailureKind,
    message: impl Into<String>,
    remedy: impl Into<String>,
) -> Failure {
    Failure {
        phase,
        kind,
        message: message.into(),
        remedy: remedy.into(),
    }
}

/// Turns an input or output error into a failure; a full disk is recognised.
pub fn io_failure(phase: Phase, doing: impl Display) -> impl FnOnce(io::Error) -> Failure {
    move |error| {
        if is_full(&error) {
            disk_full(phase, format!("{doing}: {error}"))
        } else {
            failure(
                phase,
                FailureKind::Internal,
                format!("{doing}: {error}"),
                "Check that the folders of this trial can be read and written by the worker.",
            )
        }
    }
}

/// The failure that an interruption leaves.
pub fn interrupted(phase: Phase) -> Failure {
    failure(
        phase,
        FailureKind::Internal,
        "The worker was interrupted.",
        "Resume the experiment; the trial will be attempted again.",
    )
}

/// A failure for want of space.
pub fn disk_full(phase: Phase, message: impl Into<String>) -> Failure {
    failure(
        phase,
        FailureKind::DiskFull,
        message,
        "Free space on the disk, or raise the limit world if the trial's private world is what is full.",
    )
}

/// Whether an error says that there is no space left.
pub fn is_full(error: &io::Error) -> bool {
    // A copy of an error has its kind and no number.
    matches!(error.raw_os_error(), Some(libc::ENOSPC | libc::EDQUOT))
        || matches!(
            error.kind(),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
        )
}
