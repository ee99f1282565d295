"""What users hold: the connection, its relations and cursors."""
