# The address of the server, calls, and refusals as conditions.

GRACE_S <- 15 # added to the deadline of a request

exactperm_server <- function(url = Sys.getenv("EXACTPERM_URL", "http://localhost:8000"),
                             api_key = Sys.getenv("EXACTPERM_API_KEY"), timeout_s = 75, tries = 5) {
  structure(list(url = sub("/+$", "", url), api_key = api_key, timeout_s = timeout_s, tries = tries),
            class = "exactperm_server")
}

# Send a request to a path; return the answer as lists, vectors and data frames.
ask <- function(server, path, body, query = list()) {
  deadlines <- c(body$timeout_s, body$request$timeout_s)
  longest <- max(server$timeout_s, if (is.numeric(deadlines)) deadlines + GRACE_S)
  request <- httr2::request(paste0(server$url, path))
  request <- httr2::req_url_query(request, !!!query)
  request <- httr2::req_body_raw(request, charToRaw(to_json(body)), type = "application/json")
  request <- httr2::req_user_agent(request, "exactperm-r/1")
  request <- httr2::req_timeout(request, longest)
  # Do not follow redirects: the data and the key are for this server.
  request <- httr2::req_options(request, followlocation = FALSE)
  if (nzchar(server$api_key)) request <- httr2::req_auth_bearer_token(request, server$api_key)
  request <- httr2::req_retry(request, max_tries = server$tries, max_seconds = 60, is_transient = is_transient)
  request <- httr2::req_error(request, is_error = function(response) FALSE)
  response <- tryCatch(httr2::req_perform(request), error = function(error) {
    reason <- conditionMessage(if (inherits(error$parent, "error")) error$parent else error)
    fail("no_answer", paste0("No answer from ", server$url, ": ", reason, ". Is it running, and is the URL right?"))
  })
  answer <- answer_of(response)
  # Use only the name: a proxy may have changed the path before it.
  name <- sub("^.*/v1/results/", "", or(httr2::resp_header(response, "content-location"), ""))
  if (grepl("^r_[0-9a-f]{32}$", name)) answer$permalink <- paste0(server$url, "/v1/results/", name)
  answer
}

# An exceeded deadline would be exceeded again.
is_transient <- function(response) {
  status <- httr2::resp_status(response)
  status == 429 || (status == 503 && !grepl("#deadline-exceeded", text_of(response), fixed = TRUE))
}

text_of <- function(response) tryCatch(httr2::resp_body_string(response), error = function(error) "")

answer_of <- function(response) {
  status <- httr2::resp_status(response)
  type <- httr2::resp_content_type(response)
  known <- type %in% c("application/json", "application/problem+json")
  answer <- if (known) tryCatch(jsonlite::parse_json(text_of(response), simplifyVector = TRUE), error = function(error) NULL)
  if (status == 200 && is.list(answer) && is.character(answer$id)) return(answer)
  if (status < 400 || !is.list(answer) || !is.character(answer$type))
    fail("unreadable", paste0("This is not an answer of exactperm (status ", status, ", ", type,
                              "). Is the URL that of a server, and not of a proxy?"), status = status)
  kind <- sub("^.*#", "", answer$type)
  flaws <- if (is.data.frame(answer$errors)) answer$errors
  shown <- if (!is.null(flaws)) paste0("\n  ", ifelse(nzchar(flaws$pointer), flaws$pointer, "/"), ": ",
                                      ifelse(flaws$detail == answer$detail, flaws$code, flaws$detail))
  text <- paste0(answer$title, " (", status, "): ", answer$detail, paste(shown, collapse = ""))
  fail(gsub("-", "_", kind), text, type = answer$type, status = status, errors = flaws, instance = answer$instance)
}

# Raise a condition of classes exactperm_<kind>, such as exactperm_invalid_test, and exactperm_error.
fail <- function(kind, text, ...) {
  classes <- c(paste0("exactperm_", kind), "exactperm_error", "error", "condition")
  stop(structure(class = classes, list(message = text, call = NULL, ...)))
}

refuse <- function(...) fail("invalid_data", paste0(...))
