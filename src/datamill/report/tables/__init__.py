"""Tables: the record, its renderers (text, LaTeX, Markdown, CSV), means and quantiles by design point."""
