#!/usr/bin/env python3
"""Draws the memory layout of one matrix in each storage format: the figures of ../formats.md, beside this file.

The arrays are built here by the rules of host/src/format, for warps of LANES lanes.
"""

from pathlib import Path

LANES = 2  # per warp; 32 in the library
SLICE = 2 * LANES  # rows per slice of SELL-16 and of the clustered formats
STRIDE = 32  # the strides of ELL and DIA are multiples of this

# The matrix: symmetric, with its diagonal and seven pairs of equal entries.
N = 8
PAIRS = {(0, 1): "p", (1, 5): "q", (2, 6): "r", (3, 7): "s", (4, 5): "t", (5, 6): "u", (6, 7): "v"}
A = {(i, i): "abcdefgh"[i] for i in range(N)}
A |= {(j, i) if flip else (i, j): value for (i, j), value in PAIRS.items() for flip in (False, True)}
ROWS = [[(j, A[i, j]) for j in range(N) if (i, j) in A] for i in range(N)]
ENTRIES = [(i, j, value) for i in range(N) for j, value in ROWS[i]]
OFFSETS = [sum(map(len, ROWS[:i])) for i in range(N + 1)]

# One colour per row: the light scheme of Paul Tol, which colour-blind readers can distinguish.
COLOURS = ["#77AADD", "#EE8866", "#EEDD88", "#FFAABB", "#99DDFF", "#44BB99", "#BBCC33", "#AAAA00"]
PLAIN, INK, SHARES = "#FFFFFF", "#1A1A1A", ["#E2E2E2", "#C9C9C9"]
W, H = 24, 22  # size of a cell
SANS = "DejaVu Sans, Verdana, Helvetica, Arial, sans-serif"
MONO = "DejaVu Sans Mono, Menlo, Consolas, monospace"


class Drawing:
    def __init__(self, name, width, height, title):
        assert width <= 720
        self.name, self.width, self.height, self.title, self.parts = name, width, height, title, []

    def text(self, x, y, words, anchor="start", mono=False, bold=False):
        words = str(words).replace("&", "&amp;").replace("<", "&lt;")
        style = f' font-family="{MONO}"' if mono else ""
        style += ' font-weight="bold"' if bold else ""
        self.parts.append(f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}"{style}>{words}</text>')

    def line(self, x, y, x2, y2, width=1.0, colour=INK):
        self.parts.append(f'<path d="M{x:g} {y:g}L{x2:g} {y2:g}" stroke="{colour}" stroke-width="{width:g}"/>')

    def box(self, x, y, width, height, fill, line=1.0):
        self.parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" fill="{fill}" stroke="{INK}" '
            f'stroke-width="{line:g}"/>'
        )

    def cell(self, x, y, words, row=None, width=W):
        """Draws a cell in the colour of a row, plain without one, or hatched if `row` is "padding"."""
        fill = "url(#padding)" if row == "padding" else PLAIN if row is None else COLOURS[row]
        self.box(x, y, width, H, fill)
        if words != "":
            self.text(x + width / 2, y + H / 2 + 4.5, words, "middle")

    def cells(self, x, y, cells, width=W):
        for number, (words, row) in enumerate(cells):
            self.cell(x + number * width, y, words, row, width)

    def array(self, x, y, name, of, cells, left=140, width=W):
        """Draws an array with its name and type to its left."""
        self.text(x, y + H / 2 + 4.5, name, mono=True)
        self.text(x + left - 8, y + H / 2 + 4.5, of, "end", mono=True)
        self.cells(x + left, y, cells, width)

    def share(self, x, y, cells, words, number, width=W):
        """Draws a share of some cells of an array, below it."""
        self.box(x + 1, y, cells * width - 2, 18, SHARES[number % 2], 0.5)
        self.text(x + cells * width / 2, y + 13.5, words, "middle")

    def bracket(self, x, y, width, words):
        """Draws a bracket over some cells, with words above it."""
        self.parts.append(f'<path d="M{x + 2:g} {y:g}v-5h{width - 4:g}v5" fill="none" stroke="{INK}"/>')
        self.text(x + width / 2, y - 9, words, "middle")

    def arrow_down(self, x, y, length):
        self.parts.append(f'<path d="M{x:g} {y:g}v{length:g}m-3.5 -5l3.5 5l3.5 -5" fill="none" stroke="{INK}"/>')

    def grid(self, x, y, columns, name, of, width=W, arrows=True):
        """Draws columns of slots, stored consecutively, each from top to bottom."""
        self.text(x, y - 24, f"{name} {of}".strip(), mono=True)
        for number, cells in enumerate(columns):
            if arrows:
                self.arrow_down(x + (number + 0.5) * width, y - 17, 12)
            for row, (words, colour) in enumerate(cells):
                self.cell(x + number * width, y + row * H, words, colour, width)

    def save(self):
        body = "\n".join(self.parts)
        svg = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width}" height="{self.height}" '
            f'viewBox="0 0 {self.width} {self.height}" role="img" font-family="{SANS}" font-size="12" fill="{INK}">\n'
            f"<title>{self.title}</title>\n"
            '<defs><pattern id="padding" width="6" height="6" patternUnits="userSpaceOnUse">'
            '<rect width="6" height="6" fill="#F4F4F4"/><path d="M-1 7L7 -1" stroke="#9A9A9A"/></pattern></defs>\n'
            f'<rect width="{self.width}" height="{self.height}" rx="6" fill="#FCFCFA"/>\n{body}\n</svg>\n'
        )
        (Path(__file__).parent / f"{self.name}.svg").write_text(svg, encoding="utf-8")


