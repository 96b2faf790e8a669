"""What users have the coordinator compute: few at once, each in turn, within bounds, while they wait."""
