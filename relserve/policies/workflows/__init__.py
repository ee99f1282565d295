"""Workflows of several steps under one deadline, on engines that are not equal (HexGen-Text2SQL)."""
