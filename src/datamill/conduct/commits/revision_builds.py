"""The builds of all revisions that are timed, made as planned trials need them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import ceil

from datamill.conduct.commits.checkout import Checkout
from datamill.conduct.timing.builds import BuildPlan, Built
from datamill.conduct.timing.question import LINK_ORDER
from datamill.design.design import PlannedTrial
from datamill.execution.command_session import CommandSession

#: The build by which it is seen whether builds differ at all; it is not measured.
PROBE = -1
#: Executions of a build at most: more tell nothing of the next build.
_MOST_EXECUTIONS = 20


class RevisionBuilds:
    """Makes numbered builds of each checkout, and puts them in their places.

    Args:
        session: runs the build commands.
        checkouts: by the name of their package.
        tell: hears what is being built.
    """

    def __init__(
        self, session: CommandSession, checkouts: Mapping[str, Checkout], tell: Callable[[str], None]
    ) -> None:
        self._session, self._checkouts, self._tell = session, checkouts, tell

    def make(self, trials: tuple[PlannedTrial, ...]) -> None:
        """Make the builds of a batch; those of the batch before are not needed any more."""
        wanted = {(trial.package, trial.build): trial.build_seed or trial.seed for trial in trials}
        for (package, number), seed in sorted(wanted.items()):
            checkout = self._checkouts[package]
            for old in [made for made in checkout.builds if made > 0 and (package, made) not in wanted]:
                checkout.forget(old)
            self._tell(f"building {checkout.tree.title} again ({number})")
            checkout.build_again(self._session, number, seed)

    def put(self, trial: PlannedTrial) -> Built:
        """Put the build that a trial executes in its place."""
        checkout = self._checkouts[trial.package]
        checkout.put(trial.build)
        return checkout.builds[trial.build]


def plan_builds(
    session: CommandSession, checkouts: Mapping[str, Checkout], seed: int, execution_s: float
) -> BuildPlan | None:
    """Return how often each revision is built and executed; None where its builds are all alike.

    One more build of each shows whether builds differ and what one takes. A build is executed about as long
    as it took to make: either costs as much as the other then.
    """
    longest_s, differ, ordered = 0.0, False, True
    for checkout in checkouts.values():
        first = checkout.builds[0]
        again = checkout.build_again(session, PROBE, seed)
        differ = differ or again.digest != first.digest
        longest_s = max(longest_s, again.time_s)
        ordered = ordered and any(
            fact.name == LINK_ORDER and fact.observed == fact.asked for fact in again.factors
        )
    if not differ:
        return None
    executions = ceil(longest_s / execution_s) if execution_s > 0 else _MOST_EXECUTIONS
    return BuildPlan(max(1, min(_MOST_EXECUTIONS, executions)), ordered)
