"""5: the inference. Arrays in, frozen estimates out; pure."""
