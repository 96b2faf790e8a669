"""Numbers computed from two versions that may foretell a performance change."""
