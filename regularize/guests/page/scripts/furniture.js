// What belongs to the view and not to the mechanism: axes, gravity and a scale, as paths and words.

class Furniture {
  constructor(svg, data) {
    this.svg = svg;
    this.group = svg.appendChild(drawn("g"));
    this.gravity = data.gravity;
  }

  path(d, name) {
    this.group.append(drawn("path", { d, class: name }));
  }

  words(text, x, y, name) {
    const words = drawn("text", { x: x.toFixed(1), y: y.toFixed(1), class: name });
    words.textContent = text;
    this.group.append(words);
  }

  arrow(from, [dx, dy], name) {
    const size = Math.hypot(dx, dy), to = [from[0] + dx, from[1] + dy];
    let d = `M${from}L${to}`;
    if (size > 8) {
      const [ux, uy] = [dx / size, dy / size];
      for (const side of [1, -1])
        d += `M${to}L${[to[0] - 6 * ux + side * 3 * uy, to[1] - 6 * uy - side * 3 * ux]}`;
    }
    this.path(d, name);
  }

  // Draws it for a camera; returns the boxes that it takes.
  draw(camera) {
    this.group.replaceChildren();
    const [width, height] = camera.size, r = camera.rotation, long = 26;
    const from = [40, height - 40];
    const axes = [0, 1, 2].map((i) => ({ i, seen: [r[0][i], -r[1][i]], deep: r[2][i] }));
    axes.sort((a, b) => a.deep - b.deep);
    for (const { i, seen } of axes) {
      const way = seen.map((x) => x * long);
      this.arrow(from, way, `axis-${"xyz"[i]}`);
      if (Math.hypot(...way) > 7)
        this.words("XYZ"[i], from[0] + seen[0] * (long + 9) - 4, from[1] + seen[1] * (long + 9) + 4,
          `axis-${"xyz"[i]}`);
    }
    const taken = [[0, height - 80, 80, height]];
    if (this.gravity) {
      const g = vector.unit(this.gravity), at = [104, height - 52];
      const way = [vector.dot(r[0], g) * 30, -vector.dot(r[1], g) * 30];
      if (Math.hypot(...way) > 6) this.arrow(at, way, "gravity");
      else this.path(`M${at[0] - 6} ${at[1]}a6 6 0 1 0 12 0a6 6 0 1 0 -12 0M${at[0] - 1} ${at[1]}h2`, "gravity");
      this.words("g", at[0] + 7, at[1] + 4, "gravity");
      taken.push([80, height - 88, 124, height]);
    }
    // A round length of some eighty pixels.
    const about = 80 / camera.scale, power = 10 ** Math.floor(Math.log10(about));
    const length = [5, 2, 1].map((k) => k * power).find((x) => x <= about) || power;
    const wide = length * camera.scale, right = width - 18, low = height - 20;
    this.path(`M${right - wide} ${low - 5}v5h${wide}v-5`, "scale");
    const said = length >= 1 ? `${Number(length.toPrecision(3))} m`
      : `${Number((1000 * length).toPrecision(3))} mm`;
    this.words(said, right - wide, low - 10, "scale");
    taken.push([right - wide - 6, height - 48, width, height]);
    return taken;
  }
}
