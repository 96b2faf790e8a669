"""Addresses of the pages."""

from __future__ import annotations

from django.contrib.auth.views import LogoutView
from django.urls import path, register_converter
from django.views.generic import RedirectView

from datamill.service.pages import explanations
from datamill.service.pages.accounts import account, audit, login, users
from datamill.service.pages.administration import administration
from datamill.service.pages.experiments import analysis, answers, elsewhere, experiments, listing
from datamill.service.pages.experiments.again import reruns, results, versions
from datamill.service.pages.experiments.trials import trials
from datamill.service.pages.fleet import factors, quarantine, queue, workers
from datamill.service.pages.new_experiment import beginnings
from datamill.service.pages.new_experiment import steps as new_experiment
from datamill.service.pages.notices import notices
from datamill.service.pages.packages import packages
from datamill.service.pages.publications import downloads, embeds, publications, publishing


class FigureKind:
    """Ending of a file that a figure is sent as."""

    regex = "svg|png|json"

    def to_python(self, value: str) -> str:
        """Return the ending as views take it."""
        return value

    def to_url(self, value: str) -> str:
        """Return the ending as addresses have it."""
        return value


class TableKind(FigureKind):
    """Ending of a file that the tidy table is sent as."""

    regex = "csv|parquet"


class CitationKind(FigureKind):
    """Ending of a file that a citation is sent as."""

    regex = "txt|bib|cff"


