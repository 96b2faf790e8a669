"""An experiment of the fleet as a bundle, in the form of a local one."""
