# DBD::Pg: DBI's catalog methods, placeholders, server-side prepares, COPY, types, errors.
use strict;
use warnings;
use DBI;
use DBD::Pg qw(:pg_types);
use JSON::PP;

$| = 1;
my $json = JSON::PP->new->canonical->ascii->allow_nonref;
my @checks;

sub check { my ($name, $code) = @_; push @checks, [$name, $code]; return }

sub connect_to {
    my (%more) = @_;
    return DBI->connect("dbi:Pg:dbname=$ENV{PGDATABASE};host=$ENV{PGHOST};port=$ENV{PGPORT}", $ENV{PGUSER}, $ENV{PGPASSWORD},
        { RaiseError => 1, PrintError => 0, PrintWarn => 0, AutoCommit => 1, %more });
}

# These columns of a catalog method's rows, sorted.
sub columns_of {
    my ($handle, @names) = @_;
    my $found = $handle->fetchall_arrayref({});
    my @rows = map { my $row = $_; [map { $row->{$_} } @names] } @$found;
    return [sort { $json->encode($a) cmp $json->encode($b) } @rows];
}

sub rows { my ($db, $sql, @values) = @_; return $db->selectall_arrayref($sql, undef, @values) }

check by_key => sub { rows($_[0], "SELECT * FROM orders WHERE id = ?", 3) };
check all_types => sub { rows($_[0], "SELECT * FROM all_types ORDER BY id") };
check column_types => sub {
    my $handle = $_[0]->prepare("SELECT * FROM all_types");
    $handle->execute;
    my @types = @{ $handle->{pg_type} };
    return [$handle->{NAME}, [@types[0 .. 17]], [@{ $handle->{PRECISION} }[0 .. 6]]];
};
check several_placeholders => sub {
    rows($_[0], "SELECT count(*) FROM orders WHERE ts > ? AND amount < ? AND note LIKE ? AND day <> ?", "2024-01-02", 50.5, "note%", "2024-01-05");
};
check dollar_placeholders => sub { rows($_[0], 'SELECT id, note FROM orders WHERE id = $1 AND note = $2', 3, "note 3") };
check named_placeholders => sub {
    my $handle = $_[0]->prepare("SELECT id FROM orders WHERE id < :most ORDER BY id");
    $handle->bind_param(":most", 4);
    $handle->execute;
    return $handle->fetchall_arrayref;
};
check typed_placeholder => sub {
    my $handle = $_[0]->prepare("SELECT ?::bytea");
    $handle->bind_param(1, "\x00\xff", { pg_type => PG_BYTEA });
    $handle->execute;
    return unpack("H*", $handle->fetchrow_array);
};
check null_and_unicode => sub { rows($_[0], "SELECT ?::int, ?::text", undef, "\x{fc}\x{20ac}") };
check array_parameter => sub { rows($_[0], "SELECT id FROM orders WHERE id = ANY(?) ORDER BY id", [1, 2, 3]) };
check arrays => sub { rows($_[0], "SELECT some_integers, some_texts FROM all_types WHERE id < 3 ORDER BY id") };
check booleans => sub { rows($_[0], "SELECT vip FROM customers WHERE id BETWEEN 6 AND 8 ORDER BY id") };
check prepared_many_times => sub {
    my $handle = $_[0]->prepare("SELECT note FROM orders WHERE id = ?");
    return [map { $handle->execute($_); $handle->fetchrow_array } 1 .. 5];
};
check without_server_prepare => sub {
    my $db = connect_to(pg_server_prepare => 0);
    my $found = rows($db, "SELECT id, note FROM orders WHERE id = ? AND note = ?", 3, "note 3");
    $db->disconnect;
    return $found;
};
check table_info => sub { columns_of($_[0]->table_info("", "main", "%", "TABLE,VIEW"), qw(TABLE_SCHEM TABLE_NAME TABLE_TYPE REMARKS)) };
check table_names => sub { [sort $_[0]->tables("", "main", "order%", "TABLE")] };
check column_info => sub {
    columns_of($_[0]->column_info("", "main", "all_types", "%"),
        qw(ORDINAL_POSITION COLUMN_NAME DATA_TYPE TYPE_NAME COLUMN_SIZE DECIMAL_DIGITS NULLABLE pg_type));
};
check column_info_with_defaults => sub { columns_of($_[0]->column_info("", "main", "order%", "%"), qw(TABLE_NAME COLUMN_NAME COLUMN_DEF REMARKS)) };
check primary_key => sub { [$_[0]->primary_key("", "main", "order_lines")] };
check primary_key_info => sub { columns_of($_[0]->primary_key_info("", "main", "order_lines"), qw(COLUMN_NAME KEY_SEQ PK_NAME)) };
check foreign_key_info => sub {
    columns_of($_[0]->foreign_key_info("", "", "", "", "main", "order_lines"), qw(UK_TABLE_NAME UK_COLUMN_NAME FK_TABLE_NAME FK_COLUMN_NAME FK_NAME ORDINAL_POSITION));
};
check statistics_info => sub {
    columns_of($_[0]->statistics_info("", "main", "order_lines", 0, 0), qw(INDEX_NAME NON_UNIQUE ORDINAL_POSITION COLUMN_NAME TYPE pg_expression));
};
check type_info => sub {
    my %used = map { $_ => 1 } qw(int2 int4 int8 bool text varchar numeric float4 float8 date timestamp bytea);
    return [sort map { "$_->{TYPE_NAME} $_->{DATA_TYPE}" } grep { $used{ $_->{TYPE_NAME} } } map { $_[0]->type_info($_) } (-7, 4, 5, -5, 7, 8, 2, 12, -1, 91, 93, -3)];
};
check get_info => sub { [$_[0]->get_info(17), substr($_[0]->get_info(18), 0, 2), $_[0]->get_info(29)] };
check row_counts => sub {
    my $db = $_[0];
    $db->do("CREATE TEMP TABLE t AS SELECT id FROM orders");
    return [$db->do("UPDATE t SET id = 0 WHERE id > 990"), $db->do("DELETE FROM t WHERE id = -1"), $db->do("DELETE FROM t")];
};
check rollback => sub {
    my $db = $_[0];
    $db->begin_work;
    $db->do("INSERT INTO customers (id, name) VALUES (?, ?)", undef, 5009, "nobody");
    $db->rollback;
    return rows($db, "SELECT count(*) FROM customers WHERE id = 5009");
};
check savepoint => sub {
    my $db = $_[0];
    $db->begin_work;
    $db->pg_savepoint("a");
    $db->pg_rollback_to("a");
    return $db->rollback;
};
check copy_out => sub {
    my $db = $_[0];
    $db->do("COPY (SELECT id, note FROM orders WHERE id < 15 ORDER BY id) TO STDOUT");
    my ($line, @lines);
    push @lines, $line while $db->pg_getcopydata($line) >= 0;
    return \@lines;
};
check copy_in => sub {
    my $db = $_[0];
    $db->do("CREATE TEMP TABLE t (a INTEGER, b TEXT)");
    $db->do("COPY t FROM STDIN");
    $db->pg_putcopydata("$_\trow $_\n") for 1 .. 100;
    $db->pg_putcopyend;
    return rows($db, "SELECT count(*), sum(a), max(b) FROM t");
};
check asynchronous => sub {
    my $db = $_[0];
    $db->do("SELECT count(*) FROM orders", { pg_async => PG_ASYNC });
    return $db->pg_result;
};
check cancelled => sub {
    my $db = $_[0];
    $db->do("SELECT count(*) FROM generate_series(1, 1000000) AS a(x), generate_series(1, 1000000) AS b(y) WHERE (x + y) % 7 = 3", { pg_async => PG_ASYNC });
    select(undef, undef, undef, 0.5);
    $db->pg_cancel;
    return [$db->state, rows($db, "SELECT 1")];
};
check cursor => sub {
    my $db = $_[0];
    $db->begin_work;
    $db->do("DECLARE c CURSOR FOR SELECT id FROM orders ORDER BY id");
    my $found = [rows($db, "FETCH 2 FROM c"), rows($db, "FETCH 2 FROM c")];
    $db->commit;
    return $found;
};
check error => sub { rows($_[0], "SELECT * FROM no_such_table") };
check unique_violation => sub { $_[0]->do("INSERT INTO customers (id, name) VALUES (1, 'x')") };
check error_fields => sub {
    eval { rows($_[0], "SELECT nope FROM orders") };
    return [$_[0]->state, $_[0]->pg_error_field("severity"), $_[0]->pg_error_field("statement_position")];
};
check ping => sub { $_[0]->ping };
check server_version => sub { int($_[0]->{pg_server_version} / 10000) };
check quote => sub { rows($_[0], "SELECT " . $_[0]->quote("it's \\ here") . " AS " . $_[0]->quote_identifier("Odd Name")) };

my $due = !$ENV{BI_AFTER};
for my $each (@checks) {
    my ($name, $code) = @$each;
    if ($due) {
        print $json->encode({ start => $name }), "\n";
        my $said = { check => $name };
        my $db = eval { connect_to() };
        if ($db && eval { $said->{value} = $code->($db); 1 }) {
            $db->disconnect;
        } else {
            my $state = $db ? $db->state : DBI->state;
            @$said{qw(error sqlstate)} = ("$@", $state || undef);
            delete $said->{value};
        }
        print $json->encode($said), "\n";
    }
    $due ||= $name eq ($ENV{BI_AFTER} // "");
}
