"""Superset's settings for the benchmark: everything in one folder, one user's machine, no network."""

import os

SECRET_KEY = os.environ["BENCHMARK_SECRET_KEY"]
SQLALCHEMY_DATABASE_URI = f"sqlite:///{os.environ['SUPERSET_HOME']}/superset.db"
WTF_CSRF_ENABLED = False
TALISMAN_ENABLED = False
RATELIMIT_ENABLED = False
