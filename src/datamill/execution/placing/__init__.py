"""Where the kernel keeps programs that are executed."""
