"""The model of an experiment that was submitted gets a name that no other record has; its table keeps its own."""

from django.db import migrations


class Migration(migrations.Migration):
    """Nothing changes in the database: triggers and statements name the table."""

    dependencies = [("datamill", "0006_standings")]

    operations = [
        migrations.AlterModelTable("Experiment", "datamill_experiment"),
        migrations.RenameModel("Experiment", "FleetExperiment"),
    ]
