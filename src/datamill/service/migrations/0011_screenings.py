"""Screenings that come before an experiment: what follows one, and what one found."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Columns that may be empty: SQLite adds them without making the table anew, which would drop triggers."""

    dependencies = [("datamill", "0010_looks")]

    operations = [
        migrations.AddField("fleetexperiment", "follow", models.BinaryField(null=True)),
        migrations.AddField("fleetexperiment", "follow_reason", models.TextField(null=True)),
        migrations.AddField("fleetexperiment", "screened", models.BinaryField(null=True)),
    ]
