"""`relserve ask`: questions in plain words about tables, and their rows."""
