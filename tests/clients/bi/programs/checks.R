# Named checks of an R client: each on a connection of its own, a JSON line before it and one after it.
SLOW <- paste(
  "SELECT count(*) FROM generate_series(1, 1000000) AS a(x), generate_series(1, 1000000) AS b(y)",
  "WHERE (x + y) % 7 = 3"
)

# JSON of strings, numbers, logicals, data frames (as lists of columns with their classes) and lists.
json <- function(value) {
  if (is.null(value)) return("null")
  if (is.data.frame(value)) {
    columns <- lapply(names(value), function(name) {
      list(name, class(value[[name]])[1], as.list(as.character(value[[name]])))
    })
    return(json(columns))
  }
  if (is.list(value)) return(paste0("[", paste(vapply(value, json, ""), collapse = ", "), "]"))
  if (length(value) != 1) return(json(as.list(value)))
  if (is.na(value)) return("null")
  if (is.logical(value)) return(if (value) "true" else "false")
  if (is.numeric(value)) return(format(value, digits = 15))
  paste0('"', quoted(as.character(value)), '"')
}

quoted <- function(text) {
  codes <- utf8ToInt(enc2utf8(text))
  plain <- codes >= 32 & codes < 127 & codes != 34 & codes != 92
  paste(ifelse(plain, intToUtf8(codes, multiple = TRUE), sprintf("\\u%04x", codes)), collapse = "")
}

say <- function(...) {
  cat("{", ..., "}\n", sep = "")
  flush(stdout())
}

run_checks <- function(checks, connect, disconnect) {
  after <- Sys.getenv("BI_AFTER")
  due <- after == ""
  for (name in names(checks)) {
    if (due) {
      say('"start": ', json(name))
      say('"check": ', json(name), ", ", outcome(checks[[name]], connect, disconnect))
    }
    due <- due || name == after
  }
}

outcome <- function(check, connect, disconnect) {
  tryCatch({
    con <- connect()
    on.exit(disconnect(con))
    paste0('"value": ', json(check(con)))
  }, error = function(error) {
    words <- conditionMessage(error)
    state <- regmatches(words, regexpr("\\b[0-9A-Z]{2}[0-9A-Z0-9]{3}\\b(?= |:)", words, perl = TRUE))
    paste0('"error": ', json(words), ', "sqlstate": ', if (length(state)) json(state) else '"R"')
  })
}
