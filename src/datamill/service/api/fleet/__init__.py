"""The API of what concerns the fleet as a whole: its queue, and the results of all experiments."""
