"""Whether a result was reproduced."""
