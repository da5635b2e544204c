"""The words of PartiQL that cannot stand unquoted where a name is expected.

The service's refusals are those of the PartiQL reference parser (partiql-lang-kotlin), which takes all
keywords of SQL-92 and some of its own out of the names: `SELECT key FROM t` is refused there for "Unexpected
keyword", and so it is here. The list is a fact of that language, as are the two exceptions.
"""

from __future__ import annotations

from typing import Final

_SQL = """
    absolute action add all allocate alter and any are as asc assertion at authorization avg begin between bit
    bit_length by cascade cascaded case cast catalog char char_length character character_length check close
    coalesce collate collation column commit connect connection constraint constraints continue convert
    corresponding count create cross current current_date current_time current_timestamp current_user cursor date
    date_add date_diff deallocate dec decimal declare default deferrable deferred delete desc describe descriptor
    diagnostics disconnect distinct domain double drop else end escape except exception exec execute exists
    external extract false fetch first float for foreign found from full get global go goto grant group having
    identity immediate in indicator initially inner input insensitive insert int integer intersect interval into is
    isolation join key language last left level like local lower match max min module names national natural nchar
    next no not null nullif numeric octet_length of on only open option or order outer output overlaps pad partial
    position precision prepare preserve primary prior privileges procedure public read real references relative
    restrict revoke right rollback rows schema scroll section select session session_user set size smallint some
    space sql sqlcode sqlerror sqlstate substring sum system_user table temporary then time timestamp to
    transaction translate translation trim true union unique unknown update upper usage user using value values
    varchar varying view when whenever where with work write zone
"""
_PARTIQL = """
    bag blob bool boolean clob conflict do index let limit list missing modified new nothing old pivot remove
    returning sexp string struct symbol tuple unpivot
"""

KEYWORDS: Final = frozenset(_SQL.split() + _PARTIQL.split())
OPERATORS: Final = frozenset(["and", "between", "except", "in", "intersect", "is", "like", "not", "or", "union"])
"""Those that are operators, and are refused as such."""
PARTICLES: Final = frozenset(["as", "asc", "at", "by", "desc", "for"])
"""Those that are refused as terms."""
