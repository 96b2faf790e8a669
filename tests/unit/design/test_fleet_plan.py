"""Who takes part in an experiment on a fleet, who does not and why, and which trials each makes."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from datamill.design.batches import list_batches
from datamill.design.fleet.fleet_plan import plan_fleet
from datamill.design.fleet.fleet_records import Candidate, FleetPlan
from datamill.design.fleet.reboots import list_reboots
from datamill.experiment.errors import InputError
from datamill.experiment.file.parse import parse_experiment
from datamill.protocol.offers import FactorOffer, MissingLevel

HEAD = """[experiment]
name = "fleet"
replicates = 2
[[package]]
name = "a"
path = "a"
[[package]]
name = "b"
path = "b"
"""


def make_worker(name: str, arch: str = "x86_64", model: str = "Xeon", **changes: Any) -> Candidate:
    usual: dict[str, Any] = {
        "worker_id": f"w-{name}",
        "name": name,
        "hardware": {"arch": arch, "cpu_model": model, "distribution": "debian 12", "machine": name},
        "offers": {},
        "memory_bytes": 8 << 30,
        "cores": 4,
        "clock_khz": 3_000_000,
        "reboot": True,
    }
    return Candidate(**(usual | changes))


FLEET = [
    make_worker("intel-1", free_s=100.0),
    make_worker("intel-2", free_s=50.0),
    make_worker("amd", model="EPYC", free_s=10.0),
    make_worker("arm", "aarch64", "Cortex", free_s=200.0, cores=2, clock_khz=0),
]


def plan(text: str, workers: list[Candidate] | None = None, trial_s: float | None = None):
    return plan_fleet(
        parse_experiment(HEAD + text, name="experiment.toml"),
        FLEET if workers is None else workers,
        trial_s=trial_s,
    )


def name_all(workers) -> list[str]:
    return [worker.name for worker in workers]


def test_without_coverage_the_worker_that_is_free_first_is_enough() -> None:
    assert name_all(plan("").chosen) == ["amd"]


def test_all_architectures_take_one_worker_each_the_earliest_there_is() -> None:
    found = plan('[coverage]\narch = "100%"\n', trial_s=10.0)
    assert name_all(found.chosen) == ["amd", "arm"]
    assert found.coverage == {"arch": (("aarch64", "x86_64"), ("aarch64", "x86_64"))}
    # 2 packages x 2 replicates behind the trials of others.
    assert found.finish_s == 240.0


def test_a_share_is_rounded_up_and_a_number_is_taken_as_it_is() -> None:
    assert len(plan('[coverage]\ncpu_model = "34%"\n').chosen) == 2
    assert len(plan("[coverage]\ncpu_model = 3\n").chosen) == 3
    assert name_all(plan('[coverage]\nmachine = "75%"\n').chosen) == ["amd", "intel-1", "intel-2"]


def test_nothing_percent_draws_one_level_and_covers_the_others_among_its_machines() -> None:
    by_seed = set()
    for seed in range(20):
        text = HEAD.replace("replicates", f"seed = {seed}\nreplicates")
        experiment = parse_experiment(
            text + '[coverage]\narch = "0%"\ncpu_model = "100%"\n', name="experiment.toml"
        )
        found = plan_fleet(experiment, FLEET)
        archs = {worker.hardware["arch"] for worker in found.chosen}
        assert len(archs) == 1
        by_seed |= archs
        left = {item.name: item.reason for item in found.ineligible}
        assert all("0% of arch drew" in reason for reason in left.values())
        assert len(found.chosen) == (2 if archs == {"x86_64"} else 1)
    assert by_seed == {"x86_64", "aarch64"}


@pytest.mark.parametrize(
    ("constraints", "left", "reason"),
    [
        ('arch = "aarch64"', ["arm"], "the architecture is x86_64, and arch wants aarch64"),
        ('cpu_model = "e?yc"', ["amd"], "and cpu_model wants e?yc"),
        ('min_clock = "2 GHz"', ["amd", "intel-1", "intel-2"], "the clock is unknown"),
        ("min_cores = 4", ["amd", "intel-1", "intel-2"], "there are 2 processors, and min_cores wants 4"),
        ('workers = ["arm", "amd"]', ["amd", "arm"], "[constraints] workers does not name it"),
        ('distribution = "debian"', ["amd", "arm", "intel-1", "intel-2"], ""),
        ('distribution = "debian 1?"', ["amd", "arm", "intel-1", "intel-2"], ""),
    ],
)
def test_constraints_leave_workers_out_with_a_reason(constraints: str, left: list[str], reason: str) -> None:
    found = plan(f'[coverage]\nmachine = "100%"\n[constraints]\n{constraints}\n')
    assert name_all(found.chosen) == left
    assert {item.name for item in found.ineligible} == {worker.name for worker in FLEET} - set(left)
    assert all(reason in item.reason for item in found.ineligible)


def test_a_worker_whose_owner_allows_no_reboots_takes_part_only_without() -> None:
    workers = [replace(FLEET[0], reboot=False), FLEET[1]]
    found = plan('[fleet]\nreboot = "trial"\n', workers)
    assert name_all(found.chosen) == ["intel-2"]
    assert "does not allow reboots" in found.ineligible[0].reason
    everyone = plan('[fleet]\nreboot = "never"\n[coverage]\nmachine = "100%"\n', workers)
    assert name_all(everyone.chosen) == ["intel-1", "intel-2"]


def test_a_level_that_is_missing_is_explained_with_what_excludes_it() -> None:
    workers = [*FLEET[:3], replace(FLEET[3], reboot=False)]
    with pytest.raises(InputError) as refused:
        plan('[coverage]\narch = "100%"\n[fleet]\nreboot = "trial"\n', workers)
    text = str(refused.value)
    assert "experiment.toml:11: [coverage] arch" in text
    assert "100% of arch, 2 of 2 levels" in text
    assert "aarch64: arm has it, but its owner does not allow reboots" in text
    with pytest.raises(InputError, match="The whole fleet has 2"):
        plan("[coverage]\narch = 3\n")


def test_nobody_is_refused_with_every_workers_reason() -> None:
    with pytest.raises(InputError, match="has no worker") as empty:
        plan("", [])
    assert "datamill worker join" in str(empty.value)
    with pytest.raises(InputError, match="no worker of the fleet may run") as refused:
        plan("[constraints]\nmin_cores = 64\n")
    assert str(refused.value).count("min_cores wants 64") == 4
    with pytest.raises(InputError, match='Did you mean "intel-') as unknown:
        plan('[constraints]\nworkers = "intel-9"\n')
    assert unknown.value.where == "[constraints] workers"


def plan_growing(most: int) -> FleetPlan:
    text = f"[replication]\nexecutions = 3\nuntil = {{ half_width = 0.01 }}\nmax_trials = {most}\n"
    text += '[coverage]\nmachine = "100%"\n'
    experiment = parse_experiment(HEAD.replace("replicates = 2\n", "") + text, name="experiment.toml")
    return plan_fleet(experiment, FLEET)


def test_an_experiment_that_grows_has_each_batch_on_all_machines_and_its_bound_is_one_of_all_together() -> (
    None
):
    found = plan_growing(1000)
    machines, points = len(found.chosen), found.design.points
    trials = found.design.trials
    assert len(trials) == found.size.trials == 1000 // points * points
    experiment = parse_experiment(
        HEAD.replace("replicates = 2\n", "")
        + "[replication]\nexecutions = 3\nuntil = { half_width = 0.01 }\nmax_trials = 1000\n",
        name="experiment.toml",
    )
    batches = list_batches(experiment, found.design)
    assert [len(batch) for batch in batches] == [3 * points, *[points] * (1000 // points - 3)]
    for batch in batches:
        made = Counter(trial.levels["machine"] for trial in batch)
        assert len(made) == machines
        assert len(set(made.values())) == 1


def test_a_bound_that_does_not_hold_fifteen_rounds_on_all_machines_is_refused() -> None:
    with pytest.raises(
        InputError, match=r"leaves no room for the rule: .* on \d machines together"
    ) as refused:
        plan_growing(100)
    assert "or machines" in refused.value.remedy


def offer(*levels: str, missing: tuple[str, ...] = (), name: str = "optimization") -> dict[str, FactorOffer]:
    lacking = tuple(MissingLevel(level, "no compiler knows it") for level in missing)
    return {name: FactorOffer(name, "build", levels, lacking, reason="" if levels else "there is no gcc")}


def test_a_named_level_must_be_offered_and_a_covered_factor_has_what_all_offer() -> None:
    workers = [
        replace(FLEET[0], offers=offer("-O0", "-O2", "-O3")),
        replace(FLEET[1], offers=offer("-O0", "-O2", missing=("-O3",))),
        replace(FLEET[2], offers=offer()),
    ]
    named = plan('[factors]\noptimization = ["-O2", "-O3"]\n[coverage]\nmachine = "100%"\n', workers)
    assert name_all(named.chosen) == ["intel-1"]
    reasons = {item.name: item.reason for item in named.ineligible}
    assert reasons == {
        "amd": 'it does not offer the factor "optimization": there is no gcc',
        "intel-2": 'it does not offer the level "-O3" of "optimization": no compiler knows it',
    }
    covered = plan('[factors]\noptimization = "100%"\n[coverage]\nmachine = "100%"\n', workers)
    assert name_all(covered.chosen) == ["intel-1", "intel-2"]
    assert covered.design.factors[1].levels == ("-O0", "-O2")
    assert 'leaves out level "-O3", which intel-2 does not offer' in covered.warnings[0]


def test_what_only_a_policy_names_excludes_nobody() -> None:
    workers = [
        replace(FLEET[0], offers=offer("on", name="aslr")),
        replace(FLEET[1], offers=offer("on", "off", name="aslr")),
    ]
    workers = [
        replace(item, offers={**item.offers, **offer("0", "10928", name="env_padding")}) for item in workers
    ]
    workers = [
        replace(
            item, offers={**item.offers, **offer("default", "alphabetical", "reverse", name="link_order")}
        )
        for item in workers
    ]
    found = plan('[nuisance]\npolicy = "vary"\n[coverage]\nmachine = 2\n', workers)
    assert {factor.name for factor in found.design.factors} == {
        "package",
        "env_padding",
        "link_order",
        "machine",
    }
    assert found.warnings == (
        'aslr is left as it is, whatever [nuisance] says: intel-1 does not offer level "off" (it is not '
        "among its levels).",
    )


def test_what_a_screening_cannot_look_at_is_said_once_with_who_lacks_it() -> None:
    lacking = {
        name: FactorOffer(name, "build", (), reason="nothing is built") for name in ("link_order", "pie")
    }
    has = offer("default", "10928", "0", name="env_padding") | offer(
        "other", "batch", name="scheduler_policy"
    )
    alone = offer("on", name="ksm")
    experiment = parse_experiment(
        HEAD.replace("replicates", 'design = "screening"\nreplicates') + '[coverage]\nmachine = "100%"\n',
        name="experiment.toml",
    )
    found = plan_fleet(experiment, [replace(FLEET[0], offers=has | lacking | alone)])
    (said,) = [text for text in found.warnings if "not screened" in text]
    assert said.startswith("not screened, since a machine does not offer it: ")
    assert "link_order and pie (intel-1: nothing is built)" in said
    assert "ksm (intel-1: it is not among its levels)" in said
    assert not any("[nuisance]" in text for text in found.warnings)


def test_spares_are_like_those_for_whom_they_stand_by_as_far_as_there_are() -> None:
    found = plan('[fleet]\nredundancy = 1\n[coverage]\nmachine = 1\n[constraints]\ncpu_model = "Xeon"\n')
    assert (name_all(found.chosen), name_all(found.spares)) == (["intel-2"], ["intel-1"])
    assert found.warnings == ()
    short = plan('[fleet]\nredundancy = 4\n[coverage]\narch = "100%"\n')
    assert name_all(short.chosen) == ["amd", "arm"]
    assert set(name_all(short.spares)) == {"intel-1", "intel-2"}
    assert "no worker that is like amd stands by." in short.warnings
    assert "redundancy asks for 4 spare workers, and there are 2." in short.warnings
    alone = plan('[fleet]\nredundancy = 1\n[coverage]\nmachine = "100%"\n')
    assert alone.warnings == ("redundancy asks for 1 spare worker, and there is none.",)


def test_workers_that_are_named_and_not_needed_are_pointed_out() -> None:
    found = plan('[constraints]\nworkers = ["amd", "arm"]\n')
    assert len(found.chosen) == 1
    assert '[coverage] machine = "100%" takes all 2' in found.warnings[0]


def test_each_machine_has_the_whole_design_in_an_order_of_its_own() -> None:
    found = plan('[coverage]\nmachine = "100%"\n[factors]\naslr = ["on", "off"]\nlink_order = ["random"]\n')
    design = found.design
    assert [factor.name for factor in design.crossed] == ["package", "aslr", "link_order", "machine"]
    machines = Counter(trial.levels["machine"] for trial in design.trials)
    assert machines == dict.fromkeys(("amd", "arm", "intel-1", "intel-2"), 8)
    for field in ("trial_id", "order", "seed"):
        assert len({getattr(trial, field) for trial in design.trials}) == 32
    assert design.points == len({trial.point for trial in design.trials}) == 16
    assert [trial.order for trial in design.trials] == list(range(1, 33))
    orders = {
        tuple(
            (trial.package, trial.levels["aslr"], trial.replicate)
            for trial in design.trials
            if trial.levels["machine"] == name
        )
        for name in machines
    }
    assert len(orders) == 4
    assert len({tuple(sorted(order)) for order in orders}) == 1
    assert all(trial.block == trial.levels["machine"] for trial in design.trials)
    # Machines work side by side: nobody's trials wait behind all of another's.
    assert [trial.levels["machine"] for trial in design.trials[:4]] == ["amd", "arm", "intel-1", "intel-2"]


def test_one_machine_is_a_circumstance_and_no_factor() -> None:
    design = plan("").design
    assert [factor.name for factor in design.crossed] == ["package"]
    assert {trial.levels["machine"] for trial in design.trials} == {"amd"}


def test_blocks_are_those_between_reboots_or_the_rounds_of_a_machine() -> None:
    text = '[coverage]\nmachine = 2\n[fleet]\nreboot = "block"\nblock_trials = 3\n'
    experiment = parse_experiment(HEAD + text, name="experiment.toml")
    design = plan_fleet(experiment, FLEET[:2]).design
    blocks = Counter(trial.block for trial in design.trials)
    assert blocks == {"intel-1/1": 3, "intel-1/2": 1, "intel-2/1": 3, "intel-2/2": 1}
    rebooted = [
        trial
        for trial, reboot in zip(design.trials, list_reboots(experiment, design.trials), strict=True)
        if reboot
    ]
    assert Counter(trial.block for trial in rebooted) == dict.fromkeys(blocks, 1)
    text = HEAD.replace("replicates", 'order = "interleaved"\nreplicates')
    design = plan_fleet(parse_experiment(text + "[coverage]\nmachine = 2\n", name="e.toml"), FLEET[:2]).design
    assert Counter(trial.block for trial in design.trials) == dict.fromkeys(
        ("intel-1/1", "intel-1/2", "intel-2/1", "intel-2/2"), 2
    )


def test_reboots_can_be_a_factor_whose_levels_decide() -> None:
    text = HEAD + '[factors]\nreboot = ["none", "before_trial"]\n[coverage]\nmachine = "100%"\n'
    workers = [
        replace(FLEET[0], offers=offer("none", missing=("before_trial",), name="reboot")),
        replace(FLEET[1], reboot=False),
    ]
    experiment = parse_experiment(text, name="experiment.toml")
    found = plan_fleet(experiment, workers)
    assert name_all(found.chosen) == ["intel-1"]
    levels = [trial.levels["reboot"] for trial in found.design.trials]
    reboots = list(list_reboots(experiment, found.design.trials))
    assert reboots == [level == "before_trial" for level in levels]
    assert sum(reboots) == 4


def test_builds_belong_to_a_machine_unless_the_strongest_makes_them() -> None:
    text = "[coverage]\nmachine = 2\n[replication]\nbuilds = 2\nexecutions = 2\n"
    head = HEAD.replace("replicates = 2\n", "")
    for place, seeds in (("worker", 8), ("strongest", 4)):
        experiment = parse_experiment(f'{head}{text}[fleet]\nbuild_on = "{place}"\n', name="e.toml")
        design = plan_fleet(experiment, FLEET[:2]).design
        assert len({trial.build_seed for trial in design.trials}) == seeds
        assert len(design.trials) == 16


def test_calibration_and_reference_trials_are_made_on_each_machine() -> None:
    text = "[coverage]\nmachine = 2\n[replication]\nexecutions = 4\nmeasurements = 5\n"
    text += '[reference]\npackage = "a"\nevery = 4\n'
    design = plan_fleet(
        parse_experiment(HEAD.replace("replicates = 2\n", "") + text, name="e.toml"), FLEET[:2]
    ).design
    kinds = Counter((trial.levels["machine"], trial.purpose) for trial in design.trials)
    for name in ("intel-1", "intel-2"):
        assert (kinds[name, "question"], kinds[name, "calibration"]) == (8, 4)
        assert kinds[name, "reference"] == kinds["intel-1", "reference"] >= 4
    assert len({trial.trial_id for trial in design.trials}) == len(design.trials)


def test_the_order_of_candidates_does_not_matter() -> None:
    workers = [make_worker(f"m{number}", model=f"cpu {number % 3}") for number in range(12)]
    text = '[coverage]\ncpu_model = "100%"\n[fleet]\nredundancy = 2\n'
    assert plan(text, workers) == plan(text, workers[::-1])


@pytest.mark.parametrize(
    "sections",
    [
        "",
        "[reference]\nevery = 3\n",
        "[coverage]\nmachine = 2\n",
        '[factors]\naslr = ["on", "off"]\nlocale = ["C", "C.UTF-8"]\n[coverage]\nmachine = 2\n',
    ],
)
@pytest.mark.parametrize(
    "design", ["", "replicates = 3\n", 'design = "screening"\n', 'design = "d-optimal"\nmax_points = 6\n']
)
def test_a_plan_that_is_only_looked_at_is_as_large_as_the_whole(design: str, sections: str) -> None:
    text = f'[experiment]\nname = "x"\n{design}[[package]]\nname = "a"\npath = "a"\n{sections}'
    if "d-optimal" in design and "factors" not in sections:
        pytest.skip("D-optimal designs need factors")
    experiment = parse_experiment(text, name="e.toml")
    whole = plan_fleet(experiment, FLEET, trial_s=2.0)
    outline = plan_fleet(experiment, FLEET, trial_s=2.0, with_trials=False)
    assert outline.size == whole.size
    assert outline.design.trials == ()
    assert (outline.finish_s, outline.chosen, outline.warnings) == (
        whole.finish_s,
        whole.chosen,
        whole.warnings,
    )
    assert outline.design.factors == whole.design.factors


def test_a_plan_over_many_machines_is_refused_before_it_is_made() -> None:
    text = (
        '[experiment]\nname = "x"\nreplicates = 1000000\n[[package]]\nname = "a"\npath = "a"\n'
        "[coverage]\nmachine = 3\n"
    )
    with pytest.raises(
        InputError, match="3\u202f000\u202f000 trials on 3 machines, and a fleet takes 2\u202f000\u202f000"
    ):
        plan_fleet(parse_experiment(text, name="e.toml"), FLEET, most_trials=2_000_000)
