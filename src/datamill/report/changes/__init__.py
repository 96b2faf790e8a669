"""Changes between levels of a factor, in words, tables, JSON and a figure."""
