"""What timed commands come to: a sentence, a picture for the terminal, JSON, and files for other tools."""
