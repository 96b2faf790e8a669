#!/bin/sh
# What is measured: from the start to the end of this script.
exec ./sort-numbers
