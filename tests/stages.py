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
        "tests/acceptance/experiments/test_hidden_factors.py::test_a_worker_killed",
        "tests/acceptance/experiments/test_interrupted_experiments.py",
        "tests/acceptance/experiments/test_nested_replication.py::test_resuming_after_a_kill",
        "tests/acceptance/experiments/test_sequential_experiments.py::test_killed",
        "tests/acceptance/fleet/test_selection_on_a_fleet.py",
    ),
    "programs that are built, and other people's tools": (
        "tests/acceptance/exchange/test_crates_run_again.py::test_the_validator",
        "tests/acceptance/gate/test_gate.py::test_each_benchmark_that_a_tool_reports",
        "tests/acceptance/gate/test_integrations.py",
        "tests/acceptance/packages/test_latt_package.py::test_the_built_in_load",
        "tests/acceptance/packages/test_precompiled_headers.py",
        "tests/acceptance/packages/test_shipped_packages.py::test_a_package_with_fetched_sources",
        "tests/acceptance/packages/test_shipped_packages.py::test_packages_that_are_complete",
        "tests/acceptance/packages/test_shipped_packages.py::test_a_package_takes_as_many_measurements_as_it_is_asked_for[aes]",
        "tests/planted/studies/test_planted_history.py::test_the_study",
        "tests/planted/studies/test_planted_shapes.py::test_what_changes_the_work_runs_and_what_does_not_is_skipped[link-time]",
        "tests/planted/studies/test_planted_shapes.py::test_what_changes_the_work_runs_and_what_does_not_is_skipped[static]",
        "tests/planted/studies/test_planted_shapes.py::test_what_changes_the_work_runs_and_what_does_not_is_skipped[without",
        "tests/acceptance/selection/test_selection_history.py::test_a_benchmark_that_failed",
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
        "tests/properties/quantiles/test_tied_quantiles_in_any_unit.py::test_a_limit_of_ranks_that_is_zero_but_for_rounding_leaves_zero_in_the_interval[1.0",
        "tests/properties/quantiles/test_tied_quantiles_in_any_unit.py::test_a_limit_of_ranks_that_is_zero_but_for_rounding_leaves_zero_in_the_interval[0.1-1.0",
        "tests/planted/machines/test_platform_intervals_cover.py::test_intervals_cover_as_often",
        "tests/planted/machines/test_platform_intervals_cover.py::test_a_suite_that_has",
        "tests/planted/machines/test_platform_intervals_cover.py::test_what_is_not_refused_errs",
        "tests/planted/machines/test_platform_intervals_cover.py::test_expected_errors_are",
        "tests/planted/effects/test_interval_coverage.py::test_with_",
        "tests/planted/effects/test_interval_coverage.py::test_the_largest_change",
        "tests/planted/effects/test_interval_coverage.py::test_a_change_between",
        "tests/planted/effects/test_interval_coverage.py::test_bands_of",
        "tests/planted/effects/test_interval_coverage.py::test_the_checks_seldom",
        "tests/planted/effects/test_linear_model_rates.py::test_terms_of_data_without_any_effect_have_small_p_values_as_often_as_alpha_says[log-normal]",
        "tests/planted/effects/test_linear_model_rates.py::test_terms_of_data_without_any_effect_have_small_p_values_as_often_as_alpha_says[bimodal]",
        "tests/planted/effects/test_linear_model_rates.py::test_terms_of_data_without_any_effect_have_small_p_values_as_often_as_alpha_says[discrete]",
        "tests/planted/effects/test_linear_model_rates.py::test_intervals_of_effects_slopes_and_level_means_cover_the_truth[log-normal]",
        "tests/planted/effects/test_linear_model_rates.py::test_intervals_of_effects_slopes_and_level_means_cover_the_truth[bimodal]",
        "tests/planted/effects/test_linear_model_rates.py::test_intervals_of_effects_slopes_and_level_means_cover_the_truth[discrete]",
        "tests/planted/effects/test_drift_is_found.py::test_without_drift_it_is_found_no_more_often_than_alpha_says[20",
        "tests/planted/effects/test_drift_is_found.py::test_without_drift_it_is_found_no_more_often_than_alpha_says[4",
        "tests/planted/effects/test_drift_is_found.py::test_a_lucky_hour_is_found_where_it_was[1]",
        "tests/planted/effects/test_drift_is_found.py::test_an_experiment_that_is_too_large",
        "tests/planted/effects/test_predictions_cover.py::test_intervals_between",
        "tests/planted/effects/test_terms_of_several_levels.py",
        "tests/planted/effects/test_screening_rates.py::test_no_factor_survives_by_chance_more_often_than_stated[signs1",
        "tests/planted/effects/test_screening_rates.py::test_intervals_cover_as_stated[signs1",
        "tests/planted/decisions/test_gate_errs_as_stated.py::test_a_planted_slowdown_is_found_and_named[one",
        "tests/planted/decisions/test_gate_errs_as_stated.py::test_a_planted_slowdown_is_found_and_named[builds",
        "tests/planted/decisions/test_sequential_rules.py::test_an_interval_that_stops_at_its_width_covers_as_often_as_it_says[0.9-",
        "tests/planted/decisions/test_sequential_rules.py::test_an_interval_that_stops_at_its_width_covers_as_often_as_it_says[0.99-",
        "tests/planted/decisions/test_sequential_rules.py::test_large_differences",
        "tests/planted/decisions/test_sequential_rules.py::test_precision_costs_less",
        "tests/planted/nested/test_plans_hold.py::test_compare_sees_the_difference_as_often_as_the_plan_promises[5]",
        "tests/planted/nested/test_plans_hold.py::test_power_is_that",
        "tests/planted/nested/test_plans_hold.py::test_the_range_from",
        "tests/planted/nested/test_plans_hold.py::test_plans_are_as_sure",
        "tests/planted/nested/test_three_levels.py::test_restricted_maximum",
        "tests/planted/nested/test_three_levels.py::test_the_interval_of_the_mean_covers_in_unbalanced",
        "tests/planted/nested/test_three_levels.py::test_the_interval_of_the_mean_covers_as_it_claims[t",
        "tests/planted/nested/test_three_levels.py::test_the_interval_of_the_mean_covers_as_it_claims[exponential",
        "tests/planted/nested/test_three_levels.py::test_intervals_of_shares_and_of_the_impact_factor_cover[t",
        "tests/planted/nested/test_three_levels.py::test_intervals_of_shares_and_of_the_impact_factor_cover[exponential",
        "tests/planted/nested/test_versions_err_as_stated.py::test_a_series_without_a_change_is_cut_as_seldom_as_stated[25",
        "tests/planted/nested/test_versions_err_as_stated.py::test_steps_of_three",
        "tests/planted/nested/test_versions_err_as_stated.py::test_intervals_of_several",
        "tests/planted/nested/test_versions_err_as_stated.py::test_a_single_lucky",
        "tests/planted/nested/test_versions_err_as_stated.py::test_differences_and_ratios_are_covered_though_variances_differ[10]",
        "tests/planted/nested/test_versions_err_as_stated.py::test_differences_and_ratios_are_covered_though_variances_differ[30]",
        "tests/planted/quantiles/test_quantile_ties.py::test_equal_groups_with_ties_differ_no_more_often_than_alpha_says[100",
        "tests/planted/quantiles/test_quantile_ties.py::test_ties_raise_no_alarms_in_an_unsaturated_model_or_with_three_levels[Poisson",
        "tests/planted/quantiles/test_quantile_ties.py::test_ties_raise_no_alarms_in_an_unsaturated_model_or_with_three_levels[rounded",
        "tests/planted/quantiles/test_quantile_ties.py::test_ties_raise_no_alarms_in_an_unsaturated_model_or_with_three_levels[zero",
    ),
    # One of each proves a change.
    "the same of more designs, verbs and readers": (
        "tests/integration/service/answers/test_compared_by_the_command.py::test_it_prints_the_statement_of_the_bundles[('--",
        "tests/integration/service/files/test_files_brought_again.py::test_who_brings_a_file_that_is_being_removed_stores_it_anew[bob]",
        "tests/properties/choices/test_worker_choice.py::test_solver_and_search_find_the_same_where_guessing_finds_nothing[20000]",
        "tests/reference/designs/test_designs_against_published_tables.py::test_fractions_are_those_of_the_published_catalogue[13-",
        "tests/reference/designs/test_designs_against_published_tables.py::test_fractions_are_those_of_the_published_catalogue[14-",
        "tests/reference/designs/test_designs_against_published_tables.py::test_fractions_are_those_of_the_published_catalogue[16-",
        "tests/unit/repository/test_imports_are_quick.py::test_an_answer_in_words_loads_nothing_that_draws[summary]",
        "tests/unit/repository/test_imports_are_quick.py::test_an_answer_in_words_loads_nothing_that_draws[tests]",
        "tests/unit/repository/test_imports_are_quick.py::test_an_answer_in_words_loads_nothing_that_draws[variability]",
        "tests/unit/report/words/test_words_fit_what_is_known.py::test_equal_normal_errors_seldom_lose_their_tick[6]",
    ),
    # R answers the same questions, and that proves a change.
    "a second reference": ("tests/reference/quantiles/test_quantile_kernel_against_linear_program.py",),
    "long experiments and evaluations": (
        "tests/acceptance/experiments/test_screening.py::test_a_screening_names",
        "tests/acceptance/experiments/test_screening.py::test_a_level_that_gave_nothing",
        "tests/acceptance/experiments/test_screening.py::test_a_screening_without_survivors",
        "tests/acceptance/experiments/test_sequential_experiments.py::test_a_stable_program",
        "tests/acceptance/usage/test_executed_commands.py::test_the_long_commands",
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
