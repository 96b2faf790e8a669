"""The catalogue of the factors that datamill can set, whatever a host has of them."""

from __future__ import annotations

from datamill.experiment.experiment import Treatment
from datamill.experiment.factors.factor_record import Factor
from datamill.experiment.factors.host_factors import HOST_FACTORS
from datamill.experiment.factors.trial_factors import BUILD_FACTORS, PROCESS_FACTORS, WORLD_FACTORS

#: By name, in the order in which they come to act: build, process, world, host.
FACTORS: dict[str, Factor] = {
    factor.name: factor for factor in (*BUILD_FACTORS, *PROCESS_FACTORS, *WORLD_FACTORS, *HOST_FACTORS)
}
#: The factor whose levels are the experiment's loads.
BACKGROUND_LOAD = "background_load"
#: Its level without one.
NO_LOAD = "none"
#: Hidden factors that any experiment has, and what a policy makes of each.
USUAL_FACTORS: dict[str, dict[Treatment, object]] = {
    "aslr": {"fix": "on", "vary": ["on", "off"], "randomise": ["on", "off"]},
    "env_padding": {"fix": 0, "vary": [0, 10928], "randomise": "0..4096"},
    "link_order": {
        "fix": "default",
        "vary": ["default", "alphabetical", "reverse"],
        "randomise": ["random"],
    },
}
