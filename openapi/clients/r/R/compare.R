# Leaderboards: many systems on the same items.

exactperm_compare <- function(systems, ..., gold = NULL, statistic = NULL, kind = NULL, baseline = NULL, adjust = NULL,
                              conf.level = NULL, server = exactperm_server()) {
  if (is.matrix(systems)) systems <- as.data.frame(systems)
  if (!is.list(systems) || is.null(names(systems)) || any(names(systems) == "") || anyDuplicated(names(systems)))
    refuse("Give the systems as a matrix, a data frame or a list, with a unique name for each.")
  if (is.null(kind)) kind <- kind_of(systems[[1]], gold, NULL)
  columns <- Map(column, as.list(systems), names(systems))
  options <- list(..., baseline = baseline, adjust = adjust, confidence_level = conf.level)
  if (!is.null(baseline)) options$compare <- "baseline"
  gold <- if (!is.null(gold)) column(gold, "gold")
  body <- c(list(kind = kind, systems = columns), non_null(list(gold = gold)), members(statistic, options))
  structure(list(answer = ask(server, "/v1/compare", body)), class = "exactperm_compare")
}

as.data.frame.exactperm_compare <- function(x, row.names = NULL, optional = FALSE, ..., what = c("systems", "pairs")) {
  what <- match.arg(what)
  table <- x$answer[[what]]
  kept <- !vapply(table, is.list, NA)
  table <- as.data.frame(as.list(table[kept]), stringsAsFactors = FALSE)
  if (!is.null(row.names)) row.names(table) <- row.names
  table
}

print.exactperm_compare <- function(x, digits = 4, ...) {
  table <- as.data.frame(x)
  wanted <- c("rank", "rank_low", "rank_high", "name", "score", "letters", "better_than", "worse_than")
  shown <- intersect(wanted, names(table))
  family <- x$answer$family
  cat("Board by ", x$answer$statistic, ", ", family$size, " tests, ", family$adjust, " at ", family$alpha, "\n", sep = "")
  print(table[shown], digits = digits, row.names = FALSE)
  tell(x$answer$warnings)
  invisible(x)
}

# Plot the scores, best on top; systems that share a letter do not differ significantly.
plot.exactperm_compare <- function(x, main = "", xlab = x$answer$statistic, ...) {
  table <- as.data.frame(x)
  table <- table[rev(seq_len(nrow(table))), ]
  lettered <- !is.null(table$letters) && !anyNA(table$letters)
  labels <- if (lettered) paste0(table$name, " (", table$letters, ")") else table$name
  dotchart(table$score, labels = labels, main = main, xlab = xlab, pch = 19, ...)
  invisible(x)
}
