"""Conditions on columns: what the answer says, and the forms in which a question says it."""
