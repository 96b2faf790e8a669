"""Do binned calls explain the slow ones? What a table of latencies says."""
