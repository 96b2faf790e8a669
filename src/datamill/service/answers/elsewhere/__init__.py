"""Packages of experiments on machines that did not run them."""
