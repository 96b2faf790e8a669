"""Factors of a trial: of its build, of the process of `run.sh`, of its private world.

What the papers found is quoted as they state it; "cited" marks what they report of others.
"""

from __future__ import annotations

from datamill.experiment.factors.factor_record import Factor
from datamill.experiment.levels import Compiler, CpuList, FreeText, Name, WholeNumber

#: Bytes that the smallest padding variable takes (`P0=` and the final NUL, with a value of two).
SMALLEST_PADDING_BYTES = 6
LARGEST_PADDING_BYTES = 1 << 20
_LARGEST_SEED = (1 << 53) - 1
_LARGEST_SIZE = 1 << 50

BUILD_FACTORS = (
    Factor(
        "optimization",
        "build",
        ("-O0", "-O1", "-Os", "-O2", "-O3"),  # in the order of ICPE 2013 Figure 6
        default="",
        summary="optimisation level of the compiler, whatever the build system passes",
        cost="a build for each level",
        found="xz gains markedly from -O0 to -O1 and little beyond, bzip2 nothing (flag and flag by "
        "compressor p < 2e-16 on machine F)",
        source="ICPE 2013 §5.1; thesis 2015 §4.3.1, Table 4.2",
    ),
    Factor(
        "link_order",
        "build",
        ("default", "alphabetical", "reverse", "random"),
        default="default",
        summary="order of object files at link time, by file name; random draws one for each trial (or build "
        "of [replication])",
        cost="a build for each level; with random, one for each trial",
        found="Perlbench: significant on machines A and K (p < 2e-16), minor on machine I; page faults "
        "differ by less than 1%. xz and bzip2: p = 0.58. Cited: Perlbench by more than 8% (Mytkowicz), "
        "up to 57% (Curtsinger), within 2% (Chen)",
        source="ICPE 2013 §5.1, §5.2, Table 4; thesis 2015 §2.1.2",
        others=(WholeNumber(0, _LARGEST_SEED, "", prefix="random:"),),
        drawn=("random",),
        screening=("default", "reverse"),
    ),
    Factor(
        "pie",
        "build",
        ("off", "on"),
        default="off",
        summary="whether programs are linked as position-independent executables",
        cost="a build for each level",
        found="effects tightly around zero; with address randomisation and their interaction, all within 3% "
        "of the mean; coefficient of variation unaffected",
        source="thesis 2015 §5.3.1",
        screening=("off", "on"),
    ),
    Factor(
        "symbol_seed",
        "build",
        ("default", "random"),
        default="default",
        summary="seed of the names that gcc draws at random (-frandom-seed); random draws one for each trial "
        "(or build of [replication])",
        cost="a build for each level; with random, one for each trial",
        found="no figure; cited: random symbol names give other memory layouts and so random variation "
        "(Kalibera)",
        source="ICPE 2013 §7",
        others=(WholeNumber(0, _LARGEST_SEED, ""),),
        drawn=("random",),
        screening=("default", "1"),
    ),
    Factor(
        "compiler_flags",
        "build",
        ("none",),
        default="none",
        summary="further flags of the compiler, such as -march=native -fno-inline",
        cost="a build for each level",
        found="no figure; various GCC flags are among DataMill's factors",
        source="ICPE 2013 §4.3",
        others=(FreeText('flags, such as "-march=native -fno-inline"'),),
    ),
    Factor(
        "compiler_version",
        "build",
        (),
        default="",
        summary="the compiler that builds, of those that are installed, whatever name the build system calls",
        cost="a build for each level",
        found="no figure; compilers are among DataMill's factors, and left out of its experiments",
        source="ICPE 2013 §4.3, §8",
        others=(Compiler(),),
        listed=True,
    ),
)

