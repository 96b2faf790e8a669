"""The HTTP API: what programs and the client verbs ask the coordinator."""
