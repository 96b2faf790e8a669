"""The binning effect in words, tables, JSON and figures."""
