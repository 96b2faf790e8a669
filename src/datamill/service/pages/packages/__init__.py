"""Pages of the packages."""
