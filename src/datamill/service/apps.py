"""The coordinator as a Django application."""

from django.apps import AppConfig


class ServiceConfig(AppConfig):
    """Names the application, whose tables begin with `datamill_`."""

    name = "datamill.service"
    label = "datamill"
