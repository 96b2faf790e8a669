"""The nine indicators of the thesis, a file each."""
