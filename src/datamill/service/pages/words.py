"""Words that pages explain, in the sense of `docs/glossary.md`, for readers who know no statistics."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Word:
    """A word and what it means here; `short` fits in a line, `more` says why it matters."""

    key: str
    title: str
    short: str
    more: str = ""


WORDS = (
    Word(
        "experiment",
        "experiment",
        "A question about performance, with everything that was fixed before there were data.",
        "Which packages, under which conditions, how often, and what is measured. It does not change once it "
        "was submitted; to change something, fork it.",
    ),
    Word(
        "package",
        "package",
        "What is measured: a .tar.gz with run.sh, maybe collect.sh, and whatever they need.",
        "An optional setup.sh builds it. run.sh is measured from its start to its end; collect.sh gathers "
        "results afterwards.",
    ),
    Word(
        "factor",
        "factor, dimension",
        "A condition that may change the result, such as the processor or the compiler's optimisation.",
        "Hardware dimensions are given by the machines; software factors are set by datamill for each trial.",
    ),
    Word(
        "level",
        "level",
        "One setting of a factor, such as -O2.",
    ),
    Word(
        "coverage",
        "coverage",
        "The share of all available levels that your experiment must contain.",
        "100% takes every level, 50% at least half of them, chosen at random. 0% takes a single one at "
        "random. What you do not include is left as each machine has it.",
    ),
    Word(
        "trial",
        "trial",
        "One execution of one package under known conditions on one machine.",
        "The number of trials is packages × combinations of levels × replicates × machines, so it "
        "grows quickly with each further factor.",
    ),
    Word(
        "attempt",
        "attempt",
        "One try at a trial.",
        "When a machine fails, the trial is attempted again; only one attempt of a trial ever counts. A "
        "package that fails by itself is an answer, and is not attempted again.",
    ),
    Word(
        "replicates",
        "replicates",
        "How often everything is repeated, independently.",
        "Two executions never take quite the same time. Repetition shows how much is chance; with one "
        "replicate nobody can tell a difference from noise. Five is a good start.",
    ),
    Word(
        "response",
        "response",
        "What is measured, such as the time that run.sh takes.",
        "A package may report its own metrics; formulas turn them into responses.",
    ),
    Word(
        "block",
        "block",
        "Trials that share a condition which may shift them all, such as a machine or one of its boots.",
        "Differences are taken within blocks, so that a slow day or a slow machine does not look like a "
        "slow program.",
    ),
    Word(
        "debug",
        "debug trial",
        "One trial of each package on each architecture that goes first, with its output shown live.",
        "It finds mistakes in a package in minutes, before the expensive rest begins. Its times are not "
        "part of the results.",
    ),
    Word(
        "reboot",
        "reboot",
        "Restarting a machine before it measures, so that no trial inherits anything from the one before.",
        "Before each trial is the cleanest and takes minutes a trial; before each block of trials costs "
        "less; never is the fastest.",
    ),
    Word(
        "redundancy",
        "spare machines",
        "Machines that stand by: they take over trials when a chosen machine is lost.",
    ),
    Word(
        "worker",
        "worker",
        "A machine of the fleet, and the program on it that makes trials: one at a time.",
        "A drained worker finishes what it has and gets nothing new. A silent one missed a deadline and has "
        "not been heard of since.",
    ),
    Word(
        "quarantine",
        "quarantine",
        "A package under which several machines went down is not handed out any more.",
    ),
    Word(
        "bundle",
        "bundle",
        "The folder with an experiment and everything it produced.",
        "It has the same form as one that was made on your own machine: datamill report and datamill "
        "analyze work on it.",
    ),
)
MEANINGS = {word.key: word for word in WORDS}
#: Built-in responses in plain words, in the order in which they are offered.
RESPONSE_WORDS: dict[str, str] = {
    "wall_time_s": "time from start to end",
    "user_time_s": "processor time in the program itself",
    "system_time_s": "processor time in the kernel",
    "peak_memory_bytes": "most memory in use",
    "minor_faults": "page faults served from memory",
    "major_faults": "page faults that waited for a disk",
    "voluntary_switches": "times that it waited for something",
    "involuntary_switches": "times that it was interrupted by others",
    "cycles": "processor cycles",
    "instructions": "instructions",
    "cache_references": "accesses to the last cache",
    "cache_misses": "misses of the last cache",
    "branches": "branches",
    "branch_misses": "branches guessed wrongly",
    "context_switches": "switches between programs",
    "cpu_migrations": "moves to another processor",
    "page_faults": "all page faults",
    "task_clock_ns": "processor time, by the kernel's counter",
}
