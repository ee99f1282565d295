"""PostgreSQL's protocol as functions over bytes: messages, types, values, COPY, passwords and SQLSTATEs."""
