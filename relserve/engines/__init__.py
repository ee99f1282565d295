"""Where answers come from: one Protocol; local vLLM, HTTP and scripted engines behind it."""
