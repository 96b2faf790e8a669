//! The processor's counter of time, and what it costs to read it.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What two readings in a row differ by at least: that much of a latency is the counter's own.
static COST: AtomicU64 = AtomicU64::new(0);

/// Read the counter when all that was asked for before is done, and before anything after it begins.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn read() -> u64 {
    use std::arch::x86_64::{_mm_lfence, _rdtsc};
    unsafe {
        _mm_lfence();
        let now = _rdtsc();
        _mm_lfence();
        now
    }
}

/// Read the counter when all that was asked for before is done, and before anything after it begins.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
pub fn read() -> u64 {
    let now: u64;
    unsafe { std::arch::asm!("isb", "mrs {}, cntvct_el0", "isb", out(reg) now, options(nostack)) };
    now
}

/// From one reading to another, less what the reading costs.
#[inline(always)]
pub fn between(begin: u64, end: u64) -> u64 {
    end.wrapping_sub(begin).saturating_sub(COST.load(Relaxed))
}

/// Find out what a reading costs, in ticks.
///
/// The least of many: what is above it was an interruption, and no latency becomes negative by it.
pub fn find_cost() -> u64 {
    let cost = (0..4096)
        .map(|_| {
            let begin = read();
            read().wrapping_sub(begin)
        })
        .min()
        .unwrap_or(0);
    COST.store(cost, Relaxed);
    cost
}

/// Find out how many ticks a second has, from five milliseconds of them.
pub fn find_rate() -> u64 {
    const LENGTH_NS: u64 = 5_000_000;
    let (first_ns, first) = read_both();
    loop {
        let (ns, ticks) = read_both();
        if ns - first_ns >= LENGTH_NS {
            let rate = u128::from(ticks - first) * 1_000_000_000 / u128::from(ns - first_ns);
            return rate as u64;
        }
    }
}

/// The time and the counter, read as close to each other as it happens in a few attempts.
fn read_both() -> (u64, u64) {
    (0..8)
        .map(|_| {
            let before = read();
            let now = read_time_ns();
            let after = read();
            (after - before, now, before + (after - before) / 2)
        })
        .min()
        .map_or((0, 0), |(_, now, ticks)| (now, ticks))
}

fn read_time_ns() -> u64 {
    let mut now: libc::timespec = unsafe { std::mem::zeroed() };
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_RAW, &raw mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// What the counter is, for the observer: cycles of a constant clock, cycles of one that may change, or a timer's.
#[derive(Clone, Copy)]
#[repr(u64)]
pub enum Counter {
    #[cfg(target_arch = "x86_64")]
    ConstantCycles = 1,
    #[cfg(target_arch = "x86_64")]
    Cycles = 2,
    #[cfg(target_arch = "aarch64")]
    Timer = 3,
}

/// Say what the counter is here.
#[cfg(target_arch = "x86_64")]
pub fn find_counter() -> Counter {
    use std::arch::x86_64::__cpuid;
    const POWER: u32 = 0x8000_0007;
    const IS_INVARIANT: u32 = 1 << 8;
    let is_constant =
        { __cpuid(0x8000_0000).eax >= POWER && __cpuid(POWER).edx & IS_INVARIANT != 0 };
    if is_constant {
        Counter::ConstantCycles
    } else {
        Counter::Cycles
    }
}

/// Say what the counter is here.
#[cfg(target_arch = "aarch64")]
pub fn find_counter() -> Counter {
    Counter::Timer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_has_as_many_ticks_as_the_counter_makes_in_it() {
        let rate = find_rate();
        let (begin_ns, begin) = read_both();
        std::thread::sleep(std::time::Duration::from_millis(20));
        let (end_ns, end) = read_both();
        let ns = u128::from(end - begin) * 1_000_000_000 / u128::from(rate);
        let off = ns as f64 / (end_ns - begin_ns) as f64;
        assert!((off - 1.0).abs() < 0.01, "{off}");
    }

    #[test]
    fn nothing_takes_no_time_when_the_reading_is_taken_off() {
        find_cost();
        let least = (0..4096)
            .map(|_| {
                let begin = read();
                between(begin, read())
            })
            .min();
        assert!(least.is_some_and(|ticks| ticks <= COST.load(Relaxed)));
    }
}
