"""How answers are shown to people: numbers, sentences, untrusted texts, and table columns."""
