"""From a Parquet file of stacks to a table of buckets with a picture, with Polars, cell by cell as in a notebook.

    python buckets_polars.py STORE OUT.svg

`python store.py STORE` makes the store. In a notebook each part below is a cell.
"""

import pathlib
import sys

import foldsym
import polars as pl

# %% The stacks, a row each: thirteen builds of one program.
store, out = sys.argv[1:]
stacks = pl.read_parquet(pathlib.Path(__file__).parent / "stacks.parquet")

# %% Their answers: for each stack its functions, and the signature of the bucket that it belongs to.
fields = ["frame", "function", "certainty", "inlined"]
answers = pl.DataFrame(foldsym.symbolize_batch(stacks, store, fields=fields, signature=True, dictionaries=False))

# %% The buckets, the largest first: how many stacks and builds each has, and in how many stacks its frames are all known.
undecided = pl.col("symbols").list.eval(pl.element().struct["certainty"].is_in(["narrowed", "ambiguous"])).list.any()
buckets = (
    answers.with_columns(undecided=undecided)
    .group_by("signature_hash", "signature")
    .agg(
        stacks=pl.len(),
        builds=pl.col("build").n_unique(),
        known=(~pl.col("undecided")).sum(),
    )
    .sort("stacks", "signature", descending=[True, False])
)
print(f"{stacks.height} stacks, {buckets.height} buckets")
print(buckets.head(10))

# %% Three stacks of the largest bucket, a row for each function of each frame.
functions = (
    answers.filter(pl.col("signature_hash") == buckets["signature_hash"][0])
    .head(3)
    .with_row_index("stack")
    .explode("symbols")
    .unnest("symbols")
    .select("stack", "build", "frame", "function", "certainty")
)
print(functions)

# %% The picture: a bar for each bucket; the dark part is the stacks whose frames are all known.
LEFT, BAR, WIDTH, ROWS = 330, 22, 420, 20
rows = buckets.head(ROWS).to_dicts()
scale = WIDTH / rows[0]["stacks"]
parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 190}" height="{(len(rows) + 1) * BAR}" font-family="sans-serif" font-size="12">']
parts.append(f'<rect width="{LEFT + WIDTH + 190}" height="{(len(rows) + 1) * BAR}" fill="white"/>')
for at, row in enumerate(rows):
    y = at * BAR + 8
    # The texts of these programs have no markup, but those of C++ have: `vector<T>`.
    text = row["signature"].replace("&", "&amp;").replace("<", "&lt;")
    parts.append(f'<text x="{LEFT - 8}" y="{y + 13}" text-anchor="end">{text}</text>')
    parts.append(f'<rect x="{LEFT}" y="{y}" width="{row["stacks"] * scale:.1f}" height="{BAR - 5}" fill="#c7e9c0"/>')
    parts.append(f'<rect x="{LEFT}" y="{y}" width="{row["known"] * scale:.1f}" height="{BAR - 5}" fill="#74c476"/>')
    parts.append(f'<text x="{LEFT + row["stacks"] * scale + 6:.1f}" y="{y + 13}">{row["stacks"]} stacks, {row["builds"]} builds</text>')
pathlib.Path(out).write_text("\n".join([*parts, "</svg>", ""]))
