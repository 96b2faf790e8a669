"""The model of a machine that joined gets a name that no other record has; its table keeps its own."""

from django.db import migrations


class Migration(migrations.Migration):
    """Nothing changes in the database: triggers and statements name the table."""

    dependencies = [("datamill", "0007_fleet_experiments")]

    operations = [
        migrations.AlterModelTable("Worker", "datamill_worker"),
        migrations.RenameModel("Worker", "FleetWorker"),
    ]
