//! What is known of each chain of return addresses.

use std::cell::UnsafeCell;

use super::chain::{MOST_LEVELS, find_step};
use crate::ledger::mix;
use crate::python::objects::Kind;

const ROOM: usize = 1 << 13;
/// Answers of one kind that make a chain trusted.
const ENOUGH_POSITIVES: u16 = 3;
const ENOUGH_NEGATIVES: u16 = 4;
/// Callers that must be known before a chain counts as one that serves no dictionary: one function makes their tables
/// for many others.
const NEGATIVE_LEVEL: u8 = 2;
/// A trusted chain is asked again after so many calls, then after twice as many, and so on.
const ASK_AGAIN: u32 = 1024;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Learning,
    /// Serves containers.
    Is,
    /// Serves none.
    Not,
    /// Serves both: its caller will decide, once it is found out where that is.
    Mixed,
    /// Serves both: its caller decides.
    Deeper,
    /// Serves both, and its callers cannot be told apart.
    Asked,
}

#[derive(Clone, Copy)]
#[repr(C)]
struct Entry {
    key: u64,
    state: State,
    level: u8,
    negative_level: u8,
    positives: u16,
    negatives: u16,
    /// Of the negatives those that were no tables at all.
    strangers: u16,
    /// To the return address of the caller.
    step: u32,
    calls: u32,
}

const EMPTY: Entry = Entry {
    key: 0,
    state: State::Learning,
    level: 0,
    negative_level: 0,
    positives: 0,
    negatives: 0,
    strangers: 0,
    step: 0,
    calls: 0,
};

struct Table(UnsafeCell<([Entry; ROOM], usize)>);

// Used under the lock of the slow path only.
unsafe impl Sync for Table {}

static TABLE: Table = Table(UnsafeCell::new(([EMPTY; ROOM], 0)));

/// A chain that is being asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Site(u16);

/// What is known of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It serves the table of a container.
    Is,
    /// It does not.
    Not,
    /// It must be looked at; what is found is told with [`learn`].
    Ask(Option<Site>),
}

/// What was found of a call that was looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// A container that had another table has this block now.
    Grown,
    /// A container that had no table of its own has this block now: a first table, or one that grew from nothing.
    FromNothing,
    /// No container has it.
    Other,
    /// No container can have it: it is not written as such a table is.
    Stranger,
    /// A container has another table since, which may have been this one for a while.
    Unclear,
}

/// Callers that a verdict may depend on.
const REMEMBERED: usize = 2;

/// A verdict that holds for so many calls more from the same place, with those of its callers where one is not enough.
#[derive(Clone, Copy)]
struct Verdicts {
    address: u64,
    /// Return addresses of its callers, and how far each is from the call's own; 0 where it does not matter.
    callers: [u64; REMEMBERED],
    steps: [u32; REMEMBERED],
    left: u32,
    /// Whose calls those are.
    site: Site,
    kind: u8,
    serves: bool,
}

const NO_VERDICT: Verdicts = Verdicts {
    address: 0,
    callers: [0; REMEMBERED],
    steps: [0; REMEMBERED],
    left: 0,
    site: Site(0),
    kind: 0,
    serves: false,
};
const VERDICTS: usize = 256;

/// The return address of a caller; 0 where it does not matter.
#[inline(always)]
fn read_caller(at: u64, step: u32) -> u64 {
    if step == 0 {
        0
    } else {
        unsafe { *((at + u64::from(step)) as *const u64) }
    }
}

struct Known(UnsafeCell<[Verdicts; VERDICTS]>);

// Used under the lock of the slow path only.
unsafe impl Sync for Known {}

static KNOWN: Known = Known(UnsafeCell::new([NO_VERDICT; VERDICTS]));

