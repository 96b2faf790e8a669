"""An experiment on this machine: its bundle, its trials, a pilot before them."""
