"""The contract of the crate `protocol`, as records: trials, fleet, offers, noise."""
