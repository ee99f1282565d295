"""The gate on a real engine: rows in instalments, cancelled ones, deadlines, and fair shares."""
