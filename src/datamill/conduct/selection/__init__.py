"""Programs read from their files for the prediction of performance changes."""
