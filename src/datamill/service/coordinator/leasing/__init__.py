"""Which worker may run which trial, and every attempt at one."""
