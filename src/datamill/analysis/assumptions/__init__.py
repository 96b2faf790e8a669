"""Whether a linear model's assumptions hold, and what its residuals look like."""
