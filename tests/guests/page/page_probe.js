// What tests/guests/page/test_page.py asks of every page; the answers go where a dumped page shows them.
setTimeout(async () => {
  const page = window.regularize.page, stage = page.stage, canvas = stage.canvas;
  const kinematics = page.motion.kinematics, frame = canvas.getBoundingClientRect();
  const boxes = () => stage.labels.entries.filter((e) => e.shown).map((e) => e.shown);
  const send = (kind, [x, y], where = canvas) => where.dispatchEvent(new PointerEvent(kind, {
    clientX: frame.left + x, clientY: frame.top + y, pointerId: 1, pointerType: "mouse",
    bubbles: true, buttons: kind === "pointerdown" ? 1 : 0 }));
  const click = (at) => { send("pointerdown", at); send("pointerup", at); };
  const rows = (name) => [...document.querySelectorAll("main ." + name)].map((e) => e.dataset.refs);
  const filled = () => {
    const seen = stage.scene.corners(stage.poses).map((p) => stage.camera.project(p));
    const span = (i) => Math.max(...seen.map((s) => s[i])) - Math.min(...seen.map((s) => s[i]));
    return Math.max(span(0) / stage.camera.size[0], span(1) / stage.camera.size[1]);
  };
  const pixels = () => {
    const gl = stage.scene.gl, w = canvas.width, h = canvas.height, all = new Uint8Array(4 * w * h);
    gl.readPixels(0, 0, w, h, gl.RGBA, gl.UNSIGNED_BYTE, all);
    return all;
  };
  stage.draw();
  const first = pixels(), ratio = canvas.width / stage.camera.size[0];
  const result = {
    size: stage.camera.size, labels: boxes(), names: stage.labels.entries.length,
    redundant: stage.labels.entries.filter((e) => e.cut && e.shown).length,
    cut: stage.labels.entries.filter((e) => e.cut).length,
    discs: stage.discs.map((d) => [d.x, d.y, d.r]),
    taken: [...document.querySelectorAll(".tools")].map((e) => e.getBoundingClientRect())
      .map((o) => [o.left - frame.left, o.top - frame.top, o.right - frame.left, o.bottom - frame.top]),
    crimson: stage.discs.map((d) => {
      let count = 0;
      for (let y = Math.floor(d.y - d.r); y < d.y + d.r; y++)
        for (let x = Math.floor(d.x - d.r); x < d.x + d.r; x++) {
          const i = 4 * ((canvas.height - 1 - Math.round(y * ratio)) * canvas.width + Math.round(x * ratio));
          if (first[i] > 110 && first[i] > 1.8 * first[i + 1] && first[i] > 1.4 * first[i + 2]) count++;
        }
      return count;
    }),
    globals: Object.keys(parent), filled: {}, fetched: performance.getEntriesByType("resource").length,
    wide: document.documentElement.scrollWidth > innerWidth,
  };
  for (const name of Object.keys(stage.camera.views)) { stage.view(name); result.filled[name] = filled(); }
  stage.view("home");
  stage.draw();
  // Every joint can be reached: by its name, by its point, or by clicking on through what is there.
  result.unreached = stage.anchors.filter((a) => a && a.ref && !stage.at(a.x, a.y).includes(a.ref)).length;
  result.rowless = page.data.joints.map((_, k) => "j" + k)
    .filter((ref) => !document.querySelector(`main [data-refs~="${ref}"]`)).length;
  const closing = stage.anchors.find((a, i) => a && stage.labels.entries[i].cut) || stage.anchors[0];
  if (closing) {
    send("pointermove", [closing.x, closing.y]);
    result.hovered = [stage.hovered, closing.ref, rows("hovered").length];
    click([closing.x, closing.y]);
    result.chosen = [stage.chosen, rows("chosen").length, page.card.element.textContent];
    stage.draw();
    const second = pixels();
    let changed = 0;
    for (let i = 0; i < first.length; i += 4) if (first[i] !== second[i] || first[i + 1] !== second[i + 1]) changed++;
    result.highlighted = changed / (first.length / 4);
    page.select(null);
  }
  result.bodies = [];
  for (let x = 10; x < stage.camera.size[0] && result.bodies.length < 3; x += 40)
    for (let y = 10; y < stage.camera.size[1]; y += 40) {
      const ref = stage.scene.pick(stage.poses, x, y);
      if (ref && ref[0] === "b" && !result.bodies.includes(ref)) result.bodies.push(ref);
    }
  const row = document.querySelector('main details.loop');
  if (row) {
    row.dispatchEvent(new PointerEvent("pointerover", { bubbles: true }));
    result.loop_hovered = stage.hovered;
    row.querySelector("table").click();
    result.loop_chosen = stage.chosen;
    result.loop_touches = stage.parts.touched(stage.chosen).size;
    page.select(null);
  }
  const q = page.data.kinematics.q.map((_, k) => 0.1 * (k + 1));
  result.poses = kinematics.state(q).poses;
  result.moves = page.motion.freedoms.map((freedom) => {
    const errors = [], values = [], start = page.motion.state;
    for (const share of [0.55, 0.75, 0.4, 0.5]) {
      const value = (freedom.range[0] + share * (freedom.range[1] - freedom.range[0])) * freedom.size;
      freedom.input.value = String(value);
      freedom.input.dispatchEvent(new Event("input"));
      errors.push(kinematics.error(page.motion.state));
      values.push(kinematics.apart(start, page.motion.state));
    }
    return { error: Math.max(...errors), way: Math.max(...values), bounds: freedom.bounds.textContent };
  });
  page.pose(page.data.kinematics.q);
  page.motion.search();
  result.ways = page.motion.found.map((mode) => kinematics.error(kinematics.state(mode.q)));
  result.image = stage.image().slice(0, 22);
  // A body is dragged by its joint's point, each way along the axes.
  page.pose(page.data.kinematics.q);
  result.dragged = { error: 0, way: 0 };
  const node = stage.scene.pieces.find((p) => p.layer === "bodies" && p.node !== page.data.ground).node;
  for (const i of [0, 1, 2])
    for (const sign of [-1, 1]) {
      const start = page.motion.state, at = [3, 7, 11].map((k) => start.poses[node][k]), to = at.slice();
      to[i] += 0.05 * sign * page.data.kinematics.length;
      page.motion.drag({ node, point: [0, 0, 0].map((_, k) => 0.1 * page.data.kinematics.length * (k === i ? 0 : 1)), to });
      result.dragged.error = Math.max(result.dragged.error, kinematics.error(page.motion.state));
      result.dragged.way = Math.max(result.dragged.way, kinematics.apart(start, page.motion.state));
    }
  page.pose(page.data.kinematics.q);
  const way = document.querySelector("[data-advice]");
  if (way) {
    way.dispatchEvent(new PointerEvent("pointerover", { bubbles: true }));
    result.gains = stage.gains().length;
    // Its body, where the motion begins and at the end of its way.
    result.ghosts = [0, 0.6].map((seconds) => Math.max(...stage.ghosts(seconds).map(({ piece, T }) =>
      Math.max(...T.map((x, i) => Math.abs(x - stage.poses[piece.node][i]))))));
    document.body.dispatchEvent(new PointerEvent("pointerover", { bubbles: true }));
  }
  stage.draw();
  const context = stage.scene.gl.getExtension("WEBGL_lose_context"), before = pixels();
  const wait = (time) => new Promise((done) => setTimeout(done, time));
  context.loseContext();
  await wait(100);
  result.lost = [stage.lost, stage.element.classList.contains("live")];
  context.restoreContext();
  await wait(200);
  stage.draw();
  const after = pixels();
  let differ = 0;
  for (let i = 0; i < before.length; i++) if (Math.abs(before[i] - after[i]) > 8) differ++;
  result.restored = [stage.lost, stage.element.classList.contains("live"), differ / before.length];
  document.body.dataset.result = JSON.stringify(result);
}, 900);
