#!/bin/sh
# Compiles the program once, outside of what is measured.
set -eu
javac Trees.java
