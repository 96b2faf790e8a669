"""Addresses of pages and API."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, include, path

from datamill.service.api.api import api

urlpatterns: list[URLPattern | URLResolver] = [
    path("api/", api.urls),
    path("", include("datamill.service.pages.urls")),
]
