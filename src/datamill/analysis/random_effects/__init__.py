"""Three nested levels of chance: builds, executions of a build, measurements in an execution (EPEW 2006)."""
