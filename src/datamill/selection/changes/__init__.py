"""What differs between two builds of a program."""
