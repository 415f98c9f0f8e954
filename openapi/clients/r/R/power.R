# Plan the number of items of a test, its power, or the difference it detects.

exactperm_power <- function(design, solve = c("effect", "n", "power"), n = NULL, effect = NULL, power = NULL, ...,
                            alternative = c("two.sided", "less", "greater"), server = exactperm_server()) {
  options <- list(..., solve = match.arg(solve), n = n, effect = effect, power = power,
                  alternative = sub(".", "-", match.arg(alternative), fixed = TRUE))
  answer <- ask(server, "/v1/power", c(list(design = design), members(NULL, options)))
  solution <- answer$solution
  structure(class = "exactperm_power", list(n = solution$n, effect = solution$effect, power = solution$power,
                                            alpha = answer$alpha, sentence = answer$sentence, answer = answer))
}

# The design from the data of a pilot.
exactperm_pilot <- function(x, y, ..., gold = NULL, statistic = NULL, kind = NULL) {
  request <- test_body(x, y, gold, statistic, list(...))
  list(kind = "pilot", request_kind = kind_of(x, gold, kind), request = request)
}

as.data.frame.exactperm_power <- function(x, row.names = NULL, optional = FALSE, ...) as.data.frame(x$answer$curve)

print.exactperm_power <- function(x, ...) {
  cat(x$sentence, "\n", sep = "")
  tell(x$answer$warnings)
  invisible(x)
}