PROCESS_FACTORS = (
    Factor(
        "aslr",
        "process",
        ("on", "off"),
        default="on",
        summary="address-space layout randomisation of run.sh",
        cost="nothing",
        found="27 benchmarks: mean effect 0.23% of the mean (0.42% a week later), worst 2.8% (5.94%), none "
        "significant; variation unaffected (P = 0.49). Perlbench: matters on machine K alone (P < 0.01)",
        source="thesis 2015 §5.2, Table 5.2; ICPE 2013 §5.2",
        screening=("on", "off"),
    ),
    Factor(
        "env_padding",
        "process",
        ("0", "10928"),
        default="0",
        summary="bytes added to the environment of run.sh",
        cost="nothing",
        found="mean effect 0.000032% of the mean (0.000045% a week later), largest 0.00035% (0.00031%). "
        "Cited: 57% and 300% worst cases for link order and environment size (Mytkowicz)",
        source="thesis 2015 §5.2, Table 5.2, §5.7",
        others=(WholeNumber(SMALLEST_PADDING_BYTES, LARGEST_PADDING_BYTES, "bytes", zero=True),),
        screening=("0", "10928"),
    ),
    Factor(
        "scheduler_policy",
        "process",
        ("other", "batch", "idle", "fifo", "rr"),
        default="other",
        summary="scheduling policy of run.sh",
        cost="fifo and rr: root, and a run.sh that sleeps at times",
        found="no figure for policies. Two schedulers, BFS and CFS: 4 488 µs at the 99th percentile of "
        "latency",
        source="thesis 2015 §3.4",
        screening=("other", "batch"),
    ),
    Factor(
        "niceness",
        "process",
        ("0",),
        default="0",
        summary="niceness of run.sh; lower is more urgent",
        cost="below that of the worker: root",
        found="no figure",
        others=(WholeNumber(-20, 19, ""),),
        screening=("0", "10"),
    ),
    Factor(
        "cpu_set",
        "process",
        ("all", "first", "last"),
        default="all",
        summary="processors on which run.sh may be",
        cost="nothing",
        found="no figure; profiling had its own cores, away from system processes",
        source="thesis 2019 §1.4.1",
        others=(CpuList(),),
    ),
    Factor(
        "numa_policy",
        "process",
        ("default", "interleave", "local"),
        default="default",
        summary="memory nodes from which run.sh gets memory",
        cost="nothing",
        found="no figure; cores were chosen with regard to memory nodes",
        source="thesis 2019 §1.4.1",
        others=(WholeNumber(0, 1023, "", prefix="bind:"), WholeNumber(0, 1023, "", prefix="preferred:")),
        screening=("default", "interleave"),
    ),
    Factor(
        "stack_limit",
        "process",
        ("default", "unlimited"),
        default="default",
        summary="limit of the stack (RLIMIT_STACK), which also moves mappings",
        cost="above the hard limit: root",
        found="no figure",
        others=(WholeNumber(128 << 10, _LARGEST_SIZE, "bytes"),),
        screening=("default", "unlimited"),
    ),
    Factor(
        "heap_limit",
        "process",
        ("default", "unlimited"),
        default="default",
        summary="limit of the heap (RLIMIT_DATA)",
        cost="above the hard limit: root",
        found="no figure",
        others=(WholeNumber(1 << 20, _LARGEST_SIZE, "bytes"),),
        screening=("default", "unlimited"),
    ),
    Factor(
        "user_name_length",
        "process",
        ("4",),
        default="4",
        summary="characters of the user's name in the environment of run.sh (4 is root)",
        cost="nothing",
        found="no figure; it changes the size of the environment, as env_padding does",
        others=(WholeNumber(1, 4096, "characters"),),
        screening=("4", "32"),
    ),
    Factor(
        "locale",
        "process",
        ("C.UTF-8", "C"),
        default="C.UTF-8",
        summary="language and character set of run.sh (LANG, LC_ALL)",
        cost="the locale must be installed",
        found="no figure",
        others=(Name("a locale that is installed, such as en_US.UTF-8"),),
        screening=("C.UTF-8", "C"),
    ),
    Factor(
        "allocator",
        "process",
        ("glibc", "jemalloc", "mimalloc", "tcmalloc"),
        default="glibc",
        summary="memory allocator that is put before the C library's (LD_PRELOAD)",
        cost="the library must be installed; static programs keep theirs",
        found="no figure for exchanging it; slow paths of allocators are the subject of a chapter",
        source="thesis 2019 chapter 2",
    ),
    Factor(
        "libc_tunables",
        "process",
        ("none",),
        default="none",
        summary="tunables of the C library (GLIBC_TUNABLES)",
        cost="nothing",
        found="no figure",
        others=(FreeText('tunables, such as "glibc.malloc.arena_max=1"'),),
    ),
)

