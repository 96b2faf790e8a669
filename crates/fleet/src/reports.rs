//! Reports, as they are sent.

use std::time::{SystemTime, UNIX_EPOCH};

use datamill_host::Host;
use datamill_protocol::{FLEET_SCHEMA_VERSION, ReportContent, WorkerReport};

/// The clock, nanoseconds since the Unix epoch.
pub fn clock_unix_ns() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// The identity of this boot, or "unknown".
pub fn boot_id() -> String {
    match Host::here().boot_id() {
        id if id.is_empty() => "unknown".to_owned(),
        id => id,
    }
}

/// A report of this worker, in this boot, now.
pub fn make_report(worker_id: &str, content: ReportContent) -> WorkerReport {
    WorkerReport {
        schema: FLEET_SCHEMA_VERSION,
        worker_id: worker_id.to_owned(),
        boot_id: boot_id(),
        clock_unix_ns: clock_unix_ns(),
        content,
    }
}
