# What R says of power: pwr (Debian: r-cran-pwr) of a mean whose standard deviation is known, and sums over R's own binom.test.
# Rscript tests/oracles/power/pwr.R > tests/data/power/pwr.txt
suppressPackageStartupMessages(library(pwr))
show <- function(...) cat(paste(format(c(...), digits = 15, trim = TRUE), collapse = " "), "\n", sep = "")

cat("sd effect n alpha two_sided power\n")
for (sd in c(0.3, 2)) for (effect in c(0.05, 0.4)) for (n in c(20, 200, 5000)) for (alpha in c(0.05, 0.001)) {
  for (two in c(1, 0)) {
    sides <- if (two) "two.sided" else "greater"
    show(sd, effect, n, alpha, two, pwr.norm.test(d = effect / sd, n = n, sig.level = alpha, alternative = sides)$power)
  }
}
cat("p10 p01 n alpha two_sided power\n")
binary <- function(p10, p01, n, alpha, two) {
  sides <- if (two) "two.sided" else "greater"
  total <- 0
  for (d in 1:n) {
    p <- sapply(0:d, function(x) binom.test(x, d, 0.5, alternative = sides)$p.value)
    total <- total + dbinom(d, n, p10 + p01) * sum(dbinom(0:d, d, p10 / (p10 + p01))[p <= alpha])
  }
  total
}
for (chances in list(c(0.1, 0.05), c(0.3, 0.02), c(0.04, 0.04))) for (n in c(12, 60, 150)) for (alpha in c(0.05, 0.01)) {
  for (two in c(1, 0)) show(chances[1], chances[2], n, alpha, two, binary(chances[1], chances[2], n, alpha, two))
}
