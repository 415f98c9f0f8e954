"""Records to text: a line for a log, a table for a pull request, a row for a spreadsheet. Labels stay inert."""
