"""Running a coordinator, and how other verbs reach one."""
