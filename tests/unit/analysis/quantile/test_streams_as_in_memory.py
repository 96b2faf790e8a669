"""A streamed table is asked the same as one in memory: every option that is taken counts."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import datamill


def write_table(folder: Path) -> str:
    rng = np.random.default_rng(1)
    mode, jobs = rng.choice(["p", "q"], 2000), rng.choice([2, 4, 16], 2000)
    table = pl.DataFrame({"mode": mode, "jobs": jobs, "y": 10 + jobs * rng.lognormal(size=2000)})
    table.write_parquet(folder / "table.parquet")
    return str(folder / "table.parquet")


@pytest.mark.parametrize("bandwidth", ["hall-sheather", "bofinger"])
def test_the_window_of_densities_is_the_one_asked_for(tmp_path: Path, bandwidth: str) -> None:
    file, asked = (
        write_table(tmp_path),
        {"response": "y", "factors": ["mode", "jobs"], "quantiles": [0.3, 0.9]},
    )
    here = datamill.quantiles(file, errors="nid", bandwidth=bandwidth, **asked).model
    streamed = datamill.quantiles(file, stream=True, bandwidth=bandwidth, **asked).model
    for fit, other in zip(here.fits, streamed.fits, strict=True):
        for row, same in zip(fit.coefficients, other.coefficients, strict=True):
            assert [same.value.low, same.value.high, same.standard_error] == pytest.approx(
                [row.value.low, row.value.high, row.standard_error]
            )
    author = "Bofinger" if bandwidth == "bofinger" else "Hall and Sheather"
    assert f"window of {author})" in streamed.method
