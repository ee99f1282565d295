"""Single requests in virtual time: a pool for both types of cache, roofline step times, a caching policy."""
