// Puts the parts of the page together. `regularize.page` is what other scripts may speak to:
// select(ref), pose(q) and on(event, listener).

class Page {
  constructor(root, data) {
    this.data = data;
    this.bus = new Bus();
    this.stage = new Stage(root.getElementById("stage"), data, this.bus);
    this.motion = new Motion(root.getElementById("motion"), data, this.bus);
    this.card = new Card(root.querySelector(".card"), data, this.bus, this.motion);
    this.trajectory = new Trajectory(root.getElementById("trajectory"), data, this.bus, this.motion);
    this.report = new ReportRows(root.body, this.bus);
    this.tools(root.querySelector(".tools"));
    this.stage.draw();
  }

  on(name, listener) {
    this.bus.on(name, listener);
  }

  select(ref) {
    this.bus.emit("select", ref);
  }

  pose(q) {
    this.motion.set(q);
  }

  tools(tools) {
    tools.addEventListener("click", (e) => {
      const { view, act } = e.target.dataset;
      if (view) this.stage.view(view);
      if (act === "fit") this.stage.fit();
      const download = `${document.title.split(":")[0]}.png`;
      if (act === "image") made("a", { download, href: this.stage.image() }).click();
    });
    tools.addEventListener("change", () => {
      const off = [...tools.querySelectorAll("input:not(:checked)")].flatMap((box) => box.value.split(" "));
      this.stage.scene.hidden = new Set(off);
      this.stage.redraw();
    });
    tools.hidden = false;
  }
}

function begin() {
  const data = JSON.parse(document.getElementById("scene").textContent);
  try {
    window.regularize = { page: new Page(document, data) };
  } catch (error) {
    if (error.message !== "there is no WebGL") throw error; // the flat picture stays
  }
}
begin();
