"""Densities of latencies on a logarithmic axis (thesis 2019, Figures 2.3b and 2.8b)."""

from __future__ import annotations

import numpy as np
from scipy.signal import fftconvolve

from datamill.allocators.binning.binning_effect import Density
from datamill.analysis.model_data.cells import FloatArray

#: Places at which a density is computed.
_PLACES = 512
#: Bandwidths that the axis reaches beyond the extreme values.
_REACH = 3.0
#: A smaller bandwidth, in decades, would show the steps of the clock.
_LEAST_BANDWIDTH = 0.02


def estimate_density(name: str, latency: FloatArray) -> Density:
    """Estimate the density of log10 of latencies (n) with a Gaussian kernel of Silverman's bandwidth.

    Values are counted on a grid first, which moves each by less than half a step of it.
    """
    positive = latency[latency > 0]
    left_out = int(latency.size - positive.size)
    if positive.size < 2:
        return Density(name, np.zeros(0), np.zeros(0), 0.0, int(positive.size), left_out)
    logs = np.log10(positive)
    quartiles = np.percentile(logs, [25, 75])
    spread = min(float(np.std(logs, ddof=1)), float(np.ptp(quartiles)) / 1.34) or float(np.std(logs, ddof=1))
    bandwidth = max(0.9 * spread * positive.size**-0.2, _LEAST_BANDWIDTH)
    low, high = float(np.min(logs)) - _REACH * bandwidth, float(np.max(logs)) + _REACH * bandwidth
    # A fine grid for the counts, of which every so many-th place is kept.
    fine = max(_PLACES, min(1 << 16, int(np.ceil((high - low) / bandwidth * 16))))
    counts, edges = np.histogram(logs, bins=fine, range=(low, high))
    step = float(edges[1] - edges[0])
    half = int(np.ceil(5 * bandwidth / step))
    kernel = np.exp(-0.5 * (np.arange(-half, half + 1) * step / bandwidth) ** 2)
    kernel /= bandwidth * np.sqrt(2 * np.pi) * positive.size
    density = np.maximum(fftconvolve(counts.astype(np.float64), kernel, mode="same"), 0.0)
    if density.size < counts.size or 2 * half + 1 > counts.size:
        density = np.convolve(counts, kernel, mode="full")[half : half + counts.size]
    middles = (edges[:-1] + edges[1:]) / 2
    kept = np.unique(np.linspace(0, fine - 1, _PLACES).round().astype(np.int64))
    return Density(name, 10 ** middles[kept], density[kept], bandwidth, int(positive.size), left_out)
