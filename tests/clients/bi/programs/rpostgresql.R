# RPostgreSQL: data frames from queries, tables written by COPY, the catalog.
arguments <- commandArgs(FALSE)
source(file.path(dirname(sub("--file=", "", grep("--file=", arguments, value = TRUE))), "checks.R"))
suppressPackageStartupMessages(library(RPostgreSQL))

connect <- function() {
  dbConnect(
    PostgreSQL(), host = Sys.getenv("PGHOST"), port = as.integer(Sys.getenv("PGPORT")), user = Sys.getenv("PGUSER"),
    password = Sys.getenv("PGPASSWORD"), dbname = Sys.getenv("PGDATABASE")
  )
}

checks <- list(
  by_key = function(con) dbGetQuery(con, "SELECT * FROM orders WHERE id = 3"),
  frame = function(con) dbGetQuery(con, "SELECT id, amount, ts, day, note FROM orders WHERE id < 12 ORDER BY id"),
  numbers = function(con) dbGetQuery(con, "SELECT id, a_smallint, a_real, a_double, a_boolean FROM all_types WHERE id IN (1, 4) ORDER BY id"),
  texts = function(con) dbGetQuery(con, "SELECT a_text, a_uuid, some_texts FROM all_types WHERE id < 3 ORDER BY id"),
  aggregate = function(con) dbGetQuery(con, "SELECT mood, count(*) AS n, sum(amount) AS total FROM orders GROUP BY mood ORDER BY mood"),
  parameters = function(con) dbGetQuery(con, "SELECT id, note FROM orders WHERE id < $1 AND note <> $2 ORDER BY id", c(5, "note 2")),
  tables = function(con) as.list(sort(dbListTables(con))),
  exists = function(con) list(dbExistsTable(con, "orders"), dbExistsTable(con, "no_such_table")),
  fields = function(con) as.list(sort(dbListFields(con, "orders"))),
  read_table = function(con) list(dim(dbReadTable(con, "customers"))),
  write_table = function(con) {
    on.exit(dbRemoveTable(con, "r_frame"))
    written <- dbWriteTable(con, "r_frame", data.frame(a = 1:3, b = c("x", NA, "z"), c = c(1.5, 2.5, NA)), row.names = FALSE)
    list(written, dbGetQuery(con, "SELECT * FROM r_frame ORDER BY a"))
  },
  append_table = function(con) {
    on.exit(dbRemoveTable(con, "r_frame"))
    frame <- data.frame(a = 1:3)
    dbWriteTable(con, "r_frame", frame, row.names = FALSE)
    dbWriteTable(con, "r_frame", frame, row.names = FALSE, append = TRUE)
    dbGetQuery(con, "SELECT count(*) AS n, sum(a) AS total FROM r_frame")
  },
  fetch_in_parts = function(con) {
    found <- dbSendQuery(con, "SELECT id FROM orders ORDER BY id")
    on.exit(dbClearResult(found))
    list(fetch(found, n = 2), nrow(fetch(found, n = -1)), dbHasCompleted(found))
  },
  column_info = function(con) {
    found <- dbSendQuery(con, "SELECT id, amount, note, day FROM orders")
    on.exit(dbClearResult(found))
    dbColumnInfo(found)[, c("name", "Sclass", "type")]
  },
  rows_affected = function(con) {
    dbGetQuery(con, "CREATE TEMP TABLE t AS SELECT id FROM orders")
    found <- dbSendQuery(con, "DELETE FROM t WHERE id > 990")
    on.exit(dbClearResult(found))
    dbGetRowsAffected(found)
  },
  rollback = function(con) {
    dbBegin(con)
    dbGetQuery(con, "INSERT INTO customers (id, name) VALUES (5010, 'nobody')")
    dbRollback(con)
    dbGetQuery(con, "SELECT count(*) AS n FROM customers WHERE id = 5010")
  },
  error = function(con) {
    told <- suppressWarnings(tryCatch(dbGetQuery(con, "SELECT * FROM no_such_table"), error = function(error) NULL))
    list(is.null(told), dbGetQuery(con, "SELECT 1 AS goes_on"))
  },
  info = function(con) {
    info <- dbGetInfo(con)
    list(info$user, info$dbname, substr(info$serverVersion, 1, 2))
  }
)

run_checks(checks, connect, dbDisconnect)
