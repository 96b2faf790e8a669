"""Revisions of git repositories: found, exported, and written as packages."""