/// Where a verdict about calls from an address is: callers of one function have places of their own.
///
/// All bits count: two functions that lie equally in their pages would take turns in one place.
#[inline(always)]
fn find_verdict(address: u64, caller: u64) -> &'static mut Verdicts {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let known = unsafe { &mut *KNOWN.0.get() };
    let mixed = (address ^ caller.rotate_left(32)).wrapping_mul(ODD);
    &mut known[(mixed >> (64 - VERDICTS.trailing_zeros())) as usize]
}

/// Say whether a call whose return address is at `at` on the stack serves a container's table, where that is remembered.
#[inline(always)]
pub fn recall(kind: Kind, at: u64) -> Option<bool> {
    let address = unsafe { *(at as *const u64) };
    let alone = find_verdict(address, 0);
    let known = if alone.address == address && alone.steps[0] > 0 {
        find_verdict(address, read_caller(at, alone.steps[0]))
    } else {
        alone
    };
    let [step, further] = known.steps;
    let has_its_callers = step == 0
        || (known.callers[0] == read_caller(at, step)
            && (further == 0 || known.callers[1] == read_caller(at, further)));
    if known.address == address && known.kind == kind as u8 && known.left > 0 && has_its_callers {
        known.left -= 1;
        return Some(known.serves);
    }
    None
}

/// Say what is known of a call whose return address is at `at` on the stack.
#[inline(always)]
pub fn classify(kind: Kind, at: u64) -> Verdict {
    classify_by(kind, at, find_step)
}

/// The same; `find_step` is what finds a caller's caller.
#[inline(always)]
fn classify_by(kind: Kind, at: u64, find_step: fn(u64, usize) -> u32) -> Verdict {
    match recall(kind, at) {
        Some(true) => Verdict::Is,
        Some(false) => Verdict::Not,
        None => classify_slowly(kind, at, find_step),
    }
}

/// Keep a verdict until its chain is to be asked again; calls until then are taken as made.
fn keep_verdict(
    kind: Kind,
    at: u64,
    steps: [u32; REMEMBERED],
    site: Site,
    entries: &mut [Entry; ROOM],
) {
    let address = unsafe { *(at as *const u64) };
    let entry = &mut entries[usize::from(site.0)];
    let due = entry.calls.max(ASK_AGAIN - 1).saturating_add(1);
    let left = due
        .checked_next_power_of_two()
        .map_or(0, |due| due - entry.calls - 1);
    if left == 0 {
        return;
    }
    entry.calls += left;
    let verdict = Verdicts {
        address,
        callers: steps.map(|step| read_caller(at, step)),
        steps,
        left,
        site,
        kind: kind as u8,
        serves: entry.state == State::Is,
    };
    replace_verdict(find_verdict(address, verdict.callers[0]), verdict, entries);
    if steps[0] > 0 {
        let alone = find_verdict(address, 0);
        if alone.address != address || alone.steps[0] != steps[0] {
            // Leads to those of its callers.
            replace_verdict(alone, Verdicts { left: 0, ..verdict }, entries);
        }
    }
}

/// Put a verdict in the place of another, whose chain gets back the calls that were not made: it would not be asked again
/// in time, and never after some twenty verdicts.
fn replace_verdict(place: &mut Verdicts, verdict: Verdicts, entries: &mut [Entry; ROOM]) {
    entries[usize::from(place.site.0)].calls -= place.left;
    *place = verdict;
}

/// Forget what is remembered of a chain: no other verdict depends on it.
fn forget_verdicts(site: Site, entries: &mut [Entry; ROOM]) {
    for place in unsafe { &mut *KNOWN.0.get() } {
        if place.site == site {
            replace_verdict(place, NO_VERDICT, entries);
        }
    }
}

