// One slider for each freedom, the loops being closed on the fly; ways of assembly and branches.

class Motion {
  constructor(element, data, bus) {
    this.element = element;
    this.bus = bus;
    this.rows = element.querySelector(".freedoms");
    this.said = element.querySelector(".closure");
    this.ways = element.querySelector(".ways");
    this.branches = element.querySelector(".branches");
    this.playing = null;
    element.querySelector(".search").addEventListener("click", () => this.search());
    element.querySelector(".reset").addEventListener("click", () => this.set(this.data.kinematics.q));
    this.ways.addEventListener("change", () => this.set(this.found[this.ways.selectedIndex].q));
    this.branches.addEventListener("change", () => this.branch(this.branches.selectedIndex));
    bus.on("drag", (held) => this.drag(held));
    bus.on("dropped", () => this.measure());
    this.data = data;
    this.kinematics = new Kinematics(data.kinematics);
    this.state = this.kinematics.state(data.kinematics.q);
    this.stop();
    this.list(data.modes);
    this.branches.parentElement.hidden = data.branches.length < 2;
    this.branches.replaceChildren(...data.branches.map((branch) => new Option(branch.name)));
    element.hidden = !data.kinematics.freedoms.length && !data.modes.length;
    element.querySelector(".search").hidden = !data.kinematics.loops.length;
    this.sliders(data.branches[0]);
    this.tell();
  }

  branch(index) {
    this.sliders(this.data.branches[index]);
    this.set(this.data.branches[index].q);
  }

  // Those of a branch: freedoms that are its own, and of cells where it is the first, those of 1.
  sliders(branch) {
    const cell = (f) => this.kinematics.cellOf.get(f.column), all = this.data.kinematics.freedoms;
    const own = all.filter((f) => branch && f.branch === branch.number), cells = new Set(own.map(cell));
    const shown = all.filter((f) => !f.branch || own.includes(f) || (f.branch === 1 && !cells.has(cell(f))));
    this.freedoms = shown.map((freedom) => this.slider(freedom));
    this.rows.replaceChildren(...this.freedoms.map((freedom) => freedom.row));
    this.begin = branch ? branch.q : null;
    this.measure();
  }

  slider(freedom) {
    const { names, limits, turns, q, length, joints } = this.data.kinematics, k = freedom.column;
    const name = made("span", { className: "name" }, shortened(names[k], names, 20));
    const input = made("input", { type: "range", step: "any" }), value = made("output");
    const bounds = made("span", { className: "quiet bounds" });
    const play = made("button", { type: "button" }, "▶"), label = made("label", {}, name, input, value);
    const row = made("div", { className: "freedom" }, play, label, bounds);
    const joint = this.data.joints.findIndex((j) => j.name === this.kinematics.jointOf(k).name);
    row.dataset.refs = `j${joint}`;
    play.setAttribute("aria-label", `Play ${names[k]}`);
    const far = turns[k] ? Math.PI : 0.6 * length, [low, high] = limits[k];
    const slider = {
      ...freedom, row, input, value, play, bounds, limits: limits[k], cyclic: false,
      range: [low === null ? q[k] - far : Math.min(low, q[k]), high === null ? q[k] + far : Math.max(high, q[k])],
      unit: turns[k] ? "°" : "mm", size: turns[k] ? 180 / Math.PI : 1000,
    };
    input.addEventListener("input", () => { this.stop(); this.to(slider, Number(input.value) / slider.size); });
    input.addEventListener("change", () => this.measure(slider));
    play.addEventListener("click", () => (this.playing === slider ? this.stop() : this.play(slider)));
    return slider;
  }

  // How far each slider goes from here, where that is quickly known.
  measure(except) {
    clearTimeout(this.measuring);
    this.freedoms.forEach((freedom) => this.bound(freedom));
    if (this.data.kinematics.q.length > 150) return;
    const waiting = this.freedoms.filter((freedom) => freedom !== except).slice(0, 12);
    const next = () => {
      const freedom = waiting.shift();
      if (!freedom) return;
      this.reach(freedom);
      this.bound(freedom);
      this.measuring = setTimeout(next, 0);
    };
    this.measuring = setTimeout(next, 50);
  }

  reach(freedom) {
    const k = freedom.column;
    if (freedom.path) {
      const values = freedom.path.map((q) => q[k]);
      freedom.range = [Math.min(...values), Math.max(...values)];
      return;
    }
    const { turns, length } = this.data.kinematics, start = this.start(freedom);
    const [low, high] = freedom.limits, far = turns[k] ? 2 * Math.PI : 0.6 * length;
    const go = (value) => this.kinematics.drive(start, k, freedom.held, value, 0.15);
    const up = go(high === null ? start[k] + far : Math.max(high, start[k]));
    const home = this.kinematics.state(start);
    freedom.cyclic = turns[k] && high === null && low === null && up.reached
      && this.kinematics.apart(home, up.state) < 1e-5;
    if (freedom.cyclic) freedom.range = [start[k] - Math.PI, start[k] + Math.PI];
    else {
      const down = go(low === null ? start[k] - far : Math.min(low, start[k]));
      freedom.range = [down.state.q[k], up.state.q[k]];
      // Coordinates of ball joints come back from the other side beyond half a turn.
      if (turns[k] && freedom.range[0] > start[k]) freedom.range[0] = low === null ? -Math.PI : low;
      if (turns[k] && freedom.range[1] < start[k]) freedom.range[1] = high === null ? Math.PI : high;
    }
  }

