//! Which parts of a guest's record are believed: those that the package could have claimed anyway.
//!
//! A package that takes the kernel of its guest over writes the record that it likes. It can then lie about its own
//! trial, and about nothing else: who it was, what was asked of it, where and when it ran is said by the worker.

use std::path::Path;
use std::time::Duration;

use datamill_protocol::digest::hash_file;
use datamill_protocol::{
    BuildFacts, Failure, FailureKind, GuestFacts, Outcome, PhaseFacts, TrialRecord, TrialSpec,
};

/// Longest sentence, in characters.
const MOST_CHARACTERS: usize = 4000;
/// Most notices and most counters.
const MOST_ITEMS: usize = 100;
/// Most values of metrics.
const MOST_VALUES: usize = 1_000_000;
/// Longest name of a metric.
const MOST_NAME: usize = 200;
/// What a clock may be wrong by while a guest runs, as a part of its time and in all.
const CLOCK_PART: f64 = 0.02;
const CLOCK_FLOOR: Duration = Duration::from_secs(1);

/// When and on what a guest's trial ran.
pub struct Circumstances<'a> {
    /// What the guest was.
    pub guest: GuestFacts,
    /// How long it was on.
    pub elapsed: Duration,
    /// Clock when it was switched on, nanoseconds since the Unix epoch.
    pub started_unix_ns: u64,
    /// Clock when it was off.
    pub ended_unix_ns: u64,
    /// Whether the package that it was given has a `collect.sh`.
    pub has_collect: bool,
    /// Folder with the files that it handed back.
    pub output: &'a Path,
}

/// Takes over what a guest's record tells; the error is one sentence that says what cannot be.
pub fn believe(
    told: TrialRecord,
    own: TrialRecord,
    spec: &TrialSpec,
    seen: &Circumstances<'_>,
) -> Result<TrialRecord, String> {
    check_ending(&told, seen.has_collect)?;
    let mut record = TrialRecord {
        outcome: told.outcome,
        failure: told.failure,
        build: told.build,
        warmups: told.warmups,
        quiet: told.quiet,
        run: told.run,
        disturbance: told.disturbance,
        collect: told.collect,
        factors: told.factors,
        resources: told.resources,
        metrics: told.metrics,
        archive: told.archive,
        notices: told.notices,
        ..own
    };
    if record.warmups.len() > 10_000 {
        return Err("it has more warm-ups than can be asked for".to_owned());
    }
    let values: usize = record.metrics.values().map(Vec::len).sum();
    let has_long_name = record.metrics.keys().any(|name| name.len() > MOST_NAME);
    if values > MOST_VALUES || record.metrics.len() > MOST_VALUES || has_long_name {
        return Err("it has more metrics than can be reported".to_owned());
    }
    if let Some(build) = &mut record.build {
        check_build(build, seen)?;
    }
    for phase in record
        .warmups
        .iter_mut()
        .chain(&mut record.run)
        .chain(&mut record.collect)
    {
        check_phase(phase, seen)?;
    }
    record
        .factors
        .retain(|fact| spec.levels.contains_key(&fact.name));
    for fact in &mut record.factors {
        fact.asked.clone_from(&spec.levels[&fact.name]);
        fact.observed = fact.observed.as_deref().map(clip);
        fact.evidence = clip(&fact.evidence);
    }
    record
        .factors
        .dedup_by(|left, right| left.name == right.name);
    if let Some(failure) = &mut record.failure {
        if record.outcome == Outcome::Lost {
            // Nobody interrupts a worker in a guest but the package: its machine is new, and all its own.
            record.outcome = Outcome::Failed;
            failure.kind = match failure.kind {
                FailureKind::MemoryKilled => FailureKind::MemoryLimit,
                _ => FailureKind::ExitStatus,
            };
        }
        clip_failure(failure);
    }
    if let Some(resources) = &mut record.resources {
        resources.reason = clip(&resources.reason);
    }
    record.notices.truncate(MOST_ITEMS);
    for notice in &mut record.notices {
        *notice = clip(notice);
    }
    check_archive(&record, seen.output)?;
    Ok(record)
}

