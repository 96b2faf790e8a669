"""6: the statement. Answers, figures and the report page."""
