// A simulated motion: played in its own time, with plots that follow and can be clicked.

class Trajectory {
  constructor(element, data, bus, motion) {
    this.bus = bus;
    this.motion = motion;
    this.slider = element.querySelector("input");
    this.button = element.querySelector("button");
    this.value = element.querySelector("output");
    this.plots = element.querySelector(".plots");
    this.slider.addEventListener("input", () => this.to(Number(this.slider.value)));
    this.button.addEventListener("click", () => this.play(!this.playing));
    this.bus.on("select", (ref) => this.plots.querySelectorAll("[data-refs]").forEach((line) =>
      line.classList.toggle("chosen", line.dataset.refs === ref)));
    this.data = data.trajectory;
    element.hidden = !this.data;
    if (!this.data) return;
    const { time, coordinates } = this.data;
    this.slider.max = String(time[time.length - 1]);
    this.slider.min = String(time[0]);
    const { names, turns } = data.kinematics;
    const line = (k) => ({
      name: names[k], values: coordinates.map((q) => q[k] * (turns[k] ? 180 / Math.PI : 1000)),
      ref: `j${data.joints.findIndex((j) => j.name === this.motion.kinematics.jointOf(k).name)}`,
    });
    const moving = names.map((_, k) => k).filter((k) => coordinates.some((q) => q[k] !== coordinates[0][k]));
    const angles = moving.filter((k) => turns[k]).slice(0, 8), ways = moving.filter((k) => !turns[k]).slice(0, 8);
    if (angles.length) this.plot("angles, °", angles.map(line));
    if (ways.length) this.plot("positions, mm", ways.map(line));
    const drift = this.data.energy.map((x) => x - this.data.energy[0]);
    this.plot("drift of energy, J", [{ name: "energy", values: drift }]);
    this.plot("closure error", [{ name: "closure", values: this.data.closure }]);
    this.to(time[0]);
  }

  plot(title, lines) {
    const { time } = this.data, wide = 320, tall = 90;
    const low = Math.min(...lines.flatMap((l) => l.values)), high = Math.max(...lines.flatMap((l) => l.values));
    const x = (t) => ((t - time[0]) / (time[time.length - 1] - time[0])) * wide;
    const y = (v) => tall - ((v - low) / (high - low || 1)) * tall;
    const svg = drawn("svg", {
      viewBox: `-2 -2 ${wide + 4} ${tall + 4}`, preserveAspectRatio: "none", role: "img", "aria-label": title,
    });
    lines.forEach((line, i) => {
      const d = line.values.map((v, k) => `${k ? "L" : "M"}${x(time[k]).toFixed(1)} ${y(v).toFixed(1)}`).join("");
      const path = svg.appendChild(drawn("path", { d, class: `line-${i % 6}` }));
      if (line.ref) path.dataset.refs = line.ref;
    });
    svg.append(drawn("path", { class: "cursor" }));
    svg.addEventListener("pointerdown", (e) => {
      const box = svg.getBoundingClientRect();
      this.play(false);
      this.to(time[0] + ((e.clientX - box.left) / box.width) * (time[time.length - 1] - time[0]));
    });
    const number = (v) => Number(v.toPrecision(3));
    const words = made("p", {}, `${title}: ${number(low)} to ${number(high)} `);
    if (lines.length > 1 || lines[0].ref)
      lines.forEach((line, i) => {
        const name = made("span", { className: `legend line-${i % 6}` }, line.name);
        name.dataset.refs = line.ref;
        words.append(name, " ");
      });
    this.plots.append(made("div", {}, words, svg));
    (this.cursors = this.plots.querySelectorAll(".cursor")).forEach((c) => { c.draw = (t) =>
      c.setAttribute("d", `M${x(t).toFixed(1)} 0V${tall}`); });
  }

  to(t) {
    const { time, coordinates } = this.data;
    let k = time.findIndex((x) => x >= t);
    if (k < 0) k = time.length - 1;
    const a = coordinates[Math.max(0, k - 1)], b = coordinates[k], from = time[Math.max(0, k - 1)];
    const share = time[k] > from ? (t - from) / (time[k] - from) : 1;
    this.now = t;
    this.slider.value = String(t);
    this.value.textContent = `${t.toFixed(2)} s`;
    this.cursors.forEach((cursor) => cursor.draw(t));
    this.bus.emit("forces", this.data.forces[k]);
    this.motion.stop();
    this.motion.show(this.motion.kinematics.state(a.map((x, i) => x + share * (b[i] - x))));
  }

  play(on) {
    this.playing = on;
    this.button.textContent = on ? "Pause" : "Play";
    if (!on) return;
    let before = performance.now();
    const { time } = this.data, last = time[time.length - 1];
    const step = (now) => {
      if (!this.playing) return;
      const t = this.now + (now - before) / 1000;
      before = now;
      this.to(t > last ? time[0] : t);
      requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  }
}