WORLD_FACTORS = (
    Factor(
        "working_directory_length",
        "world",
        ("1",),
        default="1",
        summary="characters of the path of the working directory (1 is /)",
        cost="root",
        found="no figure",
        others=(WholeNumber(1, 4000, "characters"),),
        screening=("1", "100"),
    ),
    Factor(
        "root_filesystem",
        "world",
        ("memory", "tmpfs", "ext4", "xfs", "btrfs"),
        default="memory",
        summary="file system that takes what the trial writes",
        cost="root; ext4, xfs and btrfs: an image is made in each trial, with that file system's mkfs",
        found="no figure for time; ext3 reported files 20 kB (0.1%) larger than ext4",
        source="thesis 2015 §4.2.3, §4.3.1",
        screening=("memory", "tmpfs"),
    ),
    Factor(
        "drop_caches",
        "world",
        ("none", "page", "inode", "all"),
        default="none",
        summary="caches of the kernel that are dropped just before run.sh",
        cost="root; the whole machine reads its files again",
        found="no figure; dropped before every trial",
        source="thesis 2015 §4.2.3; thesis 2019 §1.4.1, §2.2",
    ),
    Factor(
        "cache_preload",
        "world",
        ("off", "on", "locked"),
        default="off",
        summary="whether the package's files are read into the page cache before run.sh, and stay there",
        cost="reading the package once a trial; locked: root or a limit of locked memory above its size",
        found="no figure; used where benchmarks read their data from disk",
        source="thesis 2019 §1.4.1",
        screening=("off", "on"),
    ),
    Factor(
        "warmups",
        "world",
        ("0",),
        default="0",
        summary="executions of run.sh before the measured one",
        cost="the time of run.sh, once each",
        found="narrowly around zero: all effects within 3% of the mean, for Calculix, GCC and Wrf",
        source="thesis 2015 §5.4.1",
        others=(WholeNumber(0, 1000, ""),),
    ),
    Factor(
        "background_load",
        "world",
        ("none",),
        default="none",
        summary="package of the experiment ([[load]]) that runs beside run.sh",
        cost="whatever it takes from run.sh",
        found="encoding against compiling: 12.0 s (95% interval 11.4 to 12.6) in end-to-end times; nothing "
        "shown at the 99th percentile of latency (52.9 µs, p = 0.825). Effects are halves of the difference",
        source="thesis 2015 Tables 3.3 and 3.4",
        others=(Name("the name of a [[load]]"),),
    ),
    Factor(
        "session",
        "world",
        ("same", "different"),
        default="same",
        summary="whether the background load shares the session of run.sh; autogroup groups by session",
        cost="a background load",
        found="ab in Apache's terminal, under CFS: mean the same (P > 0.05), best time 1.37 s shorter, worst "
        "0.33 s longer; ratio of variances about 0.2",
        source="ASPLOS 2013 §7; thesis 2015 §3.5",
    ),
    Factor(
        "reboot",
        "world",
        ("none", "before_trial"),
        default="none",
        summary="whether the machine is rebooted before each trial",
        cost="a reboot each trial, on a machine of a fleet",
        found="all effects within 3% of the mean, P > 0.05 for 78% of the estimates; machine 125 stands out, "
        "and on machine 81 variation is less. Iperf: about 10% faster in 2 of 72 boots",
        source="thesis 2015 §5.4.1; ICPE 2013 §2, Figure 1",
    ),
)
