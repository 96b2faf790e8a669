"""Values in run order and what is in them, as frozen records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from datamill.analysis.distribution.boxes import BoxSummary, summarize_box
from datamill.analysis.interval import Interval
from datamill.analysis.model_data.cells import FloatArray, IntArray

#: What run order did: nothing that was detected, a steady change, or another level for a while.
Kind = Literal["none", "trend", "stretch"]
#: Trials behind each place of the running median, as a share of all.
_WINDOW_SHARE = 0.1


@dataclass(frozen=True, slots=True, eq=False)
class RunOrder:
    """Trials in the order in which they ran (n): values, design points, packages, blocks.

    `point` numbers the design points; trials of one are alike but for time. Reference trials are a
    design point of their own. `package` indexes `packages` and `block` `blocks`, which come in run order.
    """

    values: FloatArray
    point: IntArray
    package: IntArray
    reference: NDArray[np.bool_]
    block: IntArray
    packages: tuple[str, ...]
    blocks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Trend:
    """A steady change: `change` is from the first trial to the last; `p` is adjusted for both tests."""

    p: float
    change: Interval


@dataclass(frozen=True, slots=True)
class Stretch:
    """Consecutive trials, from number `first` to `last`, whose level differs most from that of the others.

    `blocks` names the block where blocks were compared, else is empty. `shift` is the median difference from
    the others; its interval takes the stretch for given although it was searched for, so that it leans
    towards large shifts. `p` is adjusted for the search and for both tests.
    """

    p: float
    first: int
    last: int
    block: str
    shift: Interval


@dataclass(frozen=True, slots=True)
class BlockBox:
    """The deviations of a block's trials, as a box and their mean, in the unit of the drift's deviations."""

    block: str
    summary: BoxSummary
    mean: float


@dataclass(frozen=True, slots=True, eq=False)
class Drift:
    """What run order does to a response.

    `order` has the trials that were used: those of design points with two or more. `deviations` (n) are
    from the mean of their design point, in percent of it with `relative`, else in the response's unit; so are
    all sizes. `imbalance` is by how much the mean places of two packages in the run differ, as a share of its
    length; `earliest` and `latest` are these packages (empty with a single one). `distortion` is the most
    that `kind` adds to the difference of two packages, since they are not spread evenly over the run.
    """

    order: RunOrder
    deviations: FloatArray
    relative: bool
    trend: Trend
    stretch: Stretch | None
    alpha: float
    confidence: float
    imbalance: float
    earliest: str
    latest: str
    method: str
    distortion: float = 0.0

    @property
    def n(self) -> int:
        """Number of trials, reference trials among them."""
        return int(self.deviations.size)

    @property
    def has_trend(self) -> bool:
        """Whether a steady change was detected."""
        return self.trend.p < self.alpha

    @property
    def has_stretch(self) -> bool:
        """Whether some consecutive trials were detected to differ from the others."""
        return self.stretch is not None and self.stretch.p < self.alpha

    @property
    def kind(self) -> Kind:
        """What was detected; of a trend and a stretch, which look alike from afar, the larger one."""
        shift = abs(self.stretch.shift.estimate) if self.stretch is not None and self.has_stretch else 0.0
        change = abs(self.trend.change.estimate) if self.has_trend else 0.0
        if self.has_stretch and shift >= change:
            return "stretch"
        return "trend" if self.has_trend else "none"

    def list_running_medians(self, most: int) -> tuple[tuple[int, float], ...]:
        """Return places in the run (from 0), at `most` of them evenly, each with the median around it.

        The median is that of the deviations of a tenth of the trials, in their unit, or of seven.
        """
        n = self.n
        half = max(3, round(_WINDOW_SHARE * n / 2))
        places = np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(np.int64))
        return tuple(
            (int(at), float(np.median(self.deviations[max(0, at - half) : at + half + 1]))) for at in places
        )

    def summarize_blocks(self) -> tuple[BlockBox, ...]:
        """Return the box of each block that has trials, in the order of the run."""
        found = []
        for code, name in enumerate(self.order.blocks):
            values = self.deviations[self.order.block == code]
            if values.size:
                found.append(BlockBox(name, summarize_box(values), float(values.mean())))
        return tuple(found)
