/** Rectangles of areas in proportion to sizes, largest first, each row as square as it gets (Bruls, Huizing, van Wijk). */
function squarified(sizes, width, height) {
  const total = sizes.reduce((sum, size) => sum + size, 0), scale = width * height / (total || 1), out = [];
  let [x, y, wide, high] = [0, 0, width, height], at = 0;
  const worst = (sum, least, most, side) => Math.max(side * side * most / (sum * sum), sum * sum / (side * side * least));
  while (at < sizes.length) {
    const side = Math.min(wide, high), row = [sizes[at] * scale];
    let sum = row[0];
    while (at + row.length < sizes.length) {
      const next = sizes[at + row.length] * scale;
      if (worst(sum + next, next, row[0], side) > worst(sum, row[row.length - 1], row[0], side)) break;
      row.push(next);
      sum += next;
    }
    const thick = sum / side;
    let along = 0;
    for (const area of row) {
      const long = area / thick;
      out.push(wide >= high ? [x, y + along, thick, long] : [x + along, y, long, thick]);
      along += long;
    }
    if (wide >= high) { x += thick; wide -= thick; } else { y += thick; high -= thick; }
    at += row.length;
  }
  return out;
}
/**
 * A treemap of parts (Name, Size, Parts), and the same as a table for those who cannot see it. A part with parts of its own is a button, which
 * shows them; Escape and the path above lead back.
 */
function treemap(title, note, parts) {
  const element = (tag, kind, ...inside) => {
    const made = document.createElement(tag);
    if (kind) made.className = kind;
    made.append(...inside);
    return made;
  };
  const bytes = size => size.toLocaleString("en") + (size === 1 ? " byte" : " bytes");
  const root = {Name: title, Parts: parts};
  const path = element("nav", "path"), map = element("div", "map"), rows = element("div", "scroll");
  path.setAttribute("aria-label", `Path in ${title}`);
  map.setAttribute("role", "group");
  let trail = [root];
  function show(focus) {
    const here = trail[trail.length - 1];
    const sorted = here.Parts.filter(part => part.Size > 0).sort((a, b) => b.Size - a.Size);
    const total = sorted.reduce((sum, part) => sum + part.Size, 0);
    const share = size => (size * 100 / total).toFixed(1) + " %";
    path.replaceChildren(...trail.flatMap((step, index) => {
      const name = index ? step.Name : "all";
      if (index + 1 === trail.length) return [element("strong", "", name)];
      const back = element("button", "", name);
      back.type = "button";
      back.addEventListener("click", () => { trail = trail.slice(0, index + 1); show(true); });
      return [back, "›"];
    }));
    map.setAttribute("aria-label", `${title}: parts of ${trail.length > 1 ? here.Name : "all"}, ${bytes(total)}`);
    const boxes = squarified(sorted.map(part => part.Size), 1000, 400);
    map.replaceChildren(...sorted.map((part, index) => {
      const [x, y, wide, high] = boxes[index], opens = part.Parts && part.Parts.length;
      const box = element(opens ? "button" : "div", "");
      const label = `${part.Name}: ${bytes(part.Size)}, ${share(part.Size)}`;
      if (opens) {
        box.type = "button";
        box.setAttribute("aria-label", `${label}, ${part.Parts.length} parts`);
        box.addEventListener("click", () => { trail = [...trail, part]; show(true); });
      }
      if (wide > 60 && high > 24) box.append(element("b", "", part.Name), ...(high > 44 ? [share(part.Size)] : []));
      box.title = label;
      Object.assign(box.style, {left: x / 10 + "%", top: y / 4 + "%", width: wide / 10 + "%", height: high / 4 + "%", background: `hsl(${(index * 47 + 205) % 360} 55% 76%)`});
      return box;
    }));
    const cell = (tag, kind, text) => { const made = element(tag, kind, text); if (tag === "th") made.scope = "col"; return made; };
    rows.replaceChildren(element("table", "", element("caption", "", `Parts of ${trail.length > 1 ? here.Name : "all"}, ${bytes(total)}`),
      element("thead", "", element("tr", "", cell("th", "", "Part"), cell("th", "count", "Bytes"), cell("th", "count", "Share"))),
      element("tbody", "", ...sorted.map(part => element("tr", "", cell("td", "", part.Name), cell("td", "count", part.Size.toLocaleString("en")), cell("td", "count", share(part.Size)))))));
    if (focus) (map.querySelector("button") || path.querySelector("button")).focus();
  }
  map.addEventListener("keydown", event => {
    if (event.key === "Escape" && trail.length > 1) { trail = trail.slice(0, -1); show(true); }
    const steps = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[event.key];
    if (!steps) return;
    const all = [...map.querySelectorAll("button")], at = all.indexOf(document.activeElement);
    if (at >= 0) { event.preventDefault(); all[(at + steps + all.length) % all.length].focus(); }
  });
  path.addEventListener("keydown", event => { if (event.key === "Escape" && trail.length > 1) { trail = trail.slice(0, -1); show(true); } });
  show(false);
  return [element("h3", "", title), element("p", "soft", note), path, map, element("details", "", element("summary", "", "As a table"), rows)];
}