def padded(cells, length):
    return cells + [("", "padding")] * (length - len(cells))


def columns_of(rows, width, item):
    """Returns the columns of slots of some rows in ELLPACK; `item` is 0 for the columns and 1 for the values."""
    table = [padded([(entry[item], row) for entry in ROWS[row]][:width], width) for row in rows]
    return [[cells[place] for cells in table] for place in range(width)]


def beyond(drawing, x, y, columns):
    """Draws the slots between the last row and the stride."""
    for column in range(columns):
        drawing.box(x + column * W, y, W, 12, "url(#padding)")


def matrix():
    d = Drawing("matrix", 560, 228, "The matrix of all drawings")
    for i in range(N):
        d.text(44, 38 + i * H + 15, i, "end")
        d.text(52 + i * W + W / 2, 30, i, "middle")
        for j in range(N):
            d.cell(52 + j * W, 38 + i * H, A.get((i, j), ""), i if (i, j) in A else None)
    x = 290
    d.text(x, 52, "8 rows, 8 columns, 22 nonzeros, symmetric")
    for i in range(N):
        d.cell(x + i * W, 66, i, i)
    d.text(x, 106, "a colour for each row")
    d.cell(x, 118, "p", 0)
    d.cell(x + W, 118, "p", 1)
    d.text(x + 60, 133, "equal letters: equal values")
    d.cell(x, 150, "", "padding")
    d.text(x + 60, 165, "padding, or a mark for no entry")
    d.text(x, 197, "Columns and rows are numbered from 0.")
    d.save()


def csr():
    d = Drawing("csr", 700, 246, "CSR: three arrays, and how its strategies share out the work")
    x, left = 12, 142
    d.array(x, 14, "row_offsets", "u32", [(offset, None) for offset in OFFSETS], left)
    for row, offset in enumerate(OFFSETS):
        d.line(x + left + (row + 0.5) * W, 14 + H, x + left + offset * W, 64, colour="#777777")
    d.array(x, 64, "column_indices", "u32", [(j, i) for i, j, _ in ENTRIES], left)
    d.array(x, 92, "values", "T", [(value, i) for i, _, value in ENTRIES], left)
    y = 124
    shares = {
        "csr-scalar: threads": [(len(row), str(i)) for i, row in enumerate(ROWS)],
        "csr-vector-2: lanes": [(1, str(2 * i + place % 2)) for i, row in enumerate(ROWS) for place in range(len(row))],
        "csr-load-balanced": [(8, "warp 0: 8 nonzeros"), (8, "warp 1: 8 nonzeros"), (6, "warp 2: 6 nonzeros")],
        "csr-merge-path": merge_path(10, "warp"),
        "csr-tiled": merge_path(10, "block"),
    }
    for name, parts in shares.items():
        d.text(x, y + 13.5, name)
        entry = 0
        for number, (count, words) in enumerate(parts):
            d.share(x + left + entry * W, y, count, words, number)
            entry += count
        assert entry == len(ENTRIES)
        y += 23
    d.save()


