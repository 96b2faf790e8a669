"""The strategies by the names under which they are typed."""

from __future__ import annotations

from datamill.experiment.errors import InputError
from datamill.experiment.messages.suggestions import suggest_name
from datamill.platforms.ensemble.members import MEMBERS
from datamill.platforms.methods.shared_covariance import share_covariance
from datamill.platforms.strategies.from_methods import Ensemble, OneMethod
from datamill.platforms.strategies.linear.adjusted_r2 import AdjustedR2
from datamill.platforms.strategies.linear.best_single import BestSingle
from datamill.platforms.strategies.linear.clock import ProcessorClock
from datamill.platforms.strategies.linear.clusters import Clusters
from datamill.platforms.strategies.linear.geometric_mean import GeometricMean
from datamill.platforms.strategies.linear.mallows_cp import MallowsCp
from datamill.platforms.strategies.linear.one_at_a_time import OneAtATime
from datamill.platforms.strategies.strategy import Strategy

#: All of them, in the order in which they are listed. A new one is a line here.
_ALL: tuple[Strategy, ...] = (
    ProcessorClock(),
    BestSingle(),
    GeometricMean(),
    Clusters(),
    AdjustedR2(),
    MallowsCp(),
    OneAtATime("forward", "forward", "forward selection by Mallows' Cp"),
    OneAtATime("backward", "backward", "backward selection by Mallows' Cp"),
    Ensemble(),
    *(OneMethod(name.replace(" ", "-").replace(",", ""), name, method) for name, method in MEMBERS.items()),
    OneMethod("low-rank", "low-rank factors", share_covariance(1.0, 1.0, rank=3)),
)
STRATEGIES = {strategy.name: strategy for strategy in _ALL}


def find_strategy(name: str) -> Strategy:
    """The strategy of this name.

    Raises:
        InputError: there is none; names the nearest one.
    """
    if name not in STRATEGIES:
        raise InputError(f'there is no strategy "{name}"', remedy=suggest_name(name, STRATEGIES))
    return STRATEGIES[name]
