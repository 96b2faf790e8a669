"""What administrators see and decide: room and quotas, how long files are kept, backups."""
