"""The verb on dimensions of hardware."""
