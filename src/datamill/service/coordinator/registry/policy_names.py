"""Names of factors in policies: one that is misspelt would forbid nothing."""

from __future__ import annotations

from datamill.protocol.fleet import Policy
from datamill.service.coordinator.registry.rules import check_factor_name

_WHERE = "policy.toml: forbidden_factors"


def check_policy_names(policy: Policy) -> None:
    """Refuse a policy that forbids a factor that neither datamill nor the registry has.

    Raises:
        InputError: with the name that is nearest.
    """
    for name in policy.forbidden_factors:
        check_factor_name(name, where=_WHERE)
