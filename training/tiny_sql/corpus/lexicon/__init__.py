"""What words mean in questions, as data: classes of words in frames, names of tables and columns, what is said of a column."""
