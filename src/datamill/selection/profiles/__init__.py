"""What a benchmark executed in a version of a program."""
