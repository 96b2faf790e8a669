"""What a sentence says an effect did on its way to the tail: the ratio of the two, and the levels' order."""

import numpy as np
import polars as pl

import datamill


def ask(at: dict[str, tuple[float, float]]) -> str:
    """The sentence on levels whose 0.1 and 0.9 quantiles lie about these places."""
    rng = np.random.default_rng(4)
    share = (np.arange(600) + 0.5) / 600
    parts = [
        pl.DataFrame(
            {"mode": [mode] * 600, "y": low + (high - low) * (share - 0.1) / 0.8 + rng.normal(0, 0.01, 600)}
        )
        for mode, (low, high) in at.items()
    ]
    (said,) = datamill.quantiles(pl.concat(parts), response="y", factors=["mode"], quantiles=[0.1, 0.9]).lead
    return said


def test_an_effect_that_shrinks_is_told_by_the_share_that_is_left() -> None:
    assert ask({"p": (10, 20), "q": (14, 21)}).endswith(", 0.26 times as much as at the 0.1 quantile.")


def test_an_effect_that_grows_is_told_by_its_multiple() -> None:
    assert ask({"p": (10, 20), "q": (11, 24)}).endswith(", 4.1 times as much as at the 0.1 quantile.")


def test_levels_that_change_places_are_not_called_about_as_much() -> None:
    said = ask({"p": (10, 26), "q": (12, 22), "r": (14, 18)})
    assert said.endswith("; at the 0.1 quantile its levels lie otherwise, p lowest and r highest.")


def test_levels_that_keep_their_places_are_compared_by_size() -> None:
    said = ask({"p": (10, 20), "q": (12, 22), "r": (14, 24)})
    assert said.endswith(", about as much as at the 0.1 quantile.")


def test_levels_that_change_places_between_the_same_extremes_are_told_so() -> None:
    inner = dict.fromkeys("qrs", (19, 11)) | dict.fromkeys("tuv", (11, 19))
    at = {mode: (low, 10 + high) for mode, (low, high) in inner.items()}
    said = ask({"p": (10, 20), **at, "w": (20, 30)})
    assert said.endswith("; at the 0.1 quantile its levels between these two lie otherwise.")
