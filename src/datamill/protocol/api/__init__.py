"""Records of the coordinator's HTTP API: the service answers with them, and the command line reads into them.

A reader passes over fields that it does not know, since a newer coordinator may tell more; a field that is
missing is an error. What the API's description says of a body is made from its record.
"""
