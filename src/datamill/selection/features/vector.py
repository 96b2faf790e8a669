"""All features of a pair of versions by name."""

from __future__ import annotations

from datamill.selection.features.hot_functions import read_published_features
from datamill.selection.features.own import read_own_features
from datamill.selection.indicators.evidence import Evidence
from datamill.selection.indicators.registry import read_indicators


def read_features(evidence: Evidence) -> dict[str, float]:
    """Return indicators as `indicator.*`, the published features as `published.*` and ours as `own.*`."""
    indicators = {f"indicator.{name}": reading.value for name, reading in read_indicators(evidence).items()}
    published = {f"published.{name}": value for name, value in read_published_features(evidence).items()}
    own = {f"own.{name}": value for name, value in read_own_features(evidence).items()}
    return indicators | published | own
