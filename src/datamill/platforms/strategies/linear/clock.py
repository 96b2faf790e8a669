"""The processor's clock alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from datamill.experiment.errors import InputError
from datamill.platforms.strategies.linear.linear_strategy import LinearStrategy, Predictors, use_column
from datamill.platforms.strategies.many_tasks import ManyTasks

#: The fact that holds the clock, in MHz.
CLOCK = "clock_mhz"


@dataclass(frozen=True, slots=True)
class ProcessorClock(LinearStrategy):
    """Seconds by the clock in MHz: a purposely naive model (thesis 2015, Figure 7.2a)."""

    name: str = "clock"
    title: str = "processor clock"

    def choose(self, tasks: ManyTasks) -> Predictors:
        """The clock; sets with a machine whose clock is unknown predict nothing.

        Raises:
            InputError: nothing is known of clocks.
        """
        if CLOCK not in tasks.facts:
            raise InputError(
                "no clock of any machine is known",
                remedy=f"Give a column {CLOCK} of the machines, or leave the strategy clock out.",
            )
        return use_column(tasks, tasks.facts[CLOCK], np.zeros(tasks.suite.shape[1]))
