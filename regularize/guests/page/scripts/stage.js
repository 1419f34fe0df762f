// The picture: scene, names, furniture, and what people do to it with pointers and keys.

class Stage {
  constructor(element, data, bus) {
    this.element = element;
    this.bus = bus;
    this.canvas = made("canvas", { tabIndex: 0 });
    this.camera = new Camera(data.camera);
    this.scene = new Scene(this.canvas, data, this.camera);
    this.svg = drawn("svg", { class: "overlay" });
    const lines = this.svg.appendChild(drawn("path", { class: "leader" }));
    this.furniture = new Furniture(this.svg, data);
    this.layer = made("div", { className: "names" });
    this.labels = new Labels(this.layer, lines);
    this.tools = element.querySelector(".tools");
    this.card = element.querySelector(".card");
    element.prepend(this.canvas, this.svg, this.layer);
    element.classList.add("live");
    this.canvas.setAttribute("role", "img");
    this.canvas.setAttribute("aria-label", element.dataset.label + ". Drag a body to "
      + "move it, beside it or by the arrow keys to turn the view; the wheel or plus and minus to come nearer; names and joints can be clicked.");
    this.chosen = this.hovered = null;
    this.data = data;
    this.forces = [];
    this.parts = new Parts(data);
    this.poses = data.poses;
    this.palette();
    this.labels.load(data.labels, (ref) => bus.emit("select", ref));
    this.listen();
    new ResizeObserver(() => this.redraw()).observe(element);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      this.palette();
      this.redraw();
    });
    bus.on("select", (ref) => { this.chosen = ref; this.redraw(); });
    bus.on("hover", (ref) => { this.hovered = ref; this.redraw(); });
    bus.on("preview", (k) => { this.preview = k; this.since = performance.now(); this.redraw(); });
    bus.on("forces", (forces) => { this.forces = forces; this.redraw(); });
    bus.on("pose", (state) => { this.poses = state.poses; this.redraw(); });
  }

  palette() {
    const style = getComputedStyle(document.documentElement);
    const color = (name) => {
      const hex = style.getPropertyValue(name).trim();
      return [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16) / 255);
    };
    this.paper = color("--soft");
    this.mark = color("--mark");
    this.accent = color("--accent");
    this.gain = color("--good");
    this.gridColor = [...color("--line"), 1];
  }

  color(piece) {
    const mix = (a, b, t) => a.map((x, i) => x * (1 - t) + b[i] * t);
    let rgb = piece.color.slice(0, 3), alpha = piece.color[3];
    const ref = piece.ref;
    const way = this.way();
    if (way) rgb = way.refs.includes(ref) ? mix(rgb, this.mark, 0.75) : mix(rgb, this.paper, 0.4);
    if (this.chosen) {
      if (ref === this.chosen) rgb = mix(rgb, this.mark, 0.75);
      else if (!this.touched.has(ref)) { rgb = mix(rgb, this.paper, 0.72); }
    }
    if (ref && ref === this.hovered) rgb = mix(rgb, this.mark, 0.55);
    else if (this.hovered && this.near.has(ref)) rgb = mix(rgb, this.mark, 0.25);
    return [...rgb, alpha];
  }

  // Redundant directions in pixels: as large as neighbours allow. Of those that lie behind each
  // other only the first is drawn.
  glyphs() {
    const full = Math.min(46, Math.max(24, 0.09 * Math.min(...this.camera.size)));
    const seen = this.data.redundant.map((entry) => {
      const at = lie.moved(this.poses[entry.node], entry.point), [x, y, deep] = this.camera.project(at);
      const first = entry.ref === this.chosen || entry.ref === this.hovered || entry.loop === this.chosen;
      return { entry, at, x, y, deep, first };
    });
    seen.sort((a, b) => Number(b.first) - Number(a.first) || b.deep - a.deep);
    const shown = [];
    for (const each of seen)
      if (shown.every((o) => Math.hypot(o.x - each.x, o.y - each.y) > 20)) shown.push(each);
    for (const each of shown) {
      const gaps = shown.filter((o) => o !== each).map((o) => Math.hypot(o.x - each.x, o.y - each.y));
      each.r = Math.min(full, 0.48 * Math.min(Infinity, ...gaps));
    }
    return shown;
  }

  marks(glyphs) {
    const found = [];
    for (const { entry, at, r } of glyphs) {
      const pose = this.poses[entry.node];
      const fades = this.chosen && this.chosen !== entry.loop && !this.touched.has(entry.ref);
      const rgb = fades ? this.accent.map((x, i) => 0.35 * x + 0.65 * this.paper[i]) : this.accent;
      for (const { shape, direction } of entry.shapes)
        found.push(this.glyph(shape, at, lie.turned(pose, direction), r / this.camera.scale, rgb));
    }
    return found;
  }

  glyph(shape, at, direction, size, rgb) {
    const z = vector.unit(direction), x = vector.unit(lie.cross(Math.abs(z[0]) < 0.9 ? [1, 0, 0] : [0, 1, 0], z));
    const y = lie.cross(z, x);
    const T = [x[0], y[0], z[0], at[0], x[1], y[1], z[1], at[1], x[2], y[2], z[2], at[2]];
    return { shape, size, color: [...rgb, 1], T };
  }

  // Forces of the ground, as long as they are large beside the largest of the motion.
  pushes() {
    const longest = 0.12 * Math.min(...this.camera.size) / this.camera.scale;
    return this.forces.map((f) => {
      const force = f.slice(3).map((x) => longest * x), middle = force.map((x, i) => x + f[i]);
      return this.glyph("push", middle, force, Math.hypot(...force), this.gain);
    });
  }

  // The way to change joints that is looked at; null without.
  way() {
    return (this.preview === null || this.preview === undefined ? null : this.data.advice[this.preview]) || null;
  }

  // The freedoms that it gives, as arrows and rings of a colour of their own.
  gains() {
    const way = this.way();
    if (!way) return [];
    const r = Math.min(46, Math.max(24, 0.09 * Math.min(...this.camera.size)));
    const glyphs = way.gives.map((entry) => ({ entry, at: lie.moved(this.poses[entry.node], entry.point), r }));
    return this.marks(glyphs).map((mark) => ({ ...mark, color: [...this.gain, 1] }));
  }

  // The bodies of its joints once more, moved by one new freedom after the other, there and back; who
  // wants no motion sees them out at one side.
  ghosts(seconds) {
    const way = this.way(), still = matchMedia("(prefers-reduced-motion: reduce)").matches, found = [];
    if (!way) return found;
    const all = way.gives.flatMap((each) => each.twists.map((twist) => ({ ...each, twist })));
    const { node, mover, twist } = all[still ? 0 : Math.floor(seconds / 2.4) % all.length];
    const turns = twist.slice(3).some((x) => x), far = turns ? 0.25 : 0.12 * this.data.kinematics.length;
    const motion = lie.exp(twist, far * (still ? 1 : Math.sin((2 * Math.PI * seconds) / 2.4)));
    const base = this.poses[node], seen = lie.product(lie.inverse(base), this.poses[mover]);
    const T = lie.product(base, lie.product(motion, seen)), color = [...this.gain, 0.5];
    for (const piece of this.scene.pieces)
      if (piece.node === mover && piece.layer === "bodies") found.push({ piece, T, color });
    if (!still) this.redraw();
    return found;
  }

  fit() {
    const phone = this.camera.size[0] < 560;
    const margins = phone ? [26, 64, 26, 84] : [54, 58, 54, 78];
    this.camera.fit(this.scene.corners(this.poses), margins);
    this.camera.near(this.scene.points(this.poses), margins);
    this.redraw();
  }

  view(name) {
    this.camera.rotation = this.camera.views[name];
    this.fit();
  }

  redraw() {
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame(() => this.draw());
  }

  draw() {
    this.asked = false;
    const { clientWidth: width, clientHeight: height } = this.element;
    if (!width || !height || this.lost) return;
    const before = this.camera.size;
    this.scene.resize(width, height, window.devicePixelRatio || 1);
    if (before[0] !== width || before[1] !== height) {
      this.fit();
      this.asked = false;
    }
    this.touched = this.parts.touched(this.chosen);
    this.near = this.parts.touched(this.hovered);
    const hides = this.scene.hidden, glyphs = hides.has("redundant") ? [] : this.glyphs();
    this.scene.draw(this.poses, {
      paper: this.paper, grid: this.gridColor, color: (piece) => this.color(piece),
      glyphs: [...(this.way() ? this.gains() : this.marks(glyphs)), ...this.pushes()],
      ghosts: this.ghosts((performance.now() - this.since) / 1000),
    });
    const taken = hides.has("ground") ? [] : this.furniture.draw(this.camera);
    if (hides.has("ground")) this.furniture.group.replaceChildren();
    const frame = this.element.getBoundingClientRect();
    for (const box of [this.tools, this.card]) {
      const o = box.getBoundingClientRect();
      if (o.width) taken.push([o.left - frame.left, o.top - frame.top, o.right - frame.left, o.bottom - frame.top]);
    }
    this.arrange(glyphs, taken);
    this.bus.emit("view", this.camera);
  }

  arrange(glyphs, taken) {
    this.discs = glyphs.map(({ x, y, r, entry }) => ({ x, y, r, ref: entry.ref }));
    const size = this.camera.size, radius = new Map(this.discs.map((d) => [d.ref, d.r]));
    this.anchors = this.labels.entries.map((entry) => {
      const [x, y, deep] = this.camera.project(lie.moved(this.poses[entry.node], entry.point));
      const inside = x > 0 && y > 0 && x < size[0] && y < size[1];
      return inside ? { x, y, deep, clear: radius.get(entry.ref) || 7, ref: entry.ref } : null;
    });
    const dots = this.anchors.length > 80 ? [] : this.anchors.filter(Boolean).map(({ x, y }) => ({ x, y, r: 5 }));
    const important = new Set([this.chosen, this.hovered].filter(Boolean));
    if (this.chosen && this.chosen[0] !== "j")
      for (const ref of this.touched) if (ref[0] === "j") important.add(ref);
    const shown = this.scene.hidden.has("names") ? this.anchors.map(() => null) : this.anchors;
    this.labels.arrange(shown, [...this.discs, ...dots], taken, size, important, size[0] < 560 ? 10 : 18);
  }

  // What is at a point: joints near it, the nearest first, then the body under it.
  at(x, y, reach = 13) {
    const found = this.anchors.filter((a) => a && a.ref)
      .map((a) => ({ ref: a.ref, far: Math.hypot(a.x - x, a.y - y) - (a.clear > 7 ? 0.4 * a.clear : 0) }))
      .filter((a) => a.far < reach).sort((a, b) => a.far - b.far).map((a) => a.ref);
    const body = this.scene.pick(this.poses, x, y);
    return body && !found.includes(body) ? [...found, body] : found;
  }

  listen() {
    const canvas = this.canvas, fingers = new Map();
    // A lost context leaves the flat picture until it comes back.
    canvas.addEventListener("webglcontextlost", (e) => {
      e.preventDefault();
      this.lost = true;
      this.element.classList.remove("live");
    });
    canvas.addEventListener("webglcontextrestored", () => {
      this.scene.begin(this.data);
      this.lost = false;
      this.element.classList.add("live");
      this.redraw();
    });
    let start = null, last = null, held = null;
    const here = (e) => {
      const frame = this.element.getBoundingClientRect();
      return [e.clientX - frame.left, e.clientY - frame.top];
    };
    canvas.addEventListener("contextmenu", (e) => e.preventDefault());
    canvas.addEventListener("pointerdown", (e) => {
      canvas.setPointerCapture(e.pointerId);
      fingers.set(e.pointerId, here(e));
      start = fingers.size === 1 ? here(e) : null;
      held = start && !e.shiftKey && e.button === 0 ? this.hold(...start) : null;
    });
    canvas.addEventListener("pointermove", (e) => {
      const now = here(e), before = fingers.get(e.pointerId);
      if (!before) {
        if (e.pointerType === "mouse") this.hover(now);
        return;
      }
      const [dx, dy] = [now[0] - before[0], now[1] - before[1]];
      const others = [...fingers].filter(([id]) => id !== e.pointerId).map(([, at]) => at);
      if (others.length) {
        const o = others[0], far = (p) => Math.hypot(p[0] - o[0], p[1] - o[1]);
        this.camera.zoom(far(now) / Math.max(1, far(before)), o[0], o[1]);
        this.camera.pan(dx / 2, dy / 2);
      } else if (start && Math.hypot(now[0] - start[0], now[1] - start[1]) < 4) return;
      else if (held) this.bus.emit("drag", { ...held, to: this.camera.unproject(...now, held.deep) });
      else if (e.shiftKey || e.buttons & 6) this.camera.pan(dx, dy);
      else this.camera.orbit(0.008 * dx, 0.008 * dy);
      if (!others.length && start && Math.hypot(now[0] - start[0], now[1] - start[1]) >= 4) start = null;
      fingers.set(e.pointerId, now);
      this.redraw();
    });
    const end = (e) => {
      fingers.delete(e.pointerId);
      if (held && !start) this.bus.emit("dropped", null);
      held = null;
      if (start && e.type === "pointerup") this.click(start, last);
      last = start;
      start = null;
    };
    canvas.addEventListener("pointerup", end);
    canvas.addEventListener("pointercancel", end);
    canvas.addEventListener("pointerleave", () => this.bus.emit("hover", null));
    canvas.addEventListener("dblclick", () => this.fit());
    canvas.addEventListener("wheel", (e) => {
      e.preventDefault();
      this.camera.zoom(Math.exp(-0.0015 * e.deltaY), ...here(e));
      this.redraw();
    }, { passive: false });
    canvas.addEventListener("keydown", (e) => this.key(e));
  }

  // The point of a moving body under the pointer, to be dragged: in the body's frame, and how deep.
  hold(x, y) {
    if (!this.data.kinematics.freedoms.length) return null;
    const node = this.scene.under(this.poses, x, y);
    if (node === null || node === this.data.ground) return null;
    const pose = this.poses[node], middle = this.camera.project([pose[3], pose[7], pose[11]]);
    const near = this.anchors.filter((a) => a && Math.hypot(a.x - x, a.y - y) < 80);
    const deep = near.length ? Math.max(...near.map((a) => a.deep)) : middle[2];
    const at = this.camera.unproject(x, y, deep);
    return { node, deep, point: lie.moved(lie.inverse(pose), at) };
  }

  hover(at) {
    const ref = this.at(...at)[0] || null;
    this.canvas.style.cursor = ref ? "pointer" : "grab";
    if (ref !== this.hovered) this.bus.emit("hover", ref);
  }

  // Another click at the same place takes what lies behind.
  click(at, before) {
    const found = this.at(...at);
    const again = before && Math.hypot(at[0] - before[0], at[1] - before[1]) < 5;
    const k = again ? found.indexOf(this.chosen) + 1 : 0;
    this.bus.emit("select", found[k] || null);
  }

  key(e) {
    const turn = (dx, dy) => (e.shiftKey ? this.camera.pan(200 * dx, 200 * dy) : this.camera.orbit(dx, dy));
    const keys = {
      ArrowLeft: () => turn(-0.1, 0), ArrowRight: () => turn(0.1, 0),
      ArrowUp: () => turn(0, -0.1), ArrowDown: () => turn(0, 0.1),
      "+": () => this.camera.zoom(1.1), "-": () => this.camera.zoom(1 / 1.1),
      f: () => this.fit(), h: () => this.view("home"), 1: () => this.view("front"),
      2: () => this.view("side"), 3: () => this.view("top"), 4: () => this.view("iso"),
      Escape: () => this.bus.emit("select", null),
    };
    if (!keys[e.key]) return;
    e.preventDefault();
    keys[e.key]();
    this.redraw();
  }

  // The picture as it is, names included, as a PNG.
  image() {
    this.draw();
    const { width, height } = this.canvas, ratio = width / this.camera.size[0];
    const picture = made("canvas", { width, height }), pen = picture.getContext("2d");
    pen.drawImage(this.canvas, 0, 0);
    pen.scale(ratio, ratio);
    for (const element of this.svg.querySelectorAll("path, text")) {
      const style = getComputedStyle(element);
      if (element.tagName === "path") {
        pen.strokeStyle = style.stroke;
        pen.lineWidth = parseFloat(style.strokeWidth);
        pen.stroke(new Path2D(element.getAttribute("d") || ""));
      } else {
        pen.fillStyle = style.fill;
        pen.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
        pen.fillText(element.textContent, Number(element.getAttribute("x")), Number(element.getAttribute("y")));
      }
    }
    pen.textBaseline = "middle";
    for (const entry of this.labels.entries) {
      if (!entry.shown) continue;
      const style = getComputedStyle(entry.element), [left, top, right, bottom] = entry.shown;
      pen.fillStyle = style.backgroundColor;
      pen.fillRect(left, top, right - left, bottom - top);
      pen.fillStyle = style.color;
      pen.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
      pen.fillText(entry.text, left + parseFloat(style.paddingLeft), (top + bottom) / 2);
    }
    return picture.toDataURL("image/png");
  }
}
