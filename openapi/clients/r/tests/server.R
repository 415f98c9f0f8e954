# Test against a server: EXACTPERM_URL and EXACTPERM_API_KEY. Oracles are R's tests, and all assignments of signs.
library(exactperm)

every_sign <- function(differences) {
  signs <- as.matrix(expand.grid(rep(list(c(-1, 1)), length(differences))))
  mean(abs(signs %*% differences) >= abs(sum(differences)))
}
thrown <- function(call) tryCatch({ call; stop("nothing was thrown") }, exactperm_error = function(error) error)
same <- function(found, expected) stopifnot(isTRUE(all.equal(found, expected, tolerance = 1e-12)))

test_tests <- function() {
  u <- c(0.85, 0.90, 0.78, 0.92, 0.88); v <- c(0.80, 0.85, 0.75, 0.88, 0.82)
  found <- exactperm_test(u, v, conf.level = 0.95)
  stopifnot(identical(class(found), c("exactperm_test", "htest")), found$p.value == 0.0625, found$data.name == "u and v")
  same(unname(found$estimate), mean(u) - mean(v))
  shown <- capture.output(print(found))
  stopifnot(any(grepl("p-value = 0.0625", shown)), any(grepl("Note: No outcome", shown)), any(grepl("95 percent", shown)))
  # Rounding never shows p as the level that it is below.
  found$p.value <- 0.049996; found$answer$method$exact <- FALSE; found$answer$p_value_bounds <- c(0.01, 0.049999996)
  shown <- capture.output(print(found, digits = 4))
  stopifnot(any(grepl("p-value = 0.049996$", shown)), any(grepl("between 0.01 and 0.049999996 ", shown)))
  whole <- c(7, -3, 11, 2, -5, 13, 1, 4)
  same(exactperm_test(whole, 0 * whole)$p.value, every_sign(whole))

  right <- c(1, 1, 1, 1, 1, 1, 0, 1, 1, 0); wrong <- c(0, 0, 0, 1, 0, 0, 1, 0, 0, 0)
  # McNemar's exact test is the binomial test of the discordant items.
  wins <- sum(right > wrong); losses <- sum(right < wrong)
  for (side in c("two.sided", "less", "greater")) {
    expected <- binom.test(wins, wins + losses, alternative = side)$p.value
    same(exactperm_test(right, wrong, statistic = "sign", alternative = side)$p.value, expected)
    same(exactperm_test(right == 1, wrong == 1, alternative = side)$p.value, expected)
  }
  label <- function(column) factor(ifelse(column == 1, "yes", "no"))
  same(exactperm_test(label(right), label(wrong), gold = rep("yes", 10), statistic = "accuracy")$p.value,
       binom.test(wins, wins + losses)$p.value)
  counts <- function(column) data.frame(correct = column, total = 1)
  same(exactperm_test(counts(right), counts(wrong), statistic = "accuracy")$p.value, binom.test(wins, wins + losses)$p.value)

  set.seed(1)
  u <- round(rnorm(30), 6); v <- round(rnorm(30, 0.4), 6)
  same(exactperm_test(u, v, statistic = list(name = "signed_rank"))$p.value, wilcox.test(u, v, paired = TRUE, exact = TRUE)$p.value)
}

test_parameters <- function() {
  gold <- c("a", "b", "c", "a"); x <- c("a", "b", "a", "a"); y <- c("b", "b", "c", "c")
  macro <- exactperm_test(x, y, gold = gold, statistic = list(name = "f1", average = "macro"))
  same(exactperm_test(x, y, gold = gold, statistic = "f1", average = "macro")$estimate, macro$estimate)
  u <- c(a = 1, b = 2, c = 5); v <- c(a = 0, b = 3, c = 1)
  same(unname(exactperm_test(u, v, statistic = "quantile_difference", q = 0.75)$estimate),
       unname(quantile(u, 0.75) - quantile(v, 0.75)))
  gaps <- c(a = 1, b = NA, c = 5)
  same(unname(exactperm_test(gaps, v, on_missing = "drop")$estimate), mean(c(1, 5)) - mean(c(0, 1)))
  stopifnot(grepl("on_missing", conditionMessage(thrown(exactperm_test(gaps, v)))))
}