/// Checks what a guest says about a build, and shortens what is too long.
pub fn check_build(build: &mut BuildFacts, seen: &Circumstances<'_>) -> Result<(), String> {
    if let Some(setup) = &mut build.setup {
        check_phase(setup, seen)?;
    }
    build.id = clip(&build.id);
    build.executables_sha256 = build.executables_sha256.as_deref().map(clip);
    build.compiler.programs.retain(|name, _| name.len() <= 100);
    build
        .compiler
        .optimization_passed
        .retain(|name, _| name.len() <= 100);
    Ok(())
}

/// Takes from the words of a failure what is too long.
pub fn clip_failure(failure: &mut Failure) {
    failure.message = clip(&failure.message);
    failure.remedy = clip(&failure.remedy);
}

/// Whether there is a `collect.sh` is the worker's to know: the guest would be free to leave out what failed.
fn check_ending(told: &TrialRecord, has_collect: bool) -> Result<(), String> {
    let is_collected = told.collect.is_some() && told.archive.is_some();
    let is_whole = told.run.is_some() && (is_collected || !has_collect);
    match (told.outcome, &told.failure) {
        (Outcome::Completed, None) if is_whole => Ok(()),
        (Outcome::Completed, _) => Err("it is of a completed trial and lacks a phase".to_owned()),
        (Outcome::TimedOut, Some(failure)) if failure.kind == FailureKind::Timeout => Ok(()),
        (Outcome::Failed | Outcome::Lost, Some(_)) => Ok(()),
        _ => Err("it does not say why the trial did not complete".to_owned()),
    }
}

fn check_phase(phase: &mut PhaseFacts, seen: &Circumstances<'_>) -> Result<(), String> {
    let most = seen.elapsed + seen.elapsed.mul_f64(CLOCK_PART) + CLOCK_FLOOR;
    let most_ns = most.as_nanos();
    if u128::from(phase.wall_time_ns) > most_ns {
        return Err("a phase took longer than the guest was on".to_owned());
    }
    let used = u128::from(phase.user_time_ns) + u128::from(phase.system_time_ns);
    if used > most_ns * u128::from(seen.guest.processors) {
        return Err("a phase took more processor time than there was".to_owned());
    }
    if phase.peak_memory_bytes > seen.guest.memory_bytes {
        return Err("a phase took more memory than there is".to_owned());
    }
    // The guest's own clock is the package's to set.
    phase.started_unix_ns = phase
        .started_unix_ns
        .clamp(seen.started_unix_ns, seen.ended_unix_ns);
    phase.counters.truncate(MOST_ITEMS);
    for counter in &mut phase.counters {
        counter.name = clip(&counter.name);
        counter.reason = clip(&counter.reason);
    }
    Ok(())
}

/// The archive is what was handed back, byte by byte.
fn check_archive(record: &TrialRecord, output: &Path) -> Result<(), String> {
    let Some(archive) = &record.archive else {
        return Ok(());
    };
    let is_name = !archive.file.contains('/') && !archive.file.starts_with('.');
    let hashed = is_name
        .then(|| hash_file(&output.join(&archive.file)))
        .and_then(Result::ok);
    match hashed {
        Some((bytes, sha256)) if bytes == archive.bytes && sha256.to_string() == archive.sha256 => {
            Ok(())
        }
        _ => Err("its archive is not the one that was handed back".to_owned()),
    }
}

/// A text that is not too long, without what a terminal would obey.
pub fn clip(text: &str) -> String {
    text.chars()
        .filter(|c| !c.is_control() || *c == '\n' || *c == '\t')
        .take(MOST_CHARACTERS)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn completed() -> TrialRecord {
        let example =
            include_str!("../../../../protocol/trials/examples/trial-record-completed.json");
        let record: TrialRecord = serde_json::from_str(example).unwrap();
        assert!(record.run.is_some() && record.collect.is_some() && record.archive.is_some());
        record
    }

    #[test]
    fn a_trial_is_whole_without_collecting_only_where_there_is_no_collect_script() {
        let whole = completed();
        let uncollected = TrialRecord {
            collect: None,
            archive: None,
            ..whole.clone()
        };
        let unpacked = TrialRecord {
            archive: None,
            ..whole.clone()
        };
        assert!(check_ending(&whole, true).is_ok());
        assert!(check_ending(&uncollected, false).is_ok());
        assert!(check_ending(&uncollected, true).is_err());
        assert!(check_ending(&unpacked, true).is_err());
        for has_collect in [true, false] {
            let never_ran = TrialRecord {
                run: None,
                ..whole.clone()
            };
            assert!(check_ending(&never_ran, has_collect).is_err());
        }
    }
}