def merge_path(items, worker):
    """Returns shares of `items` rows and entries: the end of row i is item OFFSETS[i + 1] + i."""
    ends = [OFFSETS[i + 1] + i for i in range(N)]
    total = N + len(ENTRIES)
    shares = []
    for number, begin in enumerate(range(0, total, items)):
        end = min(begin + items, total)
        rows = sum(begin <= item < end for item in ends)
        shares.append((end - begin - rows, f"{worker} {number}: {end - begin - rows} + {rows} row ends"))
    return shares


def ell():
    width = max(map(len, ROWS))
    d = Drawing("ell", 560, 256, "ELL: columns of slots, each with a slot for every row")
    for number, (item, name, of) in enumerate([(0, "column_indices", "u32"), (1, "values", "T")]):
        x = 92 + number * 170
        d.grid(x, 44, columns_of(range(N), width, item), name, of)
        beyond(d, x, 44 + N * H, width)
    for i in range(N):
        d.text(84, 44 + i * H + 15, f"thread {i}", "end")
    d.text(84, 44 + N * H + 11, "8 to 31", "end")
    x = 392
    lines = ["width = 4", "stride = 32", "", "Arrows: the order", "in memory.", "", "Neighbouring threads"]
    for line, words in enumerate(lines + ["read neighbouring", "slots."]):
        d.text(x, 58 + line * 17, words)
    d.save()


def sell_p():
    d = Drawing("sell-p", 708, 332, "SELL-P: slices of four rows, each with its own width, unsorted and sorted")
    by_length = sorted(range(N), key=lambda row: (-len(ROWS[row]), row))
    for side, (order, words) in enumerate([(range(N), "sell-p:slice=4"), (by_length, "sell-p:slice=4,sigma=8")]):
        order = list(order)
        x = 76 + side * 350
        d.text(x, 22, words, mono=True, bold=True)
        slices = [order[:4], order[4:]]
        widths = [max(len(ROWS[row]) for row in rows) for rows in slices]
        for number, (rows, width) in enumerate(zip(slices, widths)):
            y = 72 + number * (4 * H + 14)
            for item, name in enumerate(["column_indices u32", "values T"]):
                at = x + item * 150
                for place, cells in enumerate(columns_of(rows, width, item)):
                    if number == 0:
                        d.arrow_down(at + (place + 0.5) * W, y - 17, 12)
                    for row, (words, colour) in enumerate(cells):
                        d.cell(at + place * W, y + row * H, words, colour)
                if number == 0:
                    d.text(at, y - 24, name, mono=True)
            for row, number_of_row in enumerate(rows):
                d.text(x - 8, y + row * H + 15, f"row {number_of_row}", "end")
        begins = [0, widths[0], sum(widths)]
        d.text(x - 50, 288, "slice_begins u64", mono=True)
        d.cells(x + 76, 272, [(begin, None) for begin in begins])
        d.text(x + 160, 288, f"{4 * begins[2]} slots")
        d.text(x - 50, 318, "row_indices u32", mono=True)
        if side == 0:
            d.text(x + 76, 318, "empty")
        else:
            d.cells(x + 76, 302, [(row, row) for row in order])
    d.save()


def lane_order(rows):
    """Returns rows of a slice in the order of their halves of words and values: rows l and l + LANES for each lane l."""
    return [rows[lane + half * LANES] for lane in range(LANES) for half in range(2)]


def words_and_values(d, x, y, places):
    """Draws halves of words and values of columns of slots; a slot of a row is (row, half, value) or (row, None, None)."""
    width = SLICE * W
    for number, place in enumerate(places):
        at = x + number * width
        for cell, (row, half, value) in enumerate(lane_order(place)):
            colour = "padding" if half is None else row
            d.cell(at + cell * W, y, "" if half is None else half, colour)
            d.cell(at + cell * W, y + H + 6, "" if half is None else value, colour)
        for word in range(LANES + 1):
            d.line(at + 2 * word * W, y - 2, at + 2 * word * W, y + H + 2, 2.4)
            d.line(at + 2 * word * W, y + H + 4, at + 2 * word * W, y + 2 * H + 8, 2.4)


