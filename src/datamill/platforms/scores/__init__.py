"""What is known of machines: scores of a suite, times of the application, facts."""
