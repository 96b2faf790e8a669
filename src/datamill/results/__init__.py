"""4: the evidence. The bundle on disk, its tidy table, and the validity of what is in it."""
