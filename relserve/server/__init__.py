"""The PostgreSQL-protocol server of `relserve serve`."""