#[inline(never)]
fn classify_slowly(kind: Kind, at: u64, find_step: fn(u64, usize) -> u32) -> Verdict {
    let (entries, used) = unsafe { &mut *TABLE.0.get() };
    let (first, mut steps) = (at, [0; REMEMBERED]);
    let mut at = at;
    let mut key = kind as u64 + 1;
    for level in 0..MOST_LEVELS as u8 {
        key = mix(key, unsafe { *(at as *const u64) }) | 1;
        let Some(index) = find(entries, used, key, level, kind) else {
            return Verdict::Ask(None);
        };
        let entry = &mut entries[index];
        entry.calls = entry.calls.wrapping_add(1);
        let is_due = entry.calls >= ASK_AGAIN && entry.calls.is_power_of_two();
        let site = Some(Site(index as u16));
        match entry.state {
            State::Learning | State::Asked => return Verdict::Ask(site),
            State::Is | State::Not if is_due => return Verdict::Ask(site),
            State::Is | State::Not => {
                let serves = entry.state == State::Is;
                // What depends on callers further out is looked up each time.
                if usize::from(level) <= REMEMBERED {
                    keep_verdict(kind, first, steps, Site(index as u16), entries);
                }
                return if serves { Verdict::Is } else { Verdict::Not };
            }
            State::Mixed => {
                entry.step = find_step(first, usize::from(level));
                if entry.step == 0 {
                    entry.state = State::Asked;
                    return Verdict::Ask(site);
                }
                entry.state = State::Deeper;
            }
            State::Deeper => {}
        }
        at += u64::from(entry.step);
        if let Some(step) = steps.get_mut(usize::from(level)) {
            *step = (at - first) as u32;
        }
    }
    Verdict::Ask(None)
}

fn find(
    entries: &mut [Entry; ROOM],
    used: &mut usize,
    key: u64,
    level: u8,
    kind: Kind,
) -> Option<usize> {
    let begin = (key >> 20) as usize;
    for step in 0..ROOM {
        let index = begin.wrapping_add(step) % ROOM;
        if entries[index].key == key {
            return Some(index);
        }
        if entries[index].key == 0 {
            if *used >= ROOM * 3 / 4 {
                return None;
            }
            *used += 1;
            let negative_level = if kind == Kind::Dict {
                NEGATIVE_LEVEL
            } else {
                0
            };
            entries[index] = Entry {
                key,
                level,
                negative_level,
                ..EMPTY
            };
            return Some(index);
        }
    }
    None
}

