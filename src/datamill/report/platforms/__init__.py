"""What is said of machines that one cannot use."""