  bound(freedom) {
    const { input, size, range, limits, unit } = freedom, say = (x) => digits(x * size, 0);
    input.min = String(range[0] * size);
    input.max = String(range[1] * size);
    input.value = String(this.state.q[freedom.column] * size);
    const words = `${say(range[0])} to ${say(range[1])} ${unit}`;
    const stated = `limits ${limits[0] === null ? "−∞" : say(limits[0])} to ${limits[1] === null ? "∞" : say(limits[1])} ${unit}`;
    const limited = limits.some((x) => x !== null);
    freedom.bounds.textContent = freedom.cyclic ? "turns all the way" : words;
    if (limited) {
      const all = limits.every((x, i) => x !== null && Math.abs(x - range[i]) < 1e-6);
      freedom.bounds.textContent = all ? stated : `${words}, ${stated}`;
    }
  }

  // Where motions meet, sliders begin on their own one.
  start(freedom) {
    const home = this.data.kinematics.q, q = this.state.q;
    return freedom.branch && this.begin && q.every((x, i) => x === home[i]) ? this.begin : q;
  }

  // Along given configurations, corrected as far as that goes.
  along(freedom, value) {
    const k = freedom.column, apart = (q) => Math.abs(q[k] - value);
    const [a, b] = freedom.path.slice().sort((p, q) => apart(p) - apart(q));
    const share = b[k] === a[k] ? 0 : Math.min(1, Math.max(0, (value - a[k]) / (b[k] - a[k])));
    const between = a.map((x, i) => x + share * (b[i] - x));
    const cell = this.kinematics.cellOf.get(k), near = this.kinematics.state(between);
    const closed = this.kinematics.close(between, cell, new Set([k, ...freedom.held]));
    this.show(closed && this.kinematics.apart(closed, near) < 0.05 ? closed : this.kinematics.state(a));
    return true;
  }

  to(freedom, value) {
    if (freedom.path) return this.along(freedom, value);
    const done = this.kinematics.drive(this.start(freedom), freedom.column, freedom.held, value);
    this.show(done.state);
    freedom.row.classList.toggle("stopped", !done.reached);
    return done.reached;
  }

  // A point of a body follows the pointer as far as the loops let it, in short steps.
  drag({ node, point, to }) {
    this.stop();
    const k = this.kinematics;
    for (let round = 0; round < 4; round++) {
      const next = k.toward(this.state, node, point, to, this.freedoms);
      if (!next) break;
      this.state = next;
    }
    this.show(this.state);
  }

  set(q) {
    this.stop();
    this.show(this.kinematics.state(q.slice()));
    this.measure();
  }

  show(state) {
    this.state = state;
    this.tell();
    this.bus.emit("pose", state);
  }

  tell() {
    for (const freedom of this.freedoms) {
      const value = this.state.q[freedom.column] * freedom.size;
      freedom.value.textContent = `${digits(value, 1)} ${freedom.unit}`;
      if (document.activeElement !== freedom.input || this.playing) freedom.input.value = String(value);
      freedom.input.setAttribute("aria-valuetext", freedom.value.textContent);
    }
    const error = this.kinematics.error(this.state);
    this.said.textContent = this.data.kinematics.loops.length
      ? `all loops closed to ${error < 1e-15 ? "rounding" : error.toExponential(0)} of their size` : "";
  }

  stop() {
    if (this.playing) this.playing.play.textContent = "▶";
    this.playing = null;
  }

  play(freedom) {
    this.stop();
    this.playing = freedom;
    freedom.play.textContent = "❚❚";
    let way = 1, before = performance.now();
    const step = (now) => {
      if (this.playing !== freedom) return;
      const passed = Math.min(0.05, Math.max(0, (now - before) / 1000));
      before = now;
      const [low, high] = freedom.range, k = freedom.column;
      let next = this.state.q[k] + (way * passed * (high - low)) / 4;
      if (!freedom.cyclic && (next >= high || next <= low)) {
        way = -way;
        next = Math.min(high, Math.max(low, next));
      }
      if (!this.to(freedom, next)) way = -way;
      else if (freedom.cyclic && Math.abs(this.state.q[k] - (low + high) / 2) > Math.PI) {
        const q = this.state.q.slice(), turn = 2 * Math.PI * Math.sign(q[k] - (low + high) / 2);
        q[k] -= turn;
        this.state = this.kinematics.state(q);
      }
      requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  }

  list(modes) {
    this.found = [{ name: "as assembled", q: this.data.kinematics.q }, ...modes];
    this.ways.replaceChildren(...this.found.map((mode) => new Option(mode.name)));
    this.ways.parentElement.hidden = this.found.length < 2;
  }

  // Other ways to assemble each cell with the sliders where they are, from random starts.
  search() {
    const k = this.kinematics, { q: home, turns, length } = this.data.kinematics;
    const found = [], states = [this.state];
    let seed = 1;
    const random = () => { seed = (seed * 16807) % 2147483647; return (2 * seed) / 2147483647 - 1; };
    for (const cell of this.data.kinematics.cells) {
      if (!cell.loops.length) continue;
      const held = new Set(this.freedoms.map((f) => f.column).filter((c) => cell.columns.includes(c)));
      for (let tries = 0; tries < 40 && found.length < 15; tries++) {
        const q = this.state.q.slice();
        for (const column of cell.columns)
          if (!held.has(column)) q[column] = turns[column] ? Math.PI * random() : home[column] + length * random();
        const state = k.close(q, cell, held, true);
        if (!state || states.some((other) => k.apart(other, state) < 1e-4)) continue;
        states.push(state);
        found.push({ name: `way ${found.length + 2}, found by search`, q: state.q });
      }
    }
    this.list(found);
    this.element.querySelector(".search").textContent = found.length
      ? "Search again" : "None found; search again";
  }
}
