"""Which stored files each experiment was submitted with: a table beside `models`."""

from __future__ import annotations

from typing import ClassVar

from django.db import models


class ExperimentFile(models.Model):
    """A package, load or factor of an experiment, under the name that it has there.

    Written with the experiment. Its head says the same; this finds an experiment by the file.
    """

    experiment = models.ForeignKey("datamill.FleetExperiment", on_delete=models.CASCADE, db_index=False)
    kind = models.CharField(max_length=8)  # package, load or factor
    name = models.CharField(max_length=255)
    sha256 = models.CharField(max_length=64)

    class Meta:
        """A name stands for one file; found by either."""

        db_table = "datamill_experimentfile"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["experiment", "kind", "name"], name="one_file_a_name")
        ]
        indexes: ClassVar = [models.Index(fields=["sha256", "experiment"], name="experiment_of_file")]
