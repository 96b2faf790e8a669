"""Notices of what happened: to whom, how they are sent by webhook and mail, and what is tried again."""
