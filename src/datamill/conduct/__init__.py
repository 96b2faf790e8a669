"""An experiment from its file to its report, without a screen."""
