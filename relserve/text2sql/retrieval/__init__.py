"""What a database holds that fits a question: its values, by spelling and by words, and golden examples."""
