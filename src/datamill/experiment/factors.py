"""The factors that datamill can set, with the levels that it offers."""

from __future__ import annotations

from dataclasses import dataclass

#: Bytes that the smallest padding variable takes (`P0=` and the final NUL, with a value of two).
SMALLEST_PADDING_BYTES = 6
LARGEST_PADDING_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Factor:
    """A factor that datamill sets.

    `levels` are all available ones, in their meaningful order; `build` says that a level is
    set while the package is built; `counts` says that any whole number in range is a level.
    """

    name: str
    levels: tuple[str, ...]
    build: bool
    counts: bool
    summary: str


#: Levels of `optimization` stand in the order of ICPE 2013 Figure 6.
FACTORS: dict[str, Factor] = {
    factor.name: factor
    for factor in (
        Factor(
            "optimization",
            ("-O0", "-O1", "-Os", "-O2", "-O3"),
            build=True,
            counts=False,
            summary="optimisation level of the compiler, whatever the build system passes",
        ),
        Factor(
            "link_order",
            ("default", "alphabetical", "reverse"),
            build=True,
            counts=False,
            summary="order of object files at link time, by file name",
        ),
        Factor(
            "aslr",
            ("on", "off"),
            build=False,
            counts=False,
            summary="address-space layout randomisation of run.sh",
        ),
        Factor(
            "env_padding",
            ("0", "10928"),
            build=False,
            counts=True,
            summary="bytes added to the environment of run.sh",
        ),
    )
}
