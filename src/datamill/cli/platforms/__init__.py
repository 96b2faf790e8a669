"""`datamill platforms`: predictions for machines that cannot be used; one module a verb."""
