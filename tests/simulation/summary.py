"""What a simulation of many seeds prints."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator

from simulation.results import SeedResult

#: Failing seeds that are told in full.
MOST_TOLD = 5


class Summary:
    """Sums over seeds, in whatever order they end."""

    def __init__(self) -> None:
        self._digests: dict[int, str] = {}
        self._sums: Counter[str] = Counter()
        self._faults: Counter[str] = Counter()
        self._longest = SeedResult(0)
        self.failed: list[SeedResult] = []

    def add(self, result: SeedResult) -> None:
        self._digests[result.seed] = result.digest
        for name in (
            "steps",
            "workers",
            "experiments",
            "trials",
            "counted",
            "attempts",
            "executions",
            "events",
        ):
            self._sums[name] += getattr(result, name)
        self._faults.update(result.faults)
        if result.virtual_s > self._longest.virtual_s:
            self._longest = result
        if result.violations:
            self.failed.append(result)

    def list_lines(self, seconds: float, jobs: int) -> Iterator[str]:
        """Yield the lines of the summary."""
        sums = self._sums
        seeds = len(self._digests)
        yield f"{seeds} seeds in {seconds:.0f} s, {jobs} at a time"
        yield (
            f"  {sums['workers']:,} workers, {sums['experiments']:,} experiments, {sums['trials']:,} trials, "
            f"of which {sums['counted']:,} counted"
        )
        yield (
            f"  {sums['attempts']:,} attempts, {sums['executions']:,} executions, "
            f"{sums['events']:,} events told, {sums['steps']:,} steps"
        )
        if seeds:
            yield (
                f"  longest virtual time {self._longest.virtual_s / 3600:.1f} h (seed {self._longest.seed})"
            )
        yield f"  {sum(self._faults.values()):,} faults:"
        for kind, count in sorted(self._faults.items(), key=lambda item: (-item[1], item[0])):
            yield f"    {count:>8,}  {kind.replace('_', ' ')}"
        everything = "".join(f"{seed} {digest}\n" for seed, digest in sorted(self._digests.items()))
        yield f"  digest of all traces: {hashlib.sha256(everything.encode()).hexdigest()[:32]}"
        violations = sum(len(result.violations) for result in self.failed)
        yield f"  {violations} violations" + (f" in {len(self.failed)} seeds" if self.failed else "")


def list_failure(result: SeedResult, plant: str = "") -> Iterator[str]:
    """Yield what a failing seed's reader needs, the command that replays it last."""
    yield f"seed {result.seed} failed at step {result.steps} ({result.digest}); before that:"
    for line in result.latest:
        yield f"    {line}"
    for violation in result.violations:
        yield f"  violation: {violation}"
    option = f" --plant {plant}" if plant else ""
    yield f"  replay: PYTHONPATH=tests python -m simulation --replay {result.seed} --trace{option}"
