"""Servers that are sent batches: files of requests that they answer later, commonly at half price."""
