"""Packages that a user may see, by name: their versions, and which experiments used them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db.models import Exists, Max, OuterRef, Q, QuerySet

from datamill.service.accounts import NotFoundError, is_admin, list_visible_experiments
from datamill.service.coordinator.leasing.quarantines import list_quarantined
from datamill.service.files.disk import is_sha256
from datamill.service.files.rights import may_user_read
from datamill.service.files.store import name_holder
from datamill.service.models import ExperimentFile, FileHolder, StoredFile, TrialCount
from datamill.service.states import ENDED_EXPERIMENTS, TrialPurpose, TrialState

#: Versions of one name, and experiments of one package, that pages show.
MOST_SHOWN = 50
#: Kinds of files that are packages: a load is one that runs beside another.
PACKAGE_KINDS = ("package", "load")


@dataclass(frozen=True, slots=True)
class PackageUse:
    """An experiment that was submitted with a package; `name` is what it calls the package."""

    experiment: int
    title: str
    owner: str
    state: str
    submitted_unix_s: float
    name: str


@dataclass(frozen=True, slots=True)
class ShownPackage:
    """A package of the store: one version of a name.

    `users` submitted experiments with it that the viewer may see, `uses` of them, the latest at
    `used_unix_s`, None where there is no such experiment; `barred` says why it is in quarantine, if it is.
    """

    sha256: str
    name: str
    size_bytes: int
    stored_unix_s: float
    owner: str
    users: tuple[str, ...]
    uses: int
    used_unix_s: float | None
    barred: str


@dataclass(frozen=True, slots=True)
class PackageName:
    """All versions of a name that a user may see, the latest first; `more` of them are not shown."""

    name: str
    versions: tuple[ShownPackage, ...]
    more: int


def list_visible_packages(user: User) -> QuerySet[StoredFile]:
    """Return the packages that a user brought or that experiments have which the user may see."""
    packages = StoredFile.objects.filter(kind__in=PACKAGE_KINDS, removed_unix_s=None)
    if is_admin(user):
        return packages
    used = ExperimentFile.objects.filter(
        sha256=OuterRef("pk"), experiment__in=list_visible_experiments(user).values("pk")
    )
    held = FileHolder.objects.filter(file=OuterRef("pk"), holder=name_holder(user))
    return packages.filter(Q(owner=user) | Exists(held) | Exists(used))


def list_own_packages(user: User) -> QuerySet[StoredFile]:
    """Return the packages that a user brought."""
    held = FileHolder.objects.filter(file=OuterRef("pk"), holder=name_holder(user))
    packages = StoredFile.objects.filter(kind__in=PACKAGE_KINDS, removed_unix_s=None)
    return packages.filter(Q(owner=user) | Exists(held))


def find_package(user: User, sha256: str) -> StoredFile:
    """Return a package that a user may read.

    Raises:
        NotFoundError: there is none of that digest, or the user may not read it.
    """
    found = None
    if is_sha256(sha256) and may_user_read(user, sha256):
        packages = StoredFile.objects.filter(pk=sha256, kind__in=PACKAGE_KINDS)
        found = packages.select_related("owner").first()
    if found is None:
        raise NotFoundError("there is no such package that you may see")
    return found


def search_packages(user: User, found: QuerySet[StoredFile], words: Sequence[str]) -> QuerySet[StoredFile]:
    """Return the packages that have all words in name, owner or digest.

    A name that an experiment gives a package counts, where the user may see the experiment.
    """
    visible = list_visible_experiments(user).values("pk")
    for word in words:
        called = ExperimentFile.objects.filter(
            sha256=OuterRef("pk"), name__icontains=word, experiment__in=visible
        )
        matching = Q(name__icontains=word) | Q(owner__username__iexact=word) | Q(pk__startswith=word.lower())
        found = found.filter(matching | Exists(called))
    return found


def order_names(found: QuerySet[StoredFile]) -> QuerySet[StoredFile, tuple[str, float]]:
    """Return each name with when its latest version was stored, the latest name first."""
    latest = Max("stored_unix_s")
    return found.order_by().values_list("name").annotate(latest=latest).order_by("-latest", "name")


def describe_names(user: User, found: QuerySet[StoredFile], names: Sequence[str]) -> list[PackageName]:
    """Return the names with their versions among those that were found."""
    files = found.filter(name__in=names).select_related("owner").order_by("-stored_unix_s", "sha256")
    by_name: dict[str, list[StoredFile]] = defaultdict(list)
    for file in files:
        by_name[file.name].append(file)
    shown = [file for name in names for file in by_name[name][:MOST_SHOWN]]
    described = {item.sha256: item for item in describe_packages(user, shown)}
    return [
        PackageName(
            name,
            tuple(described[file.pk] for file in by_name[name][:MOST_SHOWN]),
            max(0, len(by_name[name]) - MOST_SHOWN),
        )
        for name in names
    ]


def describe_packages(user: User, files: Collection[StoredFile]) -> list[ShownPackage]:
    """Return packages with who used them, as far as the viewer may see the experiments."""
    rows = (
        ExperimentFile.objects.filter(
            sha256__in=[file.pk for file in files],
            experiment__in=list_visible_experiments(user).values("pk"),
        )
        .order_by()
        .values_list("sha256", "experiment_id", "experiment__owner__username", "experiment__submitted_unix_s")
        .distinct()
    )
    users: dict[str, dict[str, None]] = defaultdict(dict)
    uses: dict[str, set[int]] = defaultdict(set)
    used_s: dict[str, float] = {}
    for sha256, experiment, owner, submitted_s in rows:
        users[sha256][owner] = None
        uses[sha256].add(experiment)
        used_s[sha256] = max(submitted_s, used_s.get(sha256, submitted_s))
    barred = list_quarantined()
    return [
        ShownPackage(
            sha256=file.pk,
            name=file.name,
            size_bytes=file.size_bytes,
            stored_unix_s=file.stored_unix_s,
            owner="" if file.owner is None else file.owner.username,
            users=tuple(sorted(users[file.pk])),
            uses=len(uses[file.pk]),
            used_unix_s=used_s.get(file.pk),
            barred=barred.get(file.pk, ""),
        )
        for file in files
    ]


def choose_compared(user: User, name: str, versions: Sequence[str], most: int) -> list[int]:
    """Return experiments whose results say how versions of a package differ, the oldest version first.

    Of each version, given as the SHA-256 of its archive with the newest first, that is the latest experiment
    with it under its own name that the user may see, that has ended, and of which trials counted.
    """
    counted = TrialCount.objects.filter(
        experiment=OuterRef("experiment"),
        purpose=TrialPurpose.DESIGN,
        state=TrialState.COUNTED,
        trials__gt=0,
    )
    rows = ExperimentFile.objects.filter(
        Exists(counted),
        sha256__in=versions,
        kind="package",
        name=name,
        experiment__in=list_visible_experiments(user).values("pk"),
        experiment__state__in=ENDED_EXPERIMENTS,
    )
    latest = dict(rows.order_by("experiment_id").values_list("sha256", "experiment_id"))
    found = [latest[version] for version in versions if version in latest]
    return found[:most][::-1]


def list_uses(user: User, sha256: str) -> list[PackageUse]:
    """Return the latest experiments with a package that a user may see."""
    rows = (
        ExperimentFile.objects.filter(
            sha256=sha256, experiment__in=list_visible_experiments(user).values("pk")
        )
        .select_related("experiment__owner")
        .defer("experiment__text", "experiment__head", "experiment__design")
        .order_by("-experiment_id")[:MOST_SHOWN]
    )
    return [
        PackageUse(
            experiment=row.experiment_id,
            title=row.experiment.name,
            owner=row.experiment.owner.username,
            state=row.experiment.state,
            submitted_unix_s=row.experiment.submitted_unix_s,
            name=row.name,
        )
        for row in rows
    ]
