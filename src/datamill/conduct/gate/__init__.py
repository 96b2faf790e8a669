"""Benchmarks of base and head executed in turns, build by build, until each is judged or time is over."""
