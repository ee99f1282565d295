"""SQLAlchemy 2 with one of its drivers: the rest: expressions, the ORM, transactions; pandas through it."""

from __future__ import annotations

import datetime
import decimal
from typing import Any

import pandas as pd
import sqlalchemy as sa
from sqlalchemy import orm

from tests.clients.bi.programs.sqlalchemy_reflection import checks, orders_table


@checks
def expressions(engine: sa.Engine) -> Any:
    o = orders_table(engine)
    month = sa.func.date_trunc("month", o.c.ts)
    asked = (
        sa.select(month, sa.func.count(), sa.func.sum(o.c.amount), sa.extract("year", sa.func.min(o.c.ts)))
        .where(o.c.id.in_([1, 2, 3, 900]), o.c.note.ilike("NOTE%"), o.c.ts.between(datetime.datetime(2024, 1, 1), datetime.datetime(2025, 1, 1)))
        .group_by(sa.text("1")).order_by(sa.text("1"))
    )  # fmt: skip
    with engine.connect() as con:
        return con.execute(asked).all()


@checks
def expression_of_many_kinds(engine: sa.Engine) -> Any:
    o = orders_table(engine)
    asked = sa.select(
        o.c.id, sa.case((o.c.amount > decimal.Decimal("50"), "much"), else_="little"), sa.cast(o.c.amount, sa.Integer),
        sa.func.coalesce(o.c.note, "none"), o.c.note.concat("!"), sa.func.row_number().over(order_by=o.c.id),
    ).order_by(o.c.id).limit(12)  # fmt: skip
    with engine.connect() as con:
        return con.execute(asked).all()


@checks
def subqueries(engine: sa.Engine) -> Any:
    o = orders_table(engine)
    best = (
        sa.select(o.c.customer_id, sa.func.max(o.c.amount).label("most"))
        .group_by(o.c.customer_id)
        .cte("best")
    )
    asked = sa.select(o.c.id).join(
        best, sa.and_(best.c.customer_id == o.c.customer_id, best.c.most == o.c.amount)
    )
    with engine.connect() as con:
        return (
            con.execute(asked.order_by(o.c.id).limit(5)).all(),
            con.execute(sa.select(sa.exists().where(o.c.id == 5))).scalar(),
        )