def sell_16():
    d = Drawing("sell-16", 700, 224, "SELL-16: offsets of 16 bits from a base for each column of slots")
    slices = []
    for first in range(0, N, SLICE):
        left = {row: list(ROWS[row]) for row in range(first, first + SLICE)}
        places = []
        while any(left.values()):
            base = min(entries[0][0] for entries in left.values() if entries)
            place = []
            for row, entries in left.items():
                column, value = entries.pop(0) if entries else (None, None)
                place.append((row, None if column is None else column - base, value))
            places.append((base, place))
        slices.append(places)
    x, y = 14, 46
    widths = [len(places) for places in slices]
    at = x
    for number, places in enumerate(slices):
        rows = f"slice {number}: rows {number * SLICE} to {number * SLICE + SLICE - 1}"
        d.bracket(at, y - 8, len(places) * SLICE * W, rows)
        for place, (base, _) in enumerate(places):
            d.cell(at + place * SLICE * W, y + 16, base, None, SLICE * W)
        words_and_values(d, at, y + 62, [place for _, place in places])
        at += len(places) * SLICE * W
    d.text(x, y + 11, "bases u32", mono=True)
    d.text(x, y + 55, "column_offsets u32: a word for each lane, two offsets of 16 bits; below it, values T")
    y = y + 62 + 2 * H + 26
    d.text(x, y, "Lane 0 of a warp has rows 0 and 2 of a slice, lane 1 rows 1 and 3: two offsets are halves of one word.")
    d.text(x, y + 20, f"slice_begins u64: 0, {widths[0]}, {sum(widths)}", mono=True)
    d.save()


def dia():
    offsets = sorted({j - i for i, j in A})
    d = Drawing("dia", 560, 276, "DIA: five diagonals, each with a slot for every row")
    x, y = 104, 66
    cell = lambda i, j: (A[i, j], i) if (i, j) in A else ("", "padding")
    columns = [[cell(i, i + offset) for i in range(N)] for offset in offsets]
    d.text(x - 8, 25, "offsets i32", "end", mono=True)
    d.cells(x, 10, [(str(offset).replace("-", "−"), None) for offset in offsets])
    d.text(x - 8, y - 14, "values T", "end", mono=True)
    d.grid(x, y, columns, "", "")
    beyond(d, x, y + N * H, len(offsets))
    for i in range(N):
        d.text(x - 8, y + i * H + 15, f"row {i}", "end")
    d.text(x - 8, y + N * H + 11, "8 to 31", "end")
    lines = ["stride = 32, 5 diagonals", "", "An entry of row i on the diagonal",
             "with offset o is in column i + o:", "no column is stored.", "", "22 of 40 slots of rows have an",
             "entry; the others hold a mark,", "a NaN with all bits set."]
    for line, words in enumerate(lines):
        d.text(268, y + 12 + line * 17, words)
    d.save()


def coo():
    d = Drawing("coo", 700, 144, "COO: a row, a column and a value for each entry")
    x, left = 12, 142
    d.array(x, 14, "row_indices", "u32", [(i, i) for i, _, _ in ENTRIES], left)
    d.array(x, 42, "column_indices", "u32", [(j, i) for i, j, _ in ENTRIES], left)
    d.array(x, 70, "values", "T", [(value, i) for i, _, value in ENTRIES], left)
    d.text(x, 116, "intervals")
    for number, begin in enumerate(range(0, len(ENTRIES), 8)):
        count = min(8, len(ENTRIES) - begin)
        last = ENTRIES[begin + count - 1][0]
        d.share(x + left + begin * W, 103, count, f"warp {number}, carry of row {last}", number)
    d.save()


