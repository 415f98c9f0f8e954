"""What answers look like to people, whoever shows them: numbers, sentences, untrusted texts, and the columns of their tables."""
