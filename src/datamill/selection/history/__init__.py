"""What was collected of a project's history: versions, programs, profiles, observations, and what changed."""
