"""Who looks on while experiments go on: read once for all of them, and never at the writer's cost."""
