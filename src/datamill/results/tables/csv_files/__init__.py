"""What a table has as text: its lines, its mistakes, and cells that a spreadsheet would compute."""
