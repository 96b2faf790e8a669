"""Measurements within executions within builds."""

from __future__ import annotations

from dataclasses import dataclass, replace

from datamill.analysis.model_data.cells import FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class NestedValues:
    """All measurements of one version, nested in executions, which are nested in builds.

    `values` (N) hold executions one after the other, each in the order of its measurements;
    execution e is `values[executions[e]:executions[e + 1]]`, and build k has the executions from
    `builds[k]` up to `builds[k + 1]`: `executions` (E + 1) and `builds` (B + 1) are offsets.
    `build_names` (B) say which builds are those of another version; without names none is.
    """

    version: str
    response: str
    unit: str
    values: FloatArray
    executions: IntArray
    builds: IntArray
    build_names: tuple[str, ...] = ()

    def pool_builds(self) -> NestedValues:
        """The same with all executions in one build: for builds that are one and the same."""
        return replace(self, builds=self.builds[[0, -1]], build_names=self.build_names[:1])

    @property
    def build_count(self) -> int:
        """Number of builds, l in EPEW 2006."""
        return len(self.builds) - 1

    @property
    def execution_count(self) -> int:
        """Number of executions over all builds."""
        return len(self.executions) - 1

    @property
    def balanced(self) -> bool:
        """Whether all builds have as many executions, and all executions as many measurements."""
        return len({*(self.builds[1:] - self.builds[:-1]).tolist()}) == 1 and (
            len({*(self.executions[1:] - self.executions[:-1]).tolist()}) == 1
        )
