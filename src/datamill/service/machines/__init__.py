"""What machines do, how quiet they are, who used them: read for people, decided nowhere."""
