"""The registry of factors: archives that users brought for everybody, and what an administrator forbids."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    """Two new tables."""

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("datamill", "0011_shares"),
    ]

    operations = [
        migrations.CreateModel(
            "RegisteredFactor",
            [
                ("sha256", models.CharField(max_length=64, primary_key=True, serialize=False)),
                ("name", models.CharField(db_index=True, max_length=64)),
                ("summary", models.TextField()),
                ("scope", models.CharField(max_length=16)),
                ("registered_unix_s", models.FloatField()),
                (
                    "owner",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            "FactorRule",
            [
                ("name", models.CharField(max_length=64, primary_key=True, serialize=False)),
                ("reason", models.TextField()),
                ("since_unix_s", models.FloatField()),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
        ),
    ]
