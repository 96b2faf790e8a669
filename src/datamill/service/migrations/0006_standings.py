"""What the first trials of a package in an experiment showed, so that one that only fails is stopped."""

from typing import Any

import django.db.models.deletion
from django.db import migrations, models

#: A package that completed a trial before there were standings must never be stopped.
FILL_STANDINGS = """
INSERT INTO datamill_packagestanding
    (experiment_id, package_sha256, state, failures, reason_sha256, blamed, package, reason, cancelling)
SELECT DISTINCT t.experiment_id, t.package_sha256, 'sound', 0, '', '{}', '', '', FALSE
FROM datamill_trial t
JOIN datamill_experiment e ON e.id = t.experiment_id AND e.state IN ('debugging', 'held', 'running')
JOIN datamill_attempt a ON a.trial_id = t.id AND a.state = 'counted' AND a.outcome = 'completed'
WHERE t.purpose = 'design'
"""
STATES = ["failing", "sound", "unlike", "stopped"]


def fill_standings(_apps: Any, editor: Any) -> None:
    editor.execute(FILL_STANDINGS, params=None)


class Migration(migrations.Migration):
    """A table of its own: no other is made anew in SQLite, and all keep their triggers."""

    dependencies = [("datamill", "0005_credentials")]

    operations = [
        migrations.CreateModel(
            "PackageStanding",
            [
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "experiment",
                    models.ForeignKey(
                        "datamill.experiment", on_delete=django.db.models.deletion.CASCADE, db_index=False
                    ),
                ),
                ("package_sha256", models.CharField(max_length=64)),
                ("state", models.CharField(choices=[(state, state) for state in STATES], max_length=8)),
                ("failures", models.IntegerField(default=0)),
                ("reason_sha256", models.CharField(default="", max_length=64)),
                ("blamed", models.TextField(default="{}")),
                ("package", models.TextField(default="")),
                ("reason", models.TextField(default="")),
                ("stopped_unix_s", models.FloatField(null=True)),
                ("cancelling", models.BooleanField(default=False)),
            ],
            options={
                "indexes": [
                    models.Index(
                        fields=["experiment"], condition=models.Q(cancelling=True), name="stop_under_way"
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("experiment", "package_sha256"), name="one_standing_a_package"
                    ),
                    models.CheckConstraint(condition=models.Q(state__in=STATES), name="standing_state"),
                    models.CheckConstraint(
                        condition=models.Q(state="stopped", stopped_unix_s__isnull=False)
                        | (~models.Q(state="stopped") & models.Q(stopped_unix_s__isnull=True, cancelling=False)),
                        name="stopped_when",
                    ),
                ],
            },
        ),
        migrations.RunPython(fill_standings, migrations.RunPython.noop),
    ]
