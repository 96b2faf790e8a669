"""Published results of whole benchmark suites: which machine took how long for which benchmark."""
