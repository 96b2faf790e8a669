"""What dimensions of hardware do, machines being what was sampled."""
