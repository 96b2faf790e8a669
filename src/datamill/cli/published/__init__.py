"""Results that are published, withdrawn, run again and taken up by others."""
