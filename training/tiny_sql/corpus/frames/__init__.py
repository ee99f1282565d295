"""Whole questions, in the language of `phrases`, by what they ask for."""
