"""HexGen-Text2SQL's dispatcher (section 4.1), and how its alpha is tuned while it serves (section 4.3)."""
