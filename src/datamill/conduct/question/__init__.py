"""The question: its file read, what may disappoint in it, what it costs, what follows a screening."""