def coo_16():
    panel = 4
    tiles = {}
    for i, j, value in ENTRIES:  # a row has one slot, its own
        tiles.setdefault((i // panel, j // panel), []).append((i, j, value))
    stored, brackets, begins, words = [], [], {}, {}
    for column_panel in range(N // panel):
        for row_panel in range(N // panel):
            entries = tiles[row_panel, column_panel]
            groups = -(-len(entries) // LANES)
            while any(a[0] == b[0] for a, b in zip(entries, entries[groups:])):
                groups += 1
            begins[row_panel, column_panel] = len(stored)
            words[row_panel, column_panel] = (len(entries), groups)
            brackets.append((len(stored), len(entries), row_panel, column_panel))
            for group in range(groups):
                dealt = entries[group::groups]
                assert len({entry[0] for entry in dealt}) == len(dealt) <= LANES
                stored += [(*entry, group) for entry in dealt]
    d = Drawing("coo-16", 720, 268, "COO-16: entries tile by tile, with columns and slots of 16 bits")
    x, left = 12, 160
    y = 40
    for begin, count, row_panel, column_panel in brackets:
        d.bracket(x + left + begin * W, y - 4, count * W, f"tile {row_panel}, {column_panel}")
    d.array(x, y, "values", "T", [(value, i) for i, _, value, _ in stored], left)
    d.text(x, y + 45, "groups")
    begin = 0
    while begin < len(stored):
        end = begin
        while end < len(stored) and stored[end][3] == stored[begin][3] and (end - begin) < LANES and (
            end == begin or not any(end == tile[0] for tile in brackets)
        ):
            end += 1
        d.share(x + left + begin * W, y + 32, end - begin, stored[begin][3], stored[begin][3])
        begin = end
    for number, (name, item) in enumerate([("column_offsets", 1), ("slot_offsets", 0)]):
        at = y + 62 + number * 32
        d.text(x, at + 15.5, name, mono=True)
        d.text(x + left - 8, at + 15.5, "u32", "end", mono=True)
        for chunk in range(0, len(stored), 2 * LANES):
            for lane in range(LANES):
                for half in range(2):
                    cell = chunk + 2 * lane + half
                    entry = chunk + lane + half * LANES
                    there = entry < len(stored)
                    words_of = stored[entry][item] % panel if there else 0
                    d.cell(x + left + cell * 22.6, at, words_of, stored[entry][0] if there else "padding", 22.6)
        for word in range(2 * LANES * -(-len(stored) // (2 * LANES)) // 2 + 1):
            d.line(x + left + word * 45.2, at - 2, x + left + word * 45.2, at + H + 2, 2.4)
    y += 62 + 64
    order = [(row_panel, column_panel) for row_panel in range(2) for column_panel in range(2)]
    d.text(x + left, y + 12, "A word has the halves of entries l, the lower one, and l + 2 of each four.")
    d.array(x, y + 26, "slot_begins", "u32", [(slot, None) for slot in range(N + 1)], left)
    d.array(x, y + 54, "tile_begins", "u32", [(begins[tile], None) for tile in order], left)
    d.array(x + 400, y + 26, "panel_rows", "u32", [(4, None), (7, None)], 124)
    d.array(x + 400, y + 54, "tile_words", "u32", [("%d, %d" % words[tile], None) for tile in order], 124, 42)
    d.save()


def column_panels():
    panel, lane_entries = 4, 2  # 16 entries per lane in the library
    tile = LANES * lane_entries
    slots, tiles, panel_tiles = [], [], [0]  # row or "padding", column in the panel, value, piece
    pieces_of = {i: [] for i in range(N)}
    pieces, tile_pieces = 0, [0]
    for first in range(0, N, panel):
        entries = [(i, j - first, value) for i, j, value in ENTRIES if first <= j < first + panel]
        while entries:
            own, entries = entries[:tile], entries[tile:]
            own += [("padding", *own[-1][1:])] * (tile - len(own))
            before = None
            for row, column, value in own:
                if row != before:
                    if row != "padding":
                        pieces_of[row].append(pieces)
                    pieces += 1
                before = row
                slots.append((row, column, value, pieces - 1))
            tiles.append(first // panel)
            tile_pieces.append(pieces)
        panel_tiles.append(len(tiles))
    d = Drawing("column-panels", 720, 262, "Column panels: entries panel by panel, cut into tiles and pieces")
    x, left, width = 12, 146, 19.9
    y = 40
    for number, of in enumerate(tiles):
        words = f"panel {of}" if number in panel_tiles else ""
        d.bracket(x + left + number * tile * width, y - 4, tile * width, words)
    d.array(x, y, "column_offsets", "u32", [(column, row) for row, column, *_ in slots], left, width)
    for word in range(len(slots) // 2 + 1):
        d.line(x + left + word * 2 * width, y - 2, x + left + word * 2 * width, y + H + 2, 2.4)
    d.text(x, y + 45, "pieces")
    begin = 0
    while begin < len(slots):
        end = begin
        while end < len(slots) and slots[end][3] == slots[begin][3]:
            end += 1
        d.share(x + left + begin * width, y + 32, end - begin, slots[begin][3], slots[begin][3], width)
        begin = end
    in_tile = [lane * lane_entries + i for i in range(lane_entries) for lane in range(LANES)]
    order = [number * tile + place for number in range(len(tiles)) for place in in_tile]
    d.array(x, y + 62, "values", "T", [(slots[place][2], slots[place][0]) for place in order], left, width)
    listed = [(piece, i) for i in range(N) for piece in pieces_of[i]]
    without = [piece for piece in range(pieces) if all(piece != other for other, _ in listed)]
    begins = [sum(len(pieces_of[i]) for i in range(row)) for row in range(N + 1)]
    d.text(x + left, y + 106, "A piece ends with its row, its tile or its panel. The last two pieces are padding.")
    d.array(x, y + 118, "piece_numbers", "u32", listed + [(piece, "padding") for piece in without], left, width)
    d.array(x, y + 146, "row_begins", "u32", [(begin, None) for begin in begins], left, width)
    d.array(x, y + 174, "panel_tiles", "u32", [(begin, None) for begin in panel_tiles], left, width)
    d.array(x + 360, y + 146, "tile_pieces", "u32", [(begin, None) for begin in tile_pieces], left, width)
    d.save()


def hyb():
    width = sorted(map(len, ROWS))[N // 4]
    d = Drawing("hyb", 640, 256, "HYB: the first entries of each row in ELL, the others in COO")
    for number, (item, name) in enumerate([(0, "ell.column_indices u32"), (1, "ell.values T")]):
        x = 70 + number * 180
        d.grid(x, 44, columns_of(range(N), width, item), name, "")
        beyond(d, x, 44 + N * H, width)
    for i in range(N):
        d.text(62, 44 + i * H + 15, f"row {i}", "end")
    d.text(62, 44 + N * H + 11, "8 to 31", "end")
    rest = [(i, j, value) for i in range(N) for j, value in ROWS[i][width:]]
    x = 400
    for number, name in enumerate(["coo.row_indices u32", "coo.column_indices u32", "coo.values T"]):
        d.text(x, 66 + number * 52, name, mono=True)
        d.cells(x, 72 + number * 52, [(entry[number], entry[0]) for entry in rest])
    d.text(x, 222, f"width = Q(1/4) = {width}, stride = 32")
    d.save()


def word_cells(d, x, y, cells):
    """Draws words of CMRS: the column above, the row in the strip below."""
    for number, (column, row, colour) in enumerate(cells):
        d.cell(x + number * W, y, column, colour)
        d.cell(x + number * W, y + H, row, colour)


def cmrs():
    height = 4
    d = Drawing("cmrs", 700, 296, "CMRS: strips of four rows, sorted by column, and padded CMRS")
    x, left, y = 12, 142, 54
    strips = [[(j, i % height, i, value) for i, j, value in ENTRIES if i // height == strip] for strip in range(2)]
    strips = [sorted(strip) for strip in strips]
    stored = [entry for strip in strips for entry in strip]
    d.text(x, 18, "cmrs:height=4", mono=True, bold=True)
    at = x + left
    for number, strip in enumerate(strips):
        first = number * height
        d.bracket(at, y - 4, len(strip) * W, f"strip {number}: rows {first} to {first + height - 1}")
        at += len(strip) * W
    d.text(x, y + 15.5, "words u32", mono=True)
    d.text(x + left - 8, y + 15.5, "column", "end")
    d.text(x + left - 8, y + H + 15.5, "row", "end")
    word_cells(d, x + left, y, [(j, row, i) for j, row, i, _ in stored])
    d.array(x, y + 50, "values", "T", [(value, i) for _, _, i, value in stored], left)
    begins = [0, len(strips[0]), len(stored)]
    d.array(x, y + 78, "strip_offsets", "u32", [(begin, None) for begin in begins], left)
    d.text(x + left + 92, y + 93.5, "A word is 16 times the column plus the row in the strip.")
    # Padded: steps of 8 slots, 2 partial sums per row.
    step, sums = 8, 2
    entries = [(j, i % height, i, value) for i, j, value in ENTRIES if i < height]
    steps = max(-(-len(entries) // step), -(-max(len(ROWS[i]) for i in range(height)) // sums))
    places = [s * step + r * sums + b for r in range(step // sums) for s in range(steps) for b in range(sums)]
    table = [("", "", "padding", "")] * (steps * step)
    for place, entry in zip(places, entries):
        table[place] = entry
    for s in range(steps):
        for b in range(sums):
            rows = [table[s * step + r * sums + b][1] for r in range(step // sums)]
            rows = [row for row in rows if row != ""]
            assert len(set(rows)) == len(rows)
    y = 196
    d.text(x, y - 14, "cmrs-padded", mono=True, bold=True)
    for s in range(steps):
        d.bracket(x + left + s * step * W, y - 4, step * W, f"strip 0, step {s}")
    d.text(x, y + 15.5, "words u32", mono=True)
    d.text(x + left - 8, y + 15.5, "column", "end")
    d.text(x + left - 8, y + H + 15.5, "row", "end")
    word_cells(d, x + left, y, [(j, row, i) for j, row, i, _ in table])
    d.text(x, y + H + 36.5, "partial sum")
    for place in range(steps * step):
        d.share(x + left + place * W, y + 2 * H + 3, 1, place % sums, place)
    d.text(x + left, y + 2 * H + 40, "Drawn for 2 partial sums a row and steps of 8 slots; the library has 8 and 32.")
    d.save()


def blocks_of(block_row):
    """Returns the block columns of a block row, with blocks of 2 x 2."""
    return sorted({j // 2 for i, j in A if i // 2 == block_row})


def block_word(block_row, block, word):
    """Returns the slots of a block's column: a word of two values."""
    rows = [2 * block_row, 2 * block_row + 1]
    column = 2 * block + word
    return [(A[row, column], row) if (row, column) in A else ("", "padding") for row in rows]


def bcsr():
    d = Drawing("bcsr", 660, 222, "BCSR: block rows of dense blocks, their words interleaved")
    x, y = 12, 46
    values = x + 230
    d.text(x, y - 14, "first_columns u32", mono=True)
    d.text(values, y - 14, "values T: first words of all blocks, then second words")
    offsets = [0]
    for block_row in range(N // 2):
        blocks = blocks_of(block_row)
        offsets.append(offsets[-1] + len(blocks))
        at = y + block_row * (H + 10)
        d.cells(x, at, [(2 * block, None) for block in blocks])
        d.text(values - 12, at + 15.5, f"block row {block_row}", "end")
        for word in range(2):
            for number, block in enumerate(blocks):
                left = values + (word * len(blocks) + number) * 2 * W
                d.cells(left, at, block_word(block_row, block, word))
        for word in range(2 * len(blocks) + 1):
            thick = 3.4 if word in (0, len(blocks), 2 * len(blocks)) else 2
            d.line(values + word * 2 * W, at - 2, values + word * 2 * W, at + H + 2, thick)
    y += 4 * (H + 10) + 8
    d.array(x, y, "block_offsets", "u32", [(offset, None) for offset in offsets], 142)
    d.text(x + 290, y + 15.5, "The lines of an array follow each other in memory.")
    d.save()


def bellpack():
    d = Drawing("bellpack", 700, 214, "BELLPACK: block rows by length, in partitions, their words interleaved")
    order = sorted(range(N // 2), key=lambda row: (-len(blocks_of(row)), row))
    width = len(blocks_of(order[0]))
    x, y, values = 12, 66, 238
    d.text(x, y - 34, "first_columns u32", mono=True)
    d.text(values, y - 34, "values T", mono=True)
    for word, words in enumerate(["first words of the block rows", "second words"]):
        d.bracket(values + word * len(order) * 2 * W, y - 4, len(order) * 2 * W, words)
    for step in range(width):
        at = y + step * (H + 10)
        d.text(values - 12, at + 15.5, f"step {step}", "end")
        for lane, block_row in enumerate(order):
            blocks = blocks_of(block_row)
            there = step < len(blocks)
            d.cell(x + lane * W, at, 2 * blocks[step] if there else "", None if there else "padding")
            for word in range(2):
                left = values + (word * len(order) + lane) * 2 * W
                d.cells(left, at, block_word(block_row, blocks[step], word) if there else [("", "padding")] * 2)
        for word in range(2 * len(order) + 1):
            thick = 3.4 if word in (0, len(order), 2 * len(order)) else 2
            d.line(values + word * 2 * W, at - 2, values + word * 2 * W, at + H + 2, thick)
    y += width * (H + 10) + 12
    d.array(x, y, "block_rows", "u32", [(row, None) for row in order], 120)
    d.array(x + 240, y, "partition_offsets", "u32", [(0, None), (width, None)], 172)
    d.text(x + 480, y + 15.5, "One partition, R = 32.")
    d.save()


PARTS = [[0, 1, 4, 5], [2, 3, 6, 7]]  # rows that share columns


def part_drawing(d, x, y, name, lists, places):
    """Draws a part: its lists to the left, its slots to the right."""
    d.text(x, y + 8, name, bold=True)
    for number, (words, cells) in enumerate(lists.items()):
        d.text(x, y + 32 + number * 48, words, mono=True)
        d.cells(x, y + 39 + number * 48, cells)
    at = x + 264
    for number in range(len(places)):
        d.bracket(at + number * SLICE * W, y + 30, SLICE * W, f"slot {number}")
    words_and_values(d, at, y + 36, places)
    d.text(at - 10, y + 36 + 15.5, "local_columns u32", "end", mono=True)
    d.text(at - 10, y + 36 + H + 21.5, "values T", "end", mono=True)


def clustered():
    d = Drawing("clustered", 680, 304, "Clustered: two parts of rows that share columns, each with a list of its columns")
    for number, part in enumerate(PARTS):
        rows = sorted(part, key=lambda row: (-len(ROWS[row]), row))
        columns = sorted({j for row in rows for j, _ in ROWS[row]})
        width = len(ROWS[rows[0]])
        places = []
        for place in range(width):
            entries = [(row, *(ROWS[row][place] if place < len(ROWS[row]) else (None, None))) for row in rows]
            places.append([(row, None if j is None else columns.index(j), value) for row, j, value in entries])
        lists = {"row_numbers u32": [(row, row) for row in rows], "column_numbers u32": [(j, None) for j in columns]}
        part_drawing(d, 14, 14 + number * 138, f"part {number}", lists, places)
    d.text(14, 292, "A half of a word is an index into the part's list of columns: 4 in part 0 is column 6.")
    d.save()


def symmetric_part(part):
    """Returns the rows of a part by position, its halo, and its slots: the row that stores each pair, per step."""
    inside = {row: [j for j, _ in ROWS[row] if j in part and j != row] for row in part}
    wanted = {row: len(pairs) for row, pairs in inside.items()}
    owned = {row: [j for j, _ in ROWS[row] if j == row or j not in part] for row in part}
    for row in part:
        for other in inside[row]:
            if row < other:
                owner = row if wanted[row] >= wanted[other] else other
                owned[owner].append(other if owner == row else row)
                wanted[owner] -= 2
    rows = sorted(part, key=lambda row: (-len(owned[row]), row))
    halo = sorted({j for row in part for j in owned[row] if j not in part})
    left = {row: sorted(owned[row]) for row in rows}
    steps = []
    while any(left.values()):
        taken, step = set(), []
        for row in rows:
            # An entry that stands for a pair takes precedence, unless another one of the step adds to the same sum.
            pairs = {j for j in left[row] if j in part and j != row}
            free = [j for j in left[row] if j not in pairs & taken]
            if not free:
                step.append((row, None, None))
                continue
            column = max(free, key=lambda j: j in pairs)
            left[row][left[row].index(column)] = left[row][-1]
            left[row].pop()
            taken |= pairs & {column}
            local = rows.index(column) if column in part else len(rows) + halo.index(column)
            step.append((row, local, A[row, column]))
        steps.append(step)
    return rows, halo, steps


def clustered_symmetric():
    d = Drawing("clustered-symmetric", 680, 324, "Clustered-symmetric: pairs of equal entries stored once")
    stored = 0
    for number, part in enumerate(PARTS):
        rows, halo, steps = symmetric_part(part)
        stored += sum(local is not None for step in steps for _, local, _ in step)
        lists = {"row_numbers u32": [(row, row) for row in rows], "halo_columns u32": [(j, None) for j in halo]}
        part_drawing(d, 14, 14 + number * 138, f"part {number}", lists, steps)
    d.text(14, 292, "A half below 4 is the position of a row of the part: q of row 5 has 1, the position of row 1, so it also")
    d.text(14, 311, f"stands for q of row 1. Halves from 4 on are columns of the halo. {stored} values stand for 22 nonzeros.")
    d.save()


for draw in [matrix, csr, ell, sell_p, sell_16, dia, coo, coo_16, column_panels, hyb, cmrs, bcsr, bellpack, clustered, clustered_symmetric]:
    draw()
