"""What strangers meet before anything else: bounds on connections, requests, guesses and lines of the log."""
