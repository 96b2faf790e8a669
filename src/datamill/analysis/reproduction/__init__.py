"""Whether an experiment that was run again gave the same result: its effects compared, by equivalence."""
