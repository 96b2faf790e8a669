"""Which files each experiment was submitted with, as a table that finds an experiment by a file."""

import json

import django.db.models.deletion
from django.db import migrations, models


def fill_from_heads(apps, _editor):  # type: ignore[no-untyped-def]
    """Enter what the heads of the experiments say that there are."""
    experiments = apps.get_model("datamill", "FleetExperiment")
    files = apps.get_model("datamill", "ExperimentFile")
    for number, head in experiments.objects.values_list("pk", "head").iterator(chunk_size=500):
        brought = json.loads(bytes(head))
        files.objects.bulk_create(
            files(experiment_id=number, kind=kind, name=item["name"], sha256=item["sha256"])
            for kind in ("package", "load", "factor")
            for item in brought.get(f"{kind}s", ())
        )


class Migration(migrations.Migration):
    """One new table, filled."""

    dependencies = [("datamill", "0013_publications")]

    operations = [
        migrations.CreateModel(
            "ExperimentFile",
            [
                ("id", models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    )),
                ("kind", models.CharField(max_length=8)),
                ("name", models.CharField(max_length=255)),
                ("sha256", models.CharField(max_length=64)),
                (
                    "experiment",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        to="datamill.fleetexperiment",
                    ),
                ),
            ],
            options={
                "db_table": "datamill_experimentfile",
                "indexes": [models.Index(fields=["sha256", "experiment"], name="experiment_of_file")],
                "constraints": [
                    models.UniqueConstraint(fields=("experiment", "kind", "name"), name="one_file_a_name")
                ],
            },
        ),
        migrations.RunPython(fill_from_heads, migrations.RunPython.noop),
    ]
