// Names beside their points, none over another, over a glyph or beyond the edge.

class Labels {
  constructor(layer, lines) {
    this.layer = layer;
    this.lines = lines;
    this.entries = [];
  }

  load(labels, onPick) {
    this.layer.replaceChildren();
    const names = labels.map((label) => label.text);
    this.entries = labels.map((label) => {
      const look = { type: "button", tabIndex: -1, title: label.text, className: label.cut ? "cut" : "" };
      const element = made("button", look, label.text);
      if (label.color) element.style.color = `rgb(${label.color})`;
      if (label.ref) element.addEventListener("click", () => onPick(label.ref));
      this.layer.append(element);
      // Long names are shown whole where they are pointed at or chosen.
      const measured = () => Math.ceil(element.getBoundingClientRect().width);
      const full = label.text, wide = measured();
      const text = shortened(full, names, 22);
      element.textContent = text;
      const narrow = measured(), height = Math.ceil(element.getBoundingClientRect().height);
      return { ...label, element, full, short: text, text, wide, narrow, width: narrow, height, place: null };
    });
  }

  // anchors: for each entry {x, y, clear} in pixels, or null; discs: {x, y, r} to keep off;
  // boxes: [left, top, right, bottom] that are taken; important: entries that go first.
  arrange(anchors, discs, boxes, size, important, most) {
    const taken = boxes.slice(), placed = [];
    const order = this.entries.map((_, i) => i).filter((i) => anchors[i]);
    const rank = (i) => (important.has(this.entries[i].ref) ? 0 : this.entries[i].cut ? 1 : 2);
    order.sort((a, b) => rank(a) - rank(b) || a - b);
    const middle = [size[0] / 2, size[1] / 2];
    for (const entry of this.entries) entry.shown = null;
    for (const i of order) {
      const entry = this.entries[i], anchor = anchors[i], whole = rank(i) === 0;
      if (placed.length >= most && !whole) break;
      entry.width = whole ? entry.wide : entry.narrow;
      entry.text = whole ? entry.full : entry.short;
      if (entry.element.textContent !== entry.text) entry.element.textContent = entry.text;
      const free = (box) => box[0] >= 2 && box[1] >= 2 && box[2] <= size[0] - 2 && box[3] <= size[1] - 2
        && !taken.some((o) => box[0] < o[2] && o[0] < box[2] && box[1] < o[3] && o[1] < box[3])
        && !discs.some((d) => Labels.touches(box, d));
      const reach = rank(i) === 2 ? 2 : 7;
      const outward = Math.atan2(anchor.y - middle[1], anchor.x - middle[0]);
      let found = null;
      search: for (let ring = 0; ring < reach; ring++)
        for (let k = 0; k < 12; k++) {
          const angle = outward + ((k % 2 ? 1 : -1) * Math.ceil(k / 2) * Math.PI) / 6;
          const far = anchor.clear + 4 + 16 * ring;
          const cx = anchor.x + Math.cos(angle) * (far + entry.width / 2);
          const cy = anchor.y + Math.sin(angle) * (far + entry.height / 2);
          const box = [cx - entry.width / 2, cy - entry.height / 2, cx + entry.width / 2, cy + entry.height / 2];
          if (!free(box)) continue;
          found = box;
          break search;
        }
      // Where it was before, as long as it fits there: names should not flicker.
      if (entry.place && found) {
        const [dx, dy] = entry.place, box = [anchor.x + dx, anchor.y + dy,
          anchor.x + dx + entry.width, anchor.y + dy + entry.height];
        if (free(box)) found = box;
      }
      if (!found) continue;
      entry.shown = found;
      entry.place = [found[0] - anchor.x, found[1] - anchor.y];
      taken.push(found);
      placed.push({ box: found, anchor });
    }
    for (const entry of this.entries) {
      entry.element.style.visibility = entry.shown ? "visible" : "hidden";
      if (!entry.shown) { entry.place = null; continue; }
      const [x, y] = entry.shown;
      entry.element.style.transform = `translate(${x.toFixed(1)}px, ${y.toFixed(1)}px)`;
      entry.element.classList.toggle("chosen", important.has(entry.ref));
    }
    this.lines.setAttribute("d", placed.map(({ box, anchor }) => {
      const x = Math.min(Math.max(anchor.x, box[0]), box[2]), y = Math.min(Math.max(anchor.y, box[1]), box[3]);
      const way = Math.hypot(x - anchor.x, y - anchor.y);
      if (way < anchor.clear + 6) return "";
      const t = anchor.clear / way;
      return `M${(anchor.x + (x - anchor.x) * t).toFixed(1)} ${(anchor.y + (y - anchor.y) * t).toFixed(1)}`
        + `L${x.toFixed(1)} ${y.toFixed(1)}`;
    }).join(""));
  }

  static touches(box, disc) {
    const x = Math.min(Math.max(disc.x, box[0]), box[2]), y = Math.min(Math.max(disc.y, box[1]), box[3]);
    return Math.hypot(x - disc.x, y - disc.y) < disc.r;
  }
}
