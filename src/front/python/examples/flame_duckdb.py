"""A flame graph with DuckDB: reads Parquet, answers it as one Arrow batch, and counts equal stacks in SQL.

    python flame_duckdb.py STORE OUT.svg [BUILD]

`python store.py STORE` makes the store. Each box is a function; its colour says how sure foldsym is that it ran.
"""

import pathlib
import sys
from html import escape

import duckdb
import foldsym
import pyarrow

STACKS = pathlib.Path(__file__).parent / "stacks.parquet"
COLOURS = {"unique": "#9ecae1", "exact": "#74c476", "likely": "#c7e9c0", "narrowed": "#fdd870", "ambiguous": "#fc8d59", None: "#d9d9d9"}
WIDTH, HEIGHT = 1200, 18


def counted(store, build):
    """Stacks of functions from the outermost in, each `name (certainty)`, with how often they ran."""
    with duckdb.connect() as db:
        stacks = db.sql("select * from read_parquet($1) where build = $2", params=[str(STACKS), build]).to_arrow_table()
        answers = pyarrow.table(foldsym.symbolize_batch(stacks, store, dictionaries=False))  # read by its name below
        return db.sql("""
            select list_reverse([struct_pack(name := coalesce(s.function, '?'), certainty := s.certainty) for s in symbols]) as path,
                   count(*) as times
            from answers group by path order by path
        """).fetchall()


def boxes(rows):
    """(depth, start, width, name, certainty) of each box: neighbours of one name under one box are one."""
    open_boxes, at = [], 0
    for path, times in rows:
        path = [(one["name"], one["certainty"]) for one in path]
        same = 0
        while same < min(len(path), len(open_boxes)) and open_boxes[same][0] == path[same]:
            same += 1
        for depth in reversed(range(same, len(open_boxes))):
            (name, certainty), start = open_boxes.pop()
            yield depth, start, at - start, name, certainty
        open_boxes += [(one, at) for one in path[same:]]
        at += times
    for depth in reversed(range(len(open_boxes))):
        (name, certainty), start = open_boxes.pop()
        yield depth, start, at - start, name, certainty


def draw(rows, title):
    """The picture, as SVG."""
    drawn = list(boxes(rows))
    total, deepest = sum(times for _, times in rows), max(depth for depth, *_ in drawn) + 1
    height = (deepest + 3) * HEIGHT
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" font-family="sans-serif" font-size="11">']
    out.append(f'<rect width="{WIDTH}" height="{height}" fill="white"/><text x="4" y="13" font-size="13">{escape(title)}</text>')
    for place, (word, colour) in enumerate(COLOURS.items()):
        x = WIDTH - 95 * (len(COLOURS) - place)
        out.append(f'<rect x="{x}" y="3" width="12" height="12" fill="{colour}"/><text x="{x + 16}" y="13">{word or "unknown"}</text>')
    for depth, start, width, name, certainty in drawn:
        x, w, y = start * WIDTH / total, width * WIDTH / total, (deepest - depth + 1) * HEIGHT
        shown = name if len(name) * 6.2 < w else name[: max(0, int(w / 6.2) - 1)] + "…" if w > 24 else ""
        out.append(f'<g><title>{escape(name)}: {width} of {total}, {certainty or "unknown"}</title>')
        out.append(f'<rect x="{x:.1f}" y="{y}" width="{max(w - 0.5, 0.5):.1f}" height="{HEIGHT - 1}" fill="{COLOURS[certainty]}"/>')
        out.append(f'<text x="{x + 3:.1f}" y="{y + 13}">{escape(shown)}</text></g>')
    return "\n".join([*out, "</svg>", ""])


if __name__ == "__main__":
    store, out, *build = sys.argv[1:]
    build = build[0] if build else "clang-lld"
    found = counted(store, build)
    pathlib.Path(out).write_text(draw(found, f"{build}: {sum(times for _, times in found)} stacks"))
