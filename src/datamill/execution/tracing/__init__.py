"""A program that is traced: the tracer that it loads, the file that both write to, and its end."""
