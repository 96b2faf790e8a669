"""The builds of all revisions that are timed, made as planned trials need them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import sqrt

from datamill.conduct.commits.checkout import FIRST, Checkout
from datamill.conduct.timing.builds import Built
from datamill.conduct.timing.question import LINK_ORDER
from datamill.design.design import PlannedTrial
from datamill.design.seeds import derive_seed
from datamill.execution.command_session import CommandSession

#: Builds by which it is seen whether they differ at all; none is measured.
PROBES = (-1, -2, -3, -4)
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


@dataclass(frozen=True, slots=True)
class ProbedBuilds:
    """What further builds showed: whether any differs, whether their order was drawn, the time of one."""

    differ: bool
    ordered: bool
    build_s: float


def probe_builds(
    session: CommandSession, checkouts: Mapping[str, Checkout], seed: int, tell: Callable[[str], None]
) -> ProbedBuilds:
    """Build each checkout again, to see whether builds differ and what one takes.

    Of few objects a drawn order may be the one that they have: it is drawn several times, if it is at all.
    A build that makes nothing that is linked, of Java or Python for example, is not made again.
    """
    longest_s, differ, ordered = 0.0, False, True
    for checkout in checkouts.values():
        if not checkout.made:
            continue
        first = checkout.builds[FIRST]
        for number in PROBES:
            tell(f"building {checkout.tree.title} again, in another order")
            again = checkout.build_again(
                session, number, derive_seed(seed, "probe", checkout.tree.name, str(number))
            )
            longest_s = max(longest_s, again.time_s)
            if again.digest != first.digest:
                differ = True
                break
            if differ or not _draws_order(again):
                break
        ordered = ordered and _draws_order(again)
    return ProbedBuilds(differ, ordered, longest_s)


def _draws_order(built: Built) -> bool:
    """Whether the build linked in the order that was drawn."""
    return any(fact.name == LINK_ORDER and fact.observed == fact.asked for fact in built.factors)


def choose_executions(execution_s: float, build_s: float) -> int:
    """Return how often a build is executed: the root of how many executions it takes as long to make as.

    That is best where builds differ as much as executions of one do. Two is the least where a build is not
    much shorter than an execution: so few builds more are needed until rare slow executions show.
    """
    if execution_s <= 0 or build_s <= 0:
        return 1
    fewest = 2 if build_s > execution_s / 2 else 1
    return max(fewest, min(_MOST_EXECUTIONS, round(sqrt(build_s / execution_s))))
