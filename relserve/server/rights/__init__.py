"""Who may read and change which table, as PostgreSQL's GRANT and REVOKE say it."""
