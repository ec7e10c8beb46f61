"""How sure the answers at folded code are, by build, with Polars: reads Parquet, answers it, groups, and draws bars.

    python certainty_polars.py STORE OUT.svg

`python store.py STORE` makes the store.
"""

import pathlib
import sys

import foldsym
import polars as pl

STACKS = pathlib.Path(__file__).parent / "stacks.parquet"
COLOURS = {"exact": "#74c476", "likely": "#c7e9c0", "narrowed": "#fdd870", "ambiguous": "#fc8d59"}
LEFT, BAR, WIDTH = 140, 24, 800


def shares(store):
    """For each build, how many frames at folded code have which certainty."""
    answers = pl.DataFrame(foldsym.symbolize_batch(pl.read_parquet(STACKS), store, dictionaries=False))
    frames = answers.select("build", "symbols").explode("symbols").unnest("symbols")
    folded = frames.filter(pl.col("candidate_count").is_not_null() & ~pl.col("inlined"))
    counts = folded.group_by("build", "certainty").len("frames")
    return counts.with_columns(share=pl.col("frames") / pl.col("frames").sum().over("build")).sort("build", "certainty")


def draw(table):
    """The picture, as SVG."""
    builds = table["build"].unique(maintain_order=True).to_list()
    height = (len(builds) + 2) * BAR
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 70}" height="{height}" font-family="sans-serif" font-size="12">']
    out.append(f'<rect width="{LEFT + WIDTH + 70}" height="{height}" fill="white"/>')
    for place, (word, colour) in enumerate(COLOURS.items()):
        x = LEFT + 110 * place
        out.append(f'<rect x="{x}" y="6" width="12" height="12" fill="{colour}"/><text x="{x + 16}" y="16">{word}</text>')
    for row, build in enumerate(builds):
        y, x = (row + 1) * BAR + 6, float(LEFT)
        known = {one["certainty"]: one for one in table.filter(pl.col("build") == build).to_dicts()}
        out.append(f'<text x="{LEFT - 8}" y="{y + 14}" text-anchor="end">{build}</text>')
        for word, colour in COLOURS.items():
            if one := known.get(word):
                width = one["share"] * WIDTH
                out.append(f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{BAR - 5}" fill="{colour}"/>')
                if width > 34:
                    out.append(f'<text x="{x + 4:.1f}" y="{y + 14}">{one["share"]:.0%}</text>')
                x += width
        total = sum(one["frames"] for one in known.values())
        out.append(f'<text x="{LEFT + WIDTH + 8}" y="{y + 14}">{total}</text>')
    return "\n".join([*out, "</svg>", ""])


if __name__ == "__main__":
    store, out = sys.argv[1:]
    table = shares(store)
    print(table)
    pathlib.Path(out).write_text(draw(table))
