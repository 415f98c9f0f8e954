# Convert values to JSON for the API: options are scalars, data are always arrays, and no number is rounded.
# A text of class "json" is already converted.

ARRAYS <- c("ids", "clusters", "weights", "groups", "event", "labels", "covariates")

json <- function(text) structure(text, class = "json")

# Convert one value. A vector of one element becomes a scalar, a list with names an object, another list an array.
to_json <- function(value) {
  if (inherits(value, "json")) return(value)
  if (is.null(value)) return(json("null"))
  if (!is.list(value)) return(if (length(value) == 1) json(atoms(value)) else column(value))
  parts <- vapply(value, to_json, "")
  if (is.null(names(value))) return(json(paste0("[", paste(parts, collapse = ","), "]")))
  json(paste0("{", paste0(quoted(names(value)), ":", parts, collapse = ","), "}"))
}

# Convert data: an array, or an object if the values have names, which are ids. Items of a list also become arrays.
# If `missing`, missing values become null.
column <- function(values, role = "The data", missing = FALSE) {
  if (inherits(values, "json")) return(values)
  if (is.matrix(values)) refuse(role, " is a matrix. Give one value for each item, or a list of vectors: asplit(x, 1).")
  if (is.logical(values)) values <- 1 * values # TRUE and FALSE become 1 and 0 and keep their names
  parts <- if (is.list(values)) vapply(unname(values), column, "", role = role, missing = missing)
           else atoms(unname(values), role, missing)
  ids <- names(values)
  if (is.null(ids)) return(json(paste0("[", paste(parts, collapse = ","), "]")))
  if (anyNA(ids) || any(ids == "") || anyDuplicated(ids))
    refuse(role, " has names that are missing or not unique. Names are ids: make them unique, or unname() it.")
  json(paste0("{", paste0(quoted(ids), ":", parts, collapse = ","), "}"))
}

atoms <- function(values, role = "An option", missing = FALSE) {
  if (is.factor(values)) values <- as.character(values)
  if (anyNA(values)) {
    if (!missing) refuse(role, " has missing values (NA, NaN). Leave such items out (on_missing = \"drop\"), or score them.")
    text <- rep("null", length(values))
    text[!is.na(values)] <- atoms(values[!is.na(values)], role)
    return(text)
  }
  if (is.character(values)) return(quoted(values))
  if (is.logical(values)) return(tolower(as.character(values)))
  if (!is.numeric(values)) refuse(role, " is of class ", class(values)[1], ", which cannot be sent.")
  if (any(is.infinite(values))) refuse(role, " has infinite values, which cannot be sent.")
  shortest(as.numeric(values))
}

# The shortest decimals of doubles: 0.1 stays 0.1, and 0.1 + 0.2 is not rounded to 0.3.
shortest <- function(values) {
  text <- sprintf("%.15g", values)
  for (format in c("%.16g", "%.17g")) {
    longer <- as.numeric(text) != values
    text[longer] <- sprintf(format, values[longer])
  }
  text
}

quoted <- function(text) {
  text <- gsub("\\", "\\\\", enc2utf8(text), fixed = TRUE)
  text <- paste0("\"", gsub("\"", "\\\"", text, fixed = TRUE), "\"")
  rare <- grepl("[[:cntrl:]]", text)
  text[rare] <- vapply(text[rare], escaped, "", USE.NAMES = FALSE)
  text
}

# Escape control characters as \u00xx.
escaped <- function(text) {
  codes <- utf8ToInt(text)
  shown <- intToUtf8(codes, multiple = TRUE)
  paste(ifelse(codes < 32, sprintf("\\u%04x", codes), shown), collapse = "")
}
