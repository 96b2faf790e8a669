"""What a key may be used for: those that exist keep all that they could."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """A column."""

    dependencies = [("datamill", "0017_profiles")]

    operations = [
        migrations.AddField(
            "ApiKey",
            "scopes",
            models.CharField(default="read submit publish machines account admin", max_length=64),
        ),
    ]
