"""What was decided on the way to a bundle: looks of an experiment that grows, a screening before it."""
