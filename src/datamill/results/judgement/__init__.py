"""What records are worth: validity, doubts, warnings, costs, noise."""
