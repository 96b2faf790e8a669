"""Who may join and with what: enrolment, credentials, hardware, owners' policies."""