@checks
def core_insert_update_delete(engine: sa.Engine) -> Any:
    metadata = sa.MetaData()
    table = sa.Table(
        "made",
        metadata,
        sa.Column("a", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("b", sa.String(20)),
        sa.Column("c", sa.Numeric(10, 2)),
    )
    metadata.drop_all(engine)
    metadata.create_all(engine)
    with engine.begin() as con:
        con.execute(
            sa.insert(table), [{"a": i, "b": f"row {i}", "c": decimal.Decimal("1.5")} for i in range(50)]
        )
        changed = con.execute(sa.update(table).where(table.c.a > 40).values(b="changed")).rowcount
        gone = con.execute(sa.delete(table).where(table.c.a < 10)).rowcount
        found = con.execute(sa.select(sa.func.count(), sa.func.sum(table.c.c), sa.func.max(table.c.b))).all()
    metadata.drop_all(engine)
    return changed, gone, found, sa.inspect(engine).has_table("made")


class Base(orm.DeclarativeBase):
    """Of the mapped classes."""


class Author(Base):
    """With a key that the client gives."""

    __tablename__ = "authors"
    id: orm.Mapped[int] = orm.mapped_column(primary_key=True, autoincrement=False)
    name: orm.Mapped[str]
    born: orm.Mapped[datetime.date | None]
    books: orm.Mapped[list[Book]] = orm.relationship(back_populates="author")


class Book(Base):
    """With a foreign key."""

    __tablename__ = "books"
    id: orm.Mapped[int] = orm.mapped_column(primary_key=True, autoincrement=False)
    author_id: orm.Mapped[int] = orm.mapped_column(sa.ForeignKey("authors.id"))
    title: orm.Mapped[str]
    author: orm.Mapped[Author] = orm.relationship(back_populates="books")


class Counted(orm.DeclarativeBase):
    """Of the class whose key the server gives."""


class Ticket(Counted):
    """SERIAL, as SQLAlchemy makes an integer key by default."""

    __tablename__ = "tickets"
    id: orm.Mapped[int] = orm.mapped_column(primary_key=True)
    word: orm.Mapped[str]


@checks
def orm_insert_and_select(engine: sa.Engine) -> Any:
    Base.metadata.drop_all(engine)
    Base.metadata.create_all(engine)
    with orm.Session(engine) as session:
        session.add(Author(id=1, name="Ada", born=datetime.date(1815, 12, 10)))
        session.flush()
        session.add_all([Book(id=i, author_id=1, title=f"volume {i}") for i in range(3)])
        session.commit()
        asked = sa.select(Author).options(orm.selectinload(Author.books))
        found = [(a.name, a.born, [b.title for b in a.books]) for a in session.scalars(asked)]
    Base.metadata.drop_all(engine)
    return found


@checks
def orm_update(engine: sa.Engine) -> Any:
    Base.metadata.drop_all(engine)
    Base.metadata.create_all(engine)
    with orm.Session(engine) as session:
        session.add(Author(id=1, name="Ada", born=None))
        session.commit()
        session.get(Author, 1).name = "Countess"
        session.commit()
        found = session.execute(sa.select(Author.name)).all()
    Base.metadata.drop_all(engine)
    return found


@checks
def orm_with_a_serial_key(engine: sa.Engine) -> Any:
    Counted.metadata.drop_all(engine)
    Counted.metadata.create_all(engine)
    try:
        with orm.Session(engine) as session:
            session.add_all([Ticket(word="a"), Ticket(word="b")])
            session.commit()
            return session.execute(sa.select(Ticket.id, Ticket.word).order_by(Ticket.id)).all()
    finally:
        Counted.metadata.drop_all(engine)


@checks
def text_with_parameters(engine: sa.Engine) -> Any:
    with engine.connect() as con:
        return con.execute(
            sa.text("SELECT id, note FROM orders WHERE id < :n AND note <> :t ORDER BY id"),
            {"n": 5, "t": "note 2"},
        ).all()


@checks
def stream_results(engine: sa.Engine) -> Any:
    with engine.connect().execution_options(stream_results=True, yield_per=100) as con:
        return sum(row[0] for row in con.execute(sa.text("SELECT id FROM orders")))


@checks
def nested_transaction(engine: sa.Engine) -> Any:
    with engine.connect() as con, con.begin(), con.begin_nested():
        return con.execute(sa.text("SELECT 1")).scalar()


@checks
def isolation_levels(engine: sa.Engine) -> Any:
    with engine.connect() as con:
        return (
            con.get_isolation_level(),
            con.execution_options(isolation_level="AUTOCOMMIT").execute(sa.text("SELECT 1")).scalar(),
        )


@checks
def serializable(engine: sa.Engine) -> Any:
    with engine.connect().execution_options(isolation_level="SERIALIZABLE") as con:
        return con.execute(sa.text("SELECT count(*) FROM orders")).scalar()


@checks
def rolled_back(engine: sa.Engine) -> Any:
    with engine.connect() as con:
        con.execute(sa.text("INSERT INTO customers (id, name) VALUES (5004, 'nobody')"))
        con.rollback()
        return con.execute(sa.text("SELECT count(*) FROM customers WHERE id = 5004")).scalar()


@checks
def errors(engine: sa.Engine) -> Any:
    said = []
    for sql in ("SELECT * FROM nope", "SELEC 1", "INSERT INTO customers (id, name) VALUES (1, 'x')"):
        try:
            with engine.connect() as con:
                con.execute(sa.text(sql))
        except sa.exc.DBAPIError as error:
            said.append(type(error).__name__)
    return said


@checks
def pre_ping(engine: sa.Engine) -> Any:
    pinging = sa.create_engine(engine.url, pool_pre_ping=True)
    for _ in range(2):
        with pinging.connect() as con:
            found = con.execute(sa.text("SELECT 1")).scalar()
    pinging.dispose()
    return found


@checks
def pandas_to_sql(engine: sa.Engine) -> Any:
    frame = pd.DataFrame(
        {"a": [1, 2], "b": ["x", None], "c": [1.5, 2.5], "d": pd.to_datetime(["2024-01-01", "2024-01-02"])}
    )
    with engine.begin() as con:
        con.execute(sa.text("DROP TABLE IF EXISTS frame"))
    written = (
        frame.to_sql("frame", engine, index=False),
        frame.to_sql("frame", engine, if_exists="append", index=False, method="multi"),
    )
    with engine.begin() as con:
        found = con.execute(sa.text("SELECT * FROM frame ORDER BY a")).all()
        con.execute(sa.text("DROP TABLE frame"))
    return written, found


@checks
def pandas_read_sql_table(engine: sa.Engine) -> Any:
    frame = pd.read_sql_table("orders", engine)
    return list(frame.shape), {name: str(kind) for name, kind in frame.dtypes.items()}


if __name__ == "__main__":
    checks.run()
