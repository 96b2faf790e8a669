//! What this host does to a program that never stops computing.

use std::hint::black_box;
use std::time::{Duration, Instant};

use datamill_protocol::{NoiseFacts, ProcessorNoise};

use super::disturbance::HostLook;
use super::kernel_log::KernelLog;

/// A thread that computes sees time pass in steps of nanoseconds; a longer one means that it was held up.
const GAP: Duration = Duration::from_micros(10);
const PIECE: Duration = Duration::from_millis(1);
const SLEEP: Duration = Duration::from_millis(1);

/// Measures each processor that this process may use in turn, for `seconds` in all.
///
/// Half of the time goes to pieces of equal work, three tenths to watching for gaps, the rest to sleeps.
pub fn measure_noise(seconds: f64) -> NoiseFacts {
    let allowed = usable_processors();
    let share = Duration::from_secs_f64(seconds / allowed.len() as f64);
    let log = KernelLog::open();
    let before = HostLook::take(log.as_ref());
    let own_before = own_time_ns();
    let started = Instant::now();
    let rounds = rounds_per_piece();
    let processors = allowed
        .iter()
        .map(|processor| {
            let pinned = pin_to(&[*processor]);
            let work_ns = time_pieces(share.mul_f64(0.5), rounds);
            let (watched, gaps) = watch_for_gaps(share.mul_f64(0.3));
            ProcessorNoise {
                processor: *processor as u32,
                pinned,
                work_ns,
                watched_ns: watched.as_nanos() as u64,
                gaps: gaps.len() as u64,
                lost_ns: gaps.iter().sum(),
                longest_gap_ns: gaps.iter().max().copied().unwrap_or(0),
                late_ns: time_sleeps(share.mul_f64(0.2)),
            }
        })
        .collect();
    pin_to(&allowed);
    let span_ns = started.elapsed().as_nanos() as u64;
    let own_ns = own_time_ns().saturating_sub(own_before);
    let disturbance = before.compare(&HostLook::take(log.as_ref()), own_ns);
    NoiseFacts {
        span_ns,
        processors,
        disturbance,
    }
}

/// Work that touches no memory and that no compiler can shorten.
fn work(rounds: u64) {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    for _ in 0..rounds {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    black_box(state);
}

/// Rounds of [`work`] that take about [`PIECE`], from the fastest of some tries.
fn rounds_per_piece() -> u64 {
    const TRIED: u64 = 100_000;
    let fastest = (0..20)
        .map(|_| {
            let started = Instant::now();
            work(black_box(TRIED));
            started.elapsed().as_nanos().max(1)
        })
        .min()
        .unwrap_or(1);
    (u128::from(TRIED) * PIECE.as_nanos() / fastest).max(1) as u64
}

fn time_pieces(span: Duration, rounds: u64) -> Vec<u64> {
    let started = Instant::now();
    let mut times = Vec::with_capacity(span.as_millis() as usize + 1);
    while started.elapsed() < span {
        let piece = Instant::now();
        work(black_box(rounds));
        times.push(piece.elapsed().as_nanos() as u64);
    }
    times
}

/// Watches for a span at least, and returns how long it was, with the gaps within it.
fn watch_for_gaps(span: Duration) -> (Duration, Vec<u64>) {
    let started = Instant::now();
    let mut gaps = Vec::with_capacity(4096);
    let mut last = started;
    loop {
        let now = Instant::now();
        let step = now - last;
        if step > GAP {
            gaps.push(step.as_nanos() as u64);
        }
        if now - started > span {
            return (now - started, gaps);
        }
        last = now;
    }
}

fn time_sleeps(span: Duration) -> Vec<u64> {
    let started = Instant::now();
    let mut late = Vec::with_capacity(span.as_millis() as usize + 1);
    while started.elapsed() < span {
        let sleep = Instant::now();
        std::thread::sleep(SLEEP);
        late.push(sleep.elapsed().saturating_sub(SLEEP).as_nanos() as u64);
    }
    late
}

/// Numbers of the processors that this process may use; processor 0 where that is not told.
fn usable_processors() -> Vec<usize> {
    // SAFETY: an all-zero set is valid and has the size given.
    let set = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::sched_getaffinity(0, size_of_val(&set), &mut set);
        set
    };
    let all = 0..libc::CPU_SETSIZE as usize;
    // SAFETY: the number is within the set.
    let found: Vec<usize> = all
        .filter(|n| unsafe { libc::CPU_ISSET(*n, &set) })
        .collect();
    if found.is_empty() { vec![0] } else { found }
}

fn pin_to(processors: &[usize]) -> bool {
    // SAFETY: an all-zero set is valid; the numbers are within it.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        for processor in processors {
            libc::CPU_SET(*processor, &mut set);
        }
        libc::sched_setaffinity(0, size_of_val(&set), &set) == 0
    }
}

fn own_time_ns() -> u64 {
    // SAFETY: an all-zero rusage is valid, and so is the pointer.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    let ns = |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000;
    ns(usage.ru_utime) + ns(usage.ru_stime)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_measurement_sees_every_processor() {
        let facts = measure_noise(0.4);
        assert_eq!(facts.processors.len(), usable_processors().len());
        for processor in &facts.processors {
            assert!(!processor.work_ns.is_empty() && !processor.late_ns.is_empty());
            assert!(processor.lost_ns <= processor.watched_ns);
        }
    }
}
