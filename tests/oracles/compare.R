# Adjusted p-values by R's p.adjust, and letters by multcompView, as JSON.
# Rscript tests/oracles/compare.R > tests/oracles/compare.json (Debian: r-base-core, r-cran-multcompview, r-cran-jsonlite)
suppressMessages({library(multcompView); library(jsonlite)})
set.seed(1)

families <- lapply(c(1, 2, 3, 10, 45, 190), function(m) {
  p <- pmin(1, ceiling(1024 * rbeta(m, 0.3, 1)) / 1024)  # dyadic: no digit is lost on the way; with ties
  methods <- c("bonferroni", "holm", "hochberg", "BH", "BY")
  list(p = I(p), adjusted = lapply(setNames(methods, tolower(methods)), function(how) I(p.adjust(p, how))))
})

graphs <- lapply(1:60, function(k) {
  names <- LETTERS[seq_len(sample(3:9, 1))]
  pairs <- combn(names, 2)
  different <- runif(ncol(pairs)) < runif(1)
  if (!any(different)) different[1] <- TRUE
  names(different) <- paste(pairs[1, ], pairs[2, ], sep = "-")
  letters <- multcompLetters(different)
  table <- letters$LetterMatrix
  list(
    size = length(names),
    different = I(names(different)[different]),
    groups = lapply(seq_len(ncol(table)), function(g) I(rownames(table)[table[, g]]))
  )
})

cat(toJSON(list(families = families, graphs = graphs), digits = NA, auto_unbox = TRUE), "\n")
