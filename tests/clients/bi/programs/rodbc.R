# RODBC over psqlODBC: data frames, ODBC's catalog, tables written.
arguments <- commandArgs(FALSE)
source(file.path(dirname(sub("--file=", "", grep("--file=", arguments, value = TRUE))), "checks.R"))
suppressPackageStartupMessages(library(RODBC))

connect <- function() {
  con <- odbcDriverConnect(paste0(
    "DRIVER={PostgreSQL Unicode};SERVER=", Sys.getenv("PGHOST"), ";PORT=", Sys.getenv("PGPORT"), ";DATABASE=",
    Sys.getenv("PGDATABASE"), ";UID=", Sys.getenv("PGUSER"), ";PWD=", Sys.getenv("PGPASSWORD"), ";BoolsAsChar=0"
  ))
  if (!inherits(con, "RODBC")) stop("no connection")
  con
}

checks <- list(
  by_key = function(con) sqlQuery(con, "SELECT * FROM orders WHERE id = 3"),
  frame = function(con) sqlQuery(con, "SELECT id, amount, ts, day, note FROM orders WHERE id < 12 ORDER BY id", stringsAsFactors = FALSE),
  numbers = function(con) sqlQuery(con, "SELECT id, a_smallint, a_real, a_double, a_boolean FROM all_types WHERE id IN (1, 4) ORDER BY id"),
  aggregate = function(con) sqlQuery(con, "SELECT mood, count(*) AS n, sum(amount) AS total FROM orders GROUP BY mood ORDER BY mood"),
  tables = function(con) {
    found <- sqlTables(con, schema = "main")
    found[order(found$TABLE_NAME), c("TABLE_NAME", "TABLE_TYPE")]
  },
  columns = function(con) sqlColumns(con, "orders", schema = "main")[, c("COLUMN_NAME", "TYPE_NAME", "COLUMN_SIZE", "NULLABLE")],
  primary_keys = function(con) sqlPrimaryKeys(con, "order_lines", schema = "main")[, c("COLUMN_NAME", "KEY_SEQ")],
  fetch_table = function(con) list(dim(sqlFetch(con, "customers"))),
  save = function(con) {
    on.exit(sqlDrop(con, "r_odbc_frame"))
    sqlSave(con, data.frame(a = 1:3, b = c("x", NA, "z"), c = c(1.5, 2.5, NA)), "r_odbc_frame", rownames = FALSE)
    sqlQuery(con, "SELECT * FROM r_odbc_frame ORDER BY a")
  },
  error = function(con) {
    told <- sqlQuery(con, "SELECT * FROM no_such_table")
    list(substr(told[1], 1, 5), sqlQuery(con, "SELECT 1 AS goes_on"))
  },
  info = function(con) as.list(odbcGetInfo(con)[c("DBMS_Name", "Driver_Name", "ODBC_Ver")])
)

run_checks(checks, connect, odbcClose)
