"""Stages of the tests: what proves a change (`make test`), what `make check` adds, what the night."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain

#: What is left to `make check`: why, and the beginnings of the tests' names. All others prove a change.
LATER = {
    "a browser": ("tests/browser/", "tests/acceptance/usage/test_report_page_in_a_browser.py"),
    "guests": (
        "tests/integration/fleet/test_fleet_guests.py",
        "tests/integration/fleet/test_fleet_kernels.py",
        "tests/integration/guests/test_guest_images.py",
        "tests/integration/guests/test_guest_isolation.py",
        "tests/integration/guests/test_guest_machine.py::test_a_power_cut",
        "tests/integration/guests/test_guest_machine.py::test_a_disk",
        "tests/integration/guests/test_guest_machine.py::test_a_reboot",
        "tests/integration/guests/test_guest_machine.py::test_a_script",
        "tests/integration/guests/test_guest_restore.py",
        "tests/integration/guests/test_guest_study.py",
        "tests/acceptance/fleet/test_fleet_guest_isolation.py",
    ),
    "attacks": ("tests/integration/hostile/",),
    "whole fleets, and what is killed": (
        "tests/integration/fleet/test_fleet_firewall.py",
        "tests/integration/service/database/test_coordinator_schema.py",
        "tests/integration/service/database/test_upgrades.py",
        "tests/integration/service/experiments/test_coordinator_stops.py::test_a_package_that_completed_trials_before",
        "tests/integration/service/predictions/test_predictions_over_the_wire.py",
        "tests/integration/service/serving/test_return_from_backup.py",
        "tests/integration/service/serving/test_serving_command.py",
        "tests/integration/service/serving/test_serving_experiments.py",
        "tests/acceptance/fleet/test_fleet_bad_input.py",
        "tests/acceptance/fleet/test_fleet_experiments.py::test_a_design_waits",
        "tests/acceptance/fleet/test_fleet_experiments.py::test_a_machine_that_leaves",
        "tests/acceptance/fleet/test_fleet_experiments.py::test_whoever_watches",
        "tests/acceptance/analyses/test_interrupted_analyses.py",
        "tests/acceptance/experiments/test_interrupted_experiments.py",
        "tests/acceptance/experiments/test_sequential_experiments.py::test_killed",
        "tests/acceptance/fleet/test_selection_on_a_fleet.py",
    ),
    "programs that are built, and other people's tools": (
        "tests/acceptance/exchange/test_crates_run_again.py::test_the_validator",
        "tests/acceptance/gate/test_integrations.py",
        "tests/acceptance/packages/test_precompiled_headers.py",
        "tests/acceptance/packages/test_shipped_packages.py::test_a_package_with_fetched_sources",
        "tests/acceptance/packages/test_shipped_packages.py::test_packages_that_are_complete",
        "tests/acceptance/timing/test_timing_revisions.py",
        "tests/integration/service/files/test_bucket.py",
        "tests/integration/service/publishing/test_archives_in_the_store.py",
        "tests/integration/service/publishing/test_crates.py::test_the_validator",
        "tests/reference/crates/",
    ),
    # Its moves and invariants are those of the simulation, of which the first seeds prove a change.
    "more of the simulation": (
        "tests/integration/service/experiments/test_coordinator_properties.py",
        "tests/simulation/test_simulation.py::test_no_seed_violates_an_invariant[the others]",
        "tests/simulation/test_simulation.py::test_a_planted_bug_is_found",
        "tests/simulation/test_simulation.py::test_a_replay_in_another_process",
        "tests/simulation/test_simulation.py::test_each_user",
        "tests/simulation/test_simulation.py::test_the_command_of_a_failing_seed",
    ),
    "rates over thousands of tables": (
        "tests/planted/machines/test_factors_by_machine.py",
        "tests/planted/effects/test_false_alarms.py",
        "tests/planted/groups/test_groups_err_as_stated.py",
        "tests/planted/decisions/test_timing_errs_as_stated.py",
        "tests/planted/decisions/test_gate_errs_as_stated.py::test_false_alarms",
        "tests/planted/decisions/test_gate_errs_as_stated.py::test_what_is_detectable_is_found_as_often_as_said[builds]",
        "tests/planted/decisions/test_gate_errs_as_stated.py::test_what_is_detectable_is_found_as_often_as_said[one",
        "tests/planted/nested/test_nested_reports_err_as_stated.py",
        "tests/planted/quantiles/test_quantile_coverage.py",
        "tests/planted/quantiles/test_quantile_large_models.py",
        "tests/planted/groups/test_variability_coverage.py",
        "tests/planted/machines/test_unlike_machines.py",
        "tests/properties/quantiles/test_tied_quantiles_beside_an_offset.py",
    ),
    # R answers the same questions, and that proves a change.
    "a second reference": ("tests/reference/quantiles/test_quantile_kernel_against_linear_program.py",),
    "long experiments": (
        "tests/acceptance/experiments/test_screening.py::test_a_screening_names",
        "tests/acceptance/experiments/test_screening.py::test_a_level_that_gave_nothing",
        "tests/acceptance/experiments/test_screening.py::test_a_screening_without_survivors",
        "tests/acceptance/experiments/test_sequential_experiments.py::test_a_stable_program",
        "tests/integration/service/experiments/test_trial_counts.py",
    ),
}
#: What `make nightly` alone runs: dear, and another test of its kind shows nearly as much.
AT_NIGHT = {
    "second ways to die": (
        "tests/acceptance/gate/test_integrations.py::test_a_pull_request_from_a_fork",
        "tests/integration/hostile/recovery/test_coordinator_recovery.py::test_trials_go_on_within_ten_seconds_of_a_coordinators_death[sqlite]",
        "tests/integration/hostile/recovery/test_broker_recovery.py::test_trials_go_on_within_ten_seconds_of_a_death[hung",
        "tests/integration/service/serving/test_serving_experiments.py::test_it_goes_on_when_the_coordinator_is_killed_in_mid_experiment[sqlite]",
        "tests/integration/service/serving/test_serving_experiments.py::test_nothing_is_lost_when_the_broker_is_killed_again_and_again[sqlite]",
        "tests/integration/service/serving/test_serving_experiments.py::test_an_experiment_runs_to_its_end_with_delays_losses_and_duplicates[sqlite]",
        "tests/integration/fleet/test_fleet_firewall.py::test_a_coordinator_out_of_reach",
    ),
    "a guest of another architecture": (
        "tests/integration/guests/test_guest_images.py::test_a_guest_of_another_architecture",
    ),
    "more guests": (
        "tests/acceptance/fleet/test_fleet_guest_isolation.py::test_a_build_made_in_a_guest",
        "tests/integration/fleet/test_fleet_kernels.py",
        "tests/integration/guests/test_guest_images.py::test_a_package_compiles_in_a_guest",
        "tests/integration/guests/test_guest_machine.py::test_a_disk_that_keeps",
        "tests/integration/guests/test_guest_restore.py::test_a_power_cut_at_any_moment_leaves_nothing_after_restore[False]",
        "tests/integration/guests/test_guest_study.py",
        "tests/integration/hostile/packages/test_package_in_guest.py::test_processes_and_memory_without_end_are_the_guests_own[memory]",
    ),
}
#: Parameters that stand for a reason, wherever they are.
_PARAMETERS = {"postgresql": "PostgreSQL"}
STAGES = ("all", "change", "check")


def find_later(test: str) -> str:
    """Return why a test is left to `make check`, empty where it proves a change."""
    for reason, beginnings in LATER.items():
        if test.startswith(beginnings):
            return reason
    _, _, parameters = test.partition("[")
    return next((why for word, why in _PARAMETERS.items() if word in parameters.strip("]").split("-")), "")


def find_at_night(test: str) -> str:
    """Return why a test is left to `make nightly`, empty where it is not."""
    return next((why for why, beginnings in AT_NIGHT.items() if test.startswith(beginnings)), "")


def list_unused(tests: Sequence[str]) -> list[str]:
    """Beginnings that no test has: a renamed test would silently change its stage."""
    stated = chain(*LATER.values(), *AT_NIGHT.values())
    return [beginning for beginning in stated if not any(test.startswith(beginning) for test in tests)]


def tell_left(left: Counter[str], stage: str) -> str:
    """Say what a stage did not run, by reason: a sentence for each stage that does."""
    night = Counter({reason: count for reason, count in left.items() if reason in AT_NIGHT})
    other = "make check" if stage == "change" else "make test"
    return " ".join(
        f"{several.total()} {'test is' if several.total() == 1 else 'tests are'} left to `{command}`: "
        f"{', '.join(f'{reason} {count}' for reason, count in sorted(several.items()))}."
        for several, command in ((left - night, other), (night, "make nightly"))
        if several
    )
