"""What `datamill selection` says: what changed between two programs, in sentences and as JSON."""
