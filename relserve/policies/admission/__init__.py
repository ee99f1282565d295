"""Which requests may start now, so that those that run keep their limits; fair shares of users."""
