"""Tables: layout of text, LaTeX and Markdown, means and quantiles by design point."""
