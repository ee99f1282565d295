"""What models are told and how their replies are read: the texts of the prompts are the .txt files."""
