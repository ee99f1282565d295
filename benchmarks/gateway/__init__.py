"""Clients of `relserve serve --openai`, over SQL and over OpenAI's API, for `gateway_load`."""
