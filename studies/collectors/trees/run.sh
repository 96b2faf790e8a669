#!/bin/sh
# What the runtime has of its heap and its collector stands in variables of the levels.
exec java -cp . Trees