test_formulas <- function() {
  runs <- data.frame(score = c(1, 0, 5, 1, 1, 3), system = rep(c("new", "old"), each = 3), item = c("a", "b", "c", "c", "a", "b"))
  found <- exactperm_test(score ~ system | item, data = runs)
  same(found$p.value, exactperm_test(c(a = 1, b = 0, c = 5), c(c = 1, a = 1, b = 3))$p.value)
  stopifnot(found$data.name == "new and old", any(grepl("new scored 2 and old 1.66", capture.output(print(found)))))
  twice <- rbind(runs, transform(runs, score = score + 1))
  same(exactperm_test(score ~ system | item, twice)$estimate, found$estimate)
  stopifnot(inherits(thrown(exactperm_test(score ~ system, runs)), "exactperm_invalid_data"))
  frame <- data.frame(id = c("a", "b"), score = 1:2)
  stopifnot(grepl("setNames", conditionMessage(thrown(exactperm_test(frame, frame)))))
}

test_pairs <- function() {
  u <- c(a = 1, b = 0, c = 5); v <- c(c = 1, a = 1, b = 3)
  same(unname(exactperm_test(u, v)$estimate), mean(u - v[names(u)]))
  one <- exactperm_test(1, 0)
  stopifnot(one$p.value == 1, one$parameter == 1)
  clustered <- exactperm_test(c(1, 1, 0, 1), c(0, 0, 0, 0), clusters = c("a", "a", "b", "b"))
  stopifnot(clustered$answer$items$clusters == 2, exactperm_test(1, 0, clusters = "a")$answer$items$clusters == 1)
  # Items may have any number of runs, equal for both systems.
  repeats <- exactperm_test(list(c(1, 0), 1), list(c(0, 0), 0.5))
  same(unname(repeats$estimate), mean(c(0.5, 1)) - mean(c(0, 0.5)))
  unequal <- thrown(exactperm_test(list(c(1, 0), 1), list(0, c(0, 1))))
  stopifnot(inherits(unequal, "exactperm_invalid_test"), unequal$errors$code == "unequal_repeats", unequal$errors$pointer == "/v/0")
  # Numbers are not rounded to 15 digits, which would make this a tie.
  stopifnot(exactperm_test(0.1 + 0.2, 0.3)$answer$items$wins == 1)
  stopifnot(exactperm_test("caf\u00e9 \"\\\n\t\u0001", "x", gold = "caf\u00e9 \"\\\n\t\u0001", statistic = "exact_match")$estimate == 1)
}

test_not_exact <- function() {
  set.seed(2)
  found <- exactperm_test(rnorm(200, 0.1), rnorm(200), method = "monte_carlo", samples = 2000)
  stopifnot(grepl("^Paired-permutation test \\(monte_carlo", found$method))
  stopifnot(any(grepl("p-value between", capture.output(print(found)))))
}

test_gates <- function() {
  better <- rep(1, 40); worse <- rep(0, 40)
  stopifnot(exactperm_gate(better, worse)$passed, !exactperm_gate(worse, better)$passed)
  close <- c(rep(1, 9), 0)
  stopifnot(exactperm_gate(close, 1 - close, "improve")$verdict == "pass")
  stopifnot(exactperm_gate(close, 1 - close, "improve", alpha = 0.001)$verdict == "fail")
  stopifnot(grepl("^FAIL \\(no_regression\\)", capture.output(print(exactperm_gate(worse, better)))[1]))
}

test_boards <- function() {
  systems <- data.frame(A = c(1, 1, 1, 1, 1, 1, 1, 0), B = c(0, 0, 0, 0, 0, 0, 0, 1), C = c(0, 1, 0, 0, 0, 0, 0, 0))
  board <- exactperm_compare(systems)
  stopifnot(identical(as.data.frame(board)$name, c("A", "B", "C")))
  pairs <- as.data.frame(board, what = "pairs")
  same(pairs$p_value, mapply(function(u, v) exactperm_test(systems[[u]], systems[[v]])$p.value, pairs$u, pairs$v, USE.NAMES = FALSE))
  same(pairs$p_adjusted, p.adjust(pairs$p_value, "holm"))
  same(as.data.frame(exactperm_compare(as.matrix(systems)))$score, as.data.frame(board)$score)
  stopifnot(nrow(as.data.frame(exactperm_compare(as.list(systems), baseline = "A"), what = "pairs")) == 2)
  stopifnot(any(grepl("A", capture.output(print(board)))))
  pdf(NULL)
  plot(board)
  dev.off()
}

