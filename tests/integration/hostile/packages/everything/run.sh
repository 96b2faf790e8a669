#!/bin/sh
PYTHONDONTWRITEBYTECODE=1 exec /usr/bin/python3 everything.py
