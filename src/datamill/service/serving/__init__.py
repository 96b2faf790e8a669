"""`datamill serve`: one process tree of web server, broker, database and the loop between them."""
