"""Revisions of a repository: checked out, built several times in other layouts, and put in place in turn."""
