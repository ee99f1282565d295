"""What `first_hour` is made of: the tasks of four people who are new, and questions about their table."""
