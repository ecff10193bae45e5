"""Boards for property tests: lists of rows with every player at most once."""

from hypothesis import strategies as st

from server.core.rows import Row

players = st.one_of(
    st.integers(0, 12), st.integers(-(2**63), 2**63 - 1), st.sampled_from([-(2**63), 2**63 - 1, 2**53 + 1])
)
rows = st.builds(Row, players, st.integers(0, 5), st.integers(-2, 2))
lists_of_rows = st.lists(rows, max_size=14, unique_by=lambda row: row.player)


@st.composite
def two_boards(draw: st.DrawFn) -> tuple[list[Row], list[Row]]:
    """Two boards that share rows: some of the first, changed or not, in any order, and others."""
    before = draw(lists_of_rows)
    kept = draw(st.lists(st.sampled_from(before), unique=True)) if before else []
    changed = [draw(st.sampled_from([row, row._replace(points=row.points + 1)])) for row in kept]
    known = {row.player for row in before}
    others = [row for row in draw(lists_of_rows) if row.player not in known]
    return before, draw(st.permutations(changed + others))