test_power <- function() {
  plan <- exactperm_power(list(kind = "binary", u = 0.83, v = 0.8, discordance = 0.13), "n", power = 0.8)
  stopifnot(plan$n > 500, plan$power >= 0.8, grepl("items", capture.output(print(plan))[1]))
  curve <- as.data.frame(exactperm_power(list(kind = "binary", p10 = 0.08, p01 = 0.05), n = c(100, 300)))
  stopifnot(all(c(100, 300) %in% curve$n))
  pilot <- exactperm_pilot(c(0.85, 0.9, 0.78), c(0.8, 0.85, 0.75))
  stopifnot(exactperm_power(pilot, "power", n = 50, effect = 0.02)$power > 0)
}

test_permalinks <- function() {
  u <- c(0.85, 0.9, 0.78)
  v <- c(0.8, 0.85, 0.75)
  kept <- list(exactperm_test(u, v, store = TRUE), exactperm_gate(v, u, alpha = 0.4, store = TRUE),
               exactperm_compare(list(A = u, B = v), store = TRUE),
               exactperm_power(list(kind = "sd", sd = 0.3), "n", effect = 0.05, store = TRUE))
  server <- exactperm_server()
  for (one in kept) {
    link <- one$answer$permalink
    stopifnot(grepl("/v1/results/r_[0-9a-f]{32}$", link), startsWith(link, server$url))
    request <- httr2::req_auth_bearer_token(httr2::request(link), server$api_key)
    request <- httr2::req_error(request, is_error = function(response) FALSE)
    found <- jsonlite::parse_json(httr2::resp_body_string(httr2::req_perform(request)))
    stopifnot(found$id == one$answer$id)
  }
  stopifnot(!kept[[2]]$passed, length(unique(vapply(kept, function(one) one$answer$permalink, ""))) == 4)
  stopifnot(is.null(exactperm_test(u, v)$answer$permalink))
}

test_errors <- function() {
  error <- thrown(exactperm_test(c(1, 2), 1))
  stopifnot(inherits(error, "exactperm_invalid_test"), error$status == 422, error$errors$pointer == "/v")
  for (bad in list(c(1, NA), c(1, NaN), c(1, Inf), matrix(1, 2, 2), c(a = 1, 2), Sys.Date() + 0:1))
    stopifnot(inherits(thrown(exactperm_test(bad, c(0, 0))), "exactperm_invalid_data"))
  stopifnot(grepl("missing values", conditionMessage(thrown(exactperm_test(c(1, NA), c(0, 0))))))
  stopifnot(inherits(thrown(exactperm_test(c(a = 1, b = 2), c(1, 2))), "exactperm_invalid_data"))
  stopifnot(inherits(thrown(exactperm_test(1, 0, alpha = NA)), "exactperm_invalid_data"))
  stopifnot(inherits(thrown(exactperm_test(TRUE, FALSE, gold = TRUE, statistic = "accuracy")), "exactperm_invalid_data"))
  nobody <- exactperm_server("http://127.0.0.1:1", tries = 1)
  stopifnot(inherits(thrown(exactperm_test(1, 0, server = nobody)), "exactperm_no_answer"))
  error <- thrown(exactperm_test(1, 0, server = exactperm_server(api_key = "ep_wrong")))
  stopifnot(error$status == 401)
  elsewhere <- exactperm_server(paste0(Sys.getenv("EXACTPERM_URL"), "/docs/guide"))
  stopifnot(inherits(thrown(exactperm_test(1, 0, server = elsewhere)), "exactperm_error"))
}

test_broom <- function() {
  if (!requireNamespace("broom", quietly = TRUE)) return(cat("broom is not installed\n"))
  row <- broom::tidy(exactperm_test(c(1, 1, 1), c(0, 0, 0), conf.level = 0.9))
  stopifnot(nrow(row) == 1, row$p.value == 0.25, row$estimate == 1, "conf.low" %in% names(row))
}

if (nzchar(Sys.getenv("EXACTPERM_URL"))) {
  tests <- list(test_tests, test_parameters, test_formulas, test_pairs, test_not_exact, test_gates, test_boards, test_power, test_permalinks, test_errors, test_broom)
  for (test in tests) test()
  cat(length(tests), "groups of tests passed\n")
} else cat("EXACTPERM_URL is not set: nothing was tested\n")
