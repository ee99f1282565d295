"""What answers are worth beside labels: accuracy and its interval, classes, numbers, two wordings compared.

Pure: it gets labels and answers as Python values and asks nothing.
"""
