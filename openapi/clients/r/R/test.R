# Tests as objects of class htest, and gates.

OF_GATES <- c("alpha", "sequential", "store") # options of the gate, not of its test

exactperm_test <- function(x, y, ..., data, gold = NULL, statistic = NULL, kind = NULL,
                           alternative = c("two.sided", "less", "greater"), conf.level = NULL,
                           server = exactperm_server()) {
  names <- c(deparse1(substitute(x)), if (!missing(y)) deparse1(substitute(y)))
  alternative <- match.arg(alternative)
  if (inherits(x, "formula")) {
    systems <- of_formula(x, if (!missing(data)) data else if (!missing(y)) y)
    names <- names(systems)
    x <- systems[[1]]
    y <- systems[[2]]
  }
  kind <- kind_of(x, gold, kind)
  options <- list(..., alternative = sub(".", "-", alternative, fixed = TRUE), confidence_level = conf.level)
  answer <- ask(server, paste0("/v1/tests/", kind), test_body(x, y, gold, statistic, options))
  name <- answer$statistic$name
  interval <- answer$confidence_interval
  structure(class = c("exactperm_test", "htest"), list(
    parameter = c(n = answer$items$n),
    p.value = answer$p_value,
    conf.int = if (!is.null(interval))
      structure(c(or(interval$low, -Inf), or(interval$high, Inf)), conf.level = interval$level),
    estimate = setNames(answer$statistic$observed, name),
    null.value = setNames(0, name),
    alternative = alternative,
    method = sprintf("%s-%s test (%s)", if (answer$method$exact) "Exact paired" else "Paired", answer$test,
                     answer$method$name),
    data.name = paste(names, collapse = " and "),
    systems = names,
    answer = answer
  ))
}

print.exactperm_test <- function(x, digits = getOption("digits"), ...) {
  # print.htest uses three digits less for p.
  NextMethod(digits = p_digits(x$p.value, max(1, digits - 3)) + 3)
  scores <- x$answer$statistic
  if (!is.null(scores$u))
    cat(x$systems[1], "scored", format(scores$u, digits = digits), "and", x$systems[2], format(scores$v, digits = digits), "\n")
  bounds <- vapply(x$answer$p_value_bounds, function(p) format(p, digits = p_digits(p, digits)), "")
  if (!x$answer$method$exact) cat("p-value between", bounds[1], "and", bounds[2], "-", x$answer$p_value_bounds_kind, "\n")
  tell(x$answer$warnings)
  invisible(x)
}

LEVELS <- c(0.05, 0.01, 1)

# The number of digits that keeps p on the same side of the usual levels, as presentation/numbers.py does.
p_digits <- function(p, digits) {
  stands <- function(digits) all(sign(signif(p, digits) - LEVELS) == sign(p - LEVELS))
  while (digits < 17 && !stands(digits)) digits <- digits + 1
  digits
}

exactperm_gate <- function(x, y, policy = "no_regression", margin = NULL, ..., gold = NULL, statistic = NULL,
                           kind = NULL, higher_is_better = NULL, on_inconclusive = NULL, server = exactperm_server()) {
  options <- list(...)
  for_gate <- names(options) %in% OF_GATES
  terms <- list(policy = policy, margin = margin, higher_is_better = higher_is_better, on_inconclusive = on_inconclusive)
  request <- test_body(x, y, gold, statistic, options[!for_gate])
  body <- c(non_null(c(terms, options[for_gate])), list(kind = kind_of(x, gold, kind), request = request))
  answer <- ask(server, "/v1/gate", body, list(fail_status = 200))
  # Only an explicit TRUE is a pass.
  structure(class = "exactperm_gate", list(
    verdict = answer$verdict, passed = isTRUE(answer$passed), p.value = answer$p_value, reason = answer$reason,
    policy = answer$policy, answer = answer
  ))
}

print.exactperm_gate <- function(x, ...) {
  cat(toupper(x$verdict), " (", x$policy, "): ", x$reason, "\n", sep = "")
  tell(x$answer$warnings)
  invisible(x)
}

# The two systems of score ~ system | item in a data frame, as named vectors: the first level against the second, as in t.test.
of_formula <- function(formula, data) {
  right <- if (length(formula) == 3) formula[[3]]
  if (!is.call(right) || !identical(right[[1]], as.name("|")) || !is.data.frame(data))
    refuse("Give a formula score ~ system | item and a data frame: exactperm_test(score ~ system | item, data = d).")
  score <- eval(formula[[2]], data, environment(formula))
  system <- droplevels(as.factor(eval(right[[2]], data, environment(formula))))
  item <- as.character(eval(right[[3]], data, environment(formula)))
  if (nlevels(system) != 2) refuse("The formula names ", nlevels(system), " systems: a test is of two, exactperm_compare of many.")
  systems <- split(data.frame(score, item), system)
  lapply(systems, function(own) {
    runs <- split(own$score, factor(own$item, unique(own$item))) # several rows of an item are runs
    if (all(lengths(runs) == 1)) setNames(own$score, own$item) else runs
  })
}

# The request of a test; x is the system U of the API, y is V.
test_body <- function(x, y, gold, statistic, options) {
  systems <- list(x = x, y = y, gold = gold)
  named <- vapply(systems, function(one) !is.data.frame(one) && !is.null(names(one)), NA)
  if (named["x"] != named["y"] && !is.data.frame(x) && !is.data.frame(y))
    refuse("Only one of x and y has names, by which items are paired: name both, or unname() it.")
  if (!is.null(gold) && any(vapply(systems, is.logical, NA)))
    refuse("Labels are texts or whole numbers: convert TRUE and FALSE by as.character().")
  for (role in c("x", "y")) if (is.data.frame(systems[[role]]) && "id" %in% names(systems[[role]]))
    refuse(role, " has a column id. Name the scores by it: setNames(", role, "$score, ", role, "$id).")
  missing <- !is.null(options$on_missing)
  columns <- mapply(column, non_null(systems), names(non_null(systems)), missing = missing)
  c(setNames(lapply(columns, json), c(x = "u", y = "v", gold = "gold")[names(columns)]), members(statistic, options))
}

# Convert options for the API: some are always arrays; a statistic is a name, or a list with parameters.
members <- function(statistic, options) {
  options <- non_null(options)
  if (length(options) && (is.null(names(options)) || any(names(options) == "")))
    refuse("Options need names, such as alpha = 0.01.")
  arrays <- names(options) %in% ARRAYS
  options[arrays] <- Map(column, options[arrays], names(options)[arrays], names(options)[arrays] == "labels")
  if (is.character(statistic)) statistic <- list(name = statistic)
  c(non_null(list(statistic = statistic)), options)
}

kind_of <- function(x, gold, kind) {
  if (!is.null(kind)) return(kind)
  if (!is.null(gold)) return("predictions")
  if (is.data.frame(x)) return("counts")
  if (is.numeric(x) || is.logical(x) || is.list(x)) return("scores")
  refuse("Give systems as numbers, a data frame of counts, or labels with `gold`; this is of class ", class(x)[1], ".")
}

non_null <- function(values) values[!vapply(values, is.null, NA)]

or <- function(value, other) if (is.null(value)) other else value

tell <- function(warnings) if (is.data.frame(warnings)) cat(paste0("Note: ", warnings$detail, "\n"), sep = "")
