"""Trials that profile a build before others measure it."""

from django.db import migrations, models

_PURPOSES = [("design", "design"), ("debug", "debug"), ("build", "build"), ("profile", "profile")]


class Migration(migrations.Migration):
    """Another purpose of trials; no row changes."""

    dependencies = [("datamill", "0016_quotas")]

    operations = [
        migrations.AlterField(
            "Trial", "purpose", models.CharField(choices=_PURPOSES, default="design", max_length=8)
        ),
        migrations.AlterField("TrialCount", "purpose", models.CharField(choices=_PURPOSES, max_length=8)),
    ]
