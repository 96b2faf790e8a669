"""The application's time on machines where it was not measured, with intervals and refusals."""