register_converter(FigureKind, "figure")
register_converter(TableKind, "table")
register_converter(CitationKind, "citation")

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="experiments", permanent=False), name="home"),
    path("login", login.ThrottledLogin.as_view(), name="login"),
    path("logout", LogoutView.as_view(), name="logout"),
    path("words", explanations.show_words, name="words"),
    path("experiments", listing.list_experiments, name="experiments"),
    path("experiments/new", new_experiment.choose_packages, name="new-packages"),
    path("experiments/new/from", beginnings.choose_beginning, name="new-beginning"),
    path("experiments/new/upload", new_experiment.upload_packages, name="package-upload"),
    path("experiments/new/machines", new_experiment.choose_machines, name="new-machines"),
    path("experiments/new/machines/preview", new_experiment.preview_machines, name="new-machines-preview"),
    path("experiments/new/space", new_experiment.choose_space, name="new-space"),
    path("experiments/new/space/preview", new_experiment.preview_space, name="new-space-preview"),
    path("experiments/new/file", new_experiment.edit_file, name="new-file"),
    path("experiments/<int:experiment_id>", experiments.show_experiment, name="experiment"),
    path("experiments/<int:experiment_id>/progress", experiments.show_progress, name="experiment-progress"),
    path("experiments/<int:experiment_id>/stream", experiments.stream, name="experiment-stream"),
    path("experiments/<int:experiment_id>/trials", experiments.show_trials, name="experiment-trials"),
    path("experiments/<int:experiment_id>/events", experiments.show_events, name="experiment-events"),
    path("experiments/<int:experiment_id>/file", experiments.download_file, name="experiment-file"),
    path("experiments/<int:experiment_id>/answer", answers.show_answer, name="experiment-answer"),
    path(
        "experiments/<int:experiment_id>/answer/again", answers.answer_again, name="experiment-answer-again"
    ),
    path("experiments/<int:experiment_id>/verdict", listing.show_verdict, name="experiment-verdict"),
    path("experiments/<int:experiment_id>/analysis", analysis.show_analysis, name="experiment-analysis"),
    path("experiments/<int:experiment_id>/report", analysis.show_interactive, name="experiment-report"),
    path(
        "experiments/<int:experiment_id>/figures/<int:number>.<figure:kind>",
        analysis.download_figure,
        name="experiment-figure",
    ),
    path(
        "experiments/<int:experiment_id>/table.<table:kind>", analysis.download_table, name="experiment-table"
    ),
    path("experiments/<int:experiment_id>/elsewhere", elsewhere.show_elsewhere, name="experiment-elsewhere"),
    path("experiments/<int:experiment_id>/bundle", experiments.download_bundle, name="experiment-bundle"),
    path("experiments/<int:experiment_id>/crate", downloads.download_crate, name="experiment-crate"),
    path("experiments/<int:experiment_id>/fork", experiments.fork, name="experiment-fork"),
    path("experiments/<int:experiment_id>/cancel", experiments.cancel, name="experiment-cancel"),
    path("experiments/<int:experiment_id>/release", experiments.release, name="experiment-release"),
    path("experiments/<int:experiment_id>/trials/<str:trial_id>", trials.show_one_trial, name="trial"),
    path(
        "experiments/<int:experiment_id>/trials/<str:trial_id>/<int:number>/record",
        trials.download_record,
        name="attempt-record",
    ),
    path(
        "experiments/<int:experiment_id>/trials/<str:trial_id>/<int:number>/files/<path:name>",
        trials.download_artifact,
        name="attempt-artifact",
    ),
    path("packages", packages.list_packages, name="packages"),
    path("packages/<str:sha256>", packages.show_package, name="package"),
    path("packages/<str:sha256>/archive", packages.download_package, name="package-archive"),
    path("experiments/<int:experiment_id>/publish", publishing.publish, name="experiment-publish"),
    path("experiments/<int:experiment_id>/rerun", reruns.run_again, name="experiment-rerun"),
    path("experiments/<int:experiment_id>/reruns", reruns.show_reruns, name="experiment-reruns"),
    path("compare", versions.compare_experiments, name="compare"),
    path("compare/results", results.show_results, name="compare-results"),
    path("compare/figures/<int:number>.<figure:kind>", results.download_figure, name="compare-figure"),
    path("publications", publications.list_results, name="publications"),
    path("publications/<str:key>", publications.show_result, name="publication"),
    path("publications/<str:key>/withdraw", publishing.withdraw, name="publication-withdraw"),
    path("publications/<str:key>/archive.zip", downloads.download_archive, name="publication-archive"),
    path(
        "publications/<str:key>/citation.<citation:kind>",
        downloads.download_citation,
        name="publication-citation",
    ),
    path("publications/<str:key>/badge.svg", embeds.show_badge, name="publication-badge"),
    path("publications/<str:key>/figure.svg", embeds.show_figure, name="publication-figure"),
    path("publications/<str:key>/embed", embeds.show_embed, name="publication-embed"),
    path("oembed", embeds.describe_embed, name="oembed"),
    path("workers", workers.list_workers, name="workers"),
    path("tokens", workers.make_token, name="token"),
    path("workers/<str:name>", workers.show_worker, name="worker"),
    path("workers/<str:name>/noise", workers.show_noise, name="worker-noise"),
    path("workers/<str:name>/<str:change>", workers.change_worker, name="worker-change"),
    path("queue", queue.show_queue, name="queue"),
    path("queue/share", queue.change_share, name="queue-share"),
    path("factors", factors.list_fleet_factors, name="factors"),
    path("factors/<str:name>", factors.show_factor, name="factor"),
    path("factors/<str:name>/<str:change>", factors.change_rule, name="factor-change"),
    path("quarantine", quarantine.show_quarantine, name="quarantine"),
    path("quarantine/<str:sha256>/lift", quarantine.lift, name="quarantine-lift"),
    path("audit", audit.show_audit, name="audit"),
    path("users", users.list_users, name="users"),
    path("users/change", users.change_user, name="user-change"),
    path("administration", administration.show_administration, name="administration"),
    path("administration/quota", administration.change_quota, name="quota-change"),
    path("administration/retention", administration.change_retention, name="retention-change"),
    path("administration/backup", administration.back_up, name="backup"),
    path("notices", notices.show_notices, name="notices"),
    path("notices/add", notices.add_target, name="notice-add"),
    path("notices/<int:number>/<str:change>", notices.change_target, name="notice-change"),
    path("notices.atom", notices.send_feed, name="notice-feed"),
    path("account", account.show_account, name="account"),
    path("account/keys", account.make_key, name="key"),
    path("account/keys/revoke", account.revoke_key, name="key-revoke"),
    path("account/password", account.change_password, name="password"),
]
