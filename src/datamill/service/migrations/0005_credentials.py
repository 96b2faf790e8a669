"""When workers' credentials for the broker were made, and which of them are void."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Columns without a default, so that SQLite adds them to the table and keeps its triggers."""

    dependencies = [("datamill", "0004_counts")]

    operations = [
        migrations.AddField("worker", "credential_unix_s", models.FloatField(null=True)),
        migrations.AddField("worker", "credential_void_unix_s", models.FloatField(null=True)),
    ]
