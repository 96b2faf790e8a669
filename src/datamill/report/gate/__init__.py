"""What a gate says: a sentence, a table for the terminal, a comment in Markdown, JSON, and a page."""
