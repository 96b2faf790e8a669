"""What a trace of the kernel found."""
