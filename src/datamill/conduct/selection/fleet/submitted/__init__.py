"""What a fleet is given: versions and programs as packages, and the experiment that has them."""
