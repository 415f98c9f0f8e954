"""What answers look like to people, whoever shows them: numbers, untrusted texts, and the columns of their tables."""
