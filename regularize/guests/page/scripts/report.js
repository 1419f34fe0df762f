// Rows of the report and parts of the picture, each of which shows where the other is.

class ReportRows {
  constructor(root, bus) {
    this.root = root;
    this.bus = bus;
    const ref = (e) => {
      const row = e.target.closest && e.target.closest("[data-refs]");
      return row && this.root.contains(row) ? row.dataset.refs.split(" ")[0] : null;
    };
    const way = (e) => {
      const row = e.target.closest && e.target.closest("[data-advice]");
      return row ? Number(row.dataset.advice) : null;
    };
    const preview = (e) => { if (way(e) !== this.way) bus.emit("preview", this.way = way(e)); };
    root.addEventListener("pointerover", preview);
    root.addEventListener("focusin", preview);
    root.addEventListener("pointerover", (e) => this.pass(ref(e)));
    root.addEventListener("pointerleave", () => this.pass(null));
    root.addEventListener("click", (e) => {
      if (e.target.closest("a, button, summary, input, select, output")) return;
      if (ref(e)) { this.own = true; bus.emit("select", ref(e) === this.chosen ? null : ref(e)); }
    });
    root.addEventListener("click", (e) => {
      const button = e.target.closest("[data-copy]"), code = button && button.previousElementSibling;
      if (!button) return;
      getSelection().selectAllChildren(code);
      navigator.clipboard?.writeText(code.textContent).then(() => { button.textContent = "Copied"; }, () => {});
    });
    root.addEventListener("keydown", (e) => {
      if (e.key === "Enter" && e.target.matches("[data-refs]")) bus.emit("select", ref(e));
    });
    bus.on("select", (chosen) => { this.chosen = chosen; this.mark("chosen", chosen); });
    bus.on("hover", (hovered) => this.mark("hovered", hovered));
    for (const row of this.root.querySelectorAll("[data-refs]")) row.tabIndex = 0;
  }

  pass(ref) {
    if (ref === this.over) return;
    this.over = ref;
    this.bus.emit("hover", ref);
  }

  mark(name, ref) {
    let first = null;
    for (const row of this.root.querySelectorAll("[data-refs]")) {
      const on = Boolean(ref) && row.dataset.refs.split(" ").includes(ref);
      row.classList.toggle(name, on);
      if (on && !first && row.offsetParent) first = row;
    }
    if (name === "chosen" && first && !this.own) first.scrollIntoView({ block: "nearest" });
    this.own = false;
  }
}

// What is known of the part that is chosen.
class Card {
  constructor(element, data, bus, motion) {
    this.element = element;
    this.bus = bus;
    this.motion = motion;
    this.data = data;
    this.parts = new Parts(data);
    bus.on("select", (ref) => this.show(ref));
    bus.on("pose", () => this.chosen && this.show(this.chosen));
  }

  show(ref) {
    this.chosen = ref;
    const part = this.parts.get(ref);
    this.element.hidden = !part;
    if (!part) return;
    const close = made("button", { type: "button" }, "×");
    close.setAttribute("aria-label", "Close");
    close.addEventListener("click", () => this.bus.emit("select", null));
    const lines = part.lines.map((line) => made("p", {}, line));
    if (ref[0] === "j") {
      const { names, turns, joints } = this.data.kinematics, q = this.motion.state.q;
      const values = joints.filter((joint) => joint.name === part.name).flatMap((joint) => joint.columns)
        .map((k) => `${digits(q[k] * (turns[k] ? 180 / Math.PI : 1000), 1)} ${turns[k] ? "°" : "mm"}`);
      if (values.length) lines.push(made("p", {}, `at ${values.join(", ")}`));
    }
    this.element.replaceChildren(made("strong", {}, part.title), close, ...lines);
  }
}