/// Take in what was found of a call, and say whether it is to be counted.
///
/// Args: `strict` makes a first table speak against a chain, as when known operations are carried out to learn from.
pub fn learn(site: Option<Site>, answer: Answer, strict: bool) -> bool {
    let Some(Site(index)) = site else {
        return answer == Answer::Grown;
    };
    let (entries, _) = unsafe { &mut *TABLE.0.get() };
    let entry = &mut entries[usize::from(index)];
    let was = entry.state;
    match answer {
        Answer::Grown => entry.positives = entry.positives.saturating_add(1),
        // A function that lets tables grow also makes first ones, from the same place.
        Answer::FromNothing if !strict && entry.positives > 0 => {}
        Answer::Unclear => {}
        Answer::FromNothing | Answer::Other => entry.negatives = entry.negatives.saturating_add(1),
        Answer::Stranger => {
            entry.negatives = entry.negatives.saturating_add(1);
            entry.strangers = entry.strangers.saturating_add(1);
        }
    }
    let is_mixed = entry.positives > 0 && entry.negatives > 0;
    let is_unlike_all = entry.positives == 0 && entry.negatives >= ENOUGH_NEGATIVES;
    // What makes no tables makes none for anybody.
    let depends_on_callers =
        entry.level < entry.negative_level && entry.strangers < entry.negatives;
    entry.state = match was {
        State::Mixed | State::Deeper | State::Asked => was,
        _ if is_mixed || (is_unlike_all && depends_on_callers) => {
            let is_last = usize::from(entry.level) + 1 == MOST_LEVELS;
            if is_last { State::Asked } else { State::Mixed }
        }
        _ if is_unlike_all => State::Not,
        _ if entry.positives >= ENOUGH_POSITIVES => State::Is,
        _ => was,
    };
    if entry.state != was && matches!(was, State::Is | State::Not) {
        forget_verdicts(Site(index), entries);
    }
    let is_none = matches!(answer, Answer::Other | Answer::Stranger);
    answer == Answer::Grown || (was == State::Is && !is_none)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(kind: Kind, stack: &[u64; 16]) -> Verdict {
        classify_by(kind, stack.as_ptr() as u64, |_, _| 16)
    }

    fn stack(addresses: &[u64]) -> [u64; 16] {
        let mut words = [0; 16];
        for (level, address) in addresses.iter().enumerate() {
            words[level * 2] = *address;
        }
        words
    }

    fn answer(kind: Kind, stack: &[u64; 16], answer: Answer) -> bool {
        let Verdict::Ask(site) = ask(kind, stack) else {
            panic!("not asked")
        };
        learn(site, answer, false)
    }

    // One test: the table is the process's.
    #[test]
    fn chains_are_trusted_after_three_equal_answers_and_told_apart_where_they_differ() {
        let growing = stack(&[0x1000, 0x2000]);
        for _ in 0..3 {
            assert!(answer(Kind::Set, &growing, Answer::Grown));
        }
        assert_eq!(ask(Kind::Set, &growing), Verdict::Is);

        // One function makes tables for two others.
        let (resize, create) = (
            stack(&[0x5000, 0x6000, 0x7000]),
            stack(&[0x5000, 0x6500, 0x7000]),
        );
        assert!(answer(Kind::Dict, &resize, Answer::Grown));
        assert!(!answer(Kind::Dict, &create, Answer::Other));
        for _ in 0..3 {
            assert!(answer(Kind::Dict, &resize, Answer::Grown));
        }
        assert_eq!(ask(Kind::Dict, &resize), Verdict::Is);
        // Trusted not to serve a container only with two callers known.
        for _ in 0..4 {
            assert!(!answer(Kind::Dict, &create, Answer::Other));
        }
        assert_ne!(ask(Kind::Dict, &create), Verdict::Not);
        for _ in 0..4 {
            assert!(!answer(Kind::Dict, &create, Answer::FromNothing));
        }
        assert_eq!(ask(Kind::Dict, &create), Verdict::Not);
        // Remembered for these callers, not for another further out.
        let recalled = |stack: &[u64; 16]| recall(Kind::Dict, stack.as_ptr() as u64);
        assert_eq!(recalled(&create), Some(false));
        assert_eq!(recalled(&stack(&[0x5000, 0x6500, 0x7700])), None);

        // A block that does not look like a table is never counted, for any caller.
        let other = stack(&[0x8000, 0x6000, 0x7000]);
        for _ in 0..4 {
            assert!(!answer(Kind::Dict, &other, Answer::Stranger));
        }
        assert_eq!(ask(Kind::Dict, &other), Verdict::Not);
        let elsewhere = stack(&[0x8000, 0x6500, 0x7700]);
        assert_eq!(ask(Kind::Dict, &elsewhere), Verdict::Not);

        // What is trusted is asked again, and the answer counts.
        let asked = (0..4 * ASK_AGAIN)
            .filter(|_| ask(Kind::Set, &growing) != Verdict::Is)
            .count();
        assert_eq!(asked, 3);

        // However often others take the place of what is remembered of it.
        let mut displaced = 0;
        for number in 0..4 * VERDICTS as u64 {
            assert_eq!(ask(Kind::Set, &growing), Verdict::Is);
            let other = stack(&[0x10_0000 + number * 0x100, 0x2000]);
            for _ in 0..3 {
                assert!(answer(Kind::Set, &other, Answer::Grown));
            }
            assert_eq!(ask(Kind::Set, &other), Verdict::Is);
            displaced += u32::from(recall(Kind::Set, growing.as_ptr() as u64).is_none());
        }
        assert!(displaced > 0);
        ask(Kind::Set, &growing);
        let recalled = recall(Kind::Set, growing.as_ptr() as u64);
        assert_eq!(recalled, Some(true));
    }
}
