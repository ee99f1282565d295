"""The server's page: what clients and relQueries are doing, for a browser, as JSON, for Prometheus."""
