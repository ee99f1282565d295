"""Workflows of several steps on several unequal engines in virtual time."""
