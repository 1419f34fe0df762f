"use strict";
// The 3D view of a report: bodies, axes and redundant directions, and a slider through each motion.
(function () {
  const stage = document.getElementById("stage");
  const data = JSON.parse(document.getElementById("scene").textContent);
  const canvas = document.createElement("canvas");
  const gl = canvas.getContext("webgl2", { antialias: true, preserveDrawingBuffer: true });
  if (!gl) return; // the flat picture stays

  const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const vertexShader = `#version 300 es
    in vec3 position; uniform mat4 body, view; uniform vec4 lens; out vec3 seen;
    void main() {
      vec4 p = view * body * vec4(position, 1.0);
      seen = p.xyz;
      gl_Position = vec4(p.xy * lens.xy, (-p.z * lens.z - lens.w), -p.z);
    }`;
  const fragmentShader = `#version 300 es
    precision highp float; in vec3 seen; uniform vec4 color; out vec4 result;
    void main() {
      vec3 n = normalize(cross(dFdx(seen), dFdy(seen)));
      float light = 0.5 + 0.5 * max(0.0, dot(n, normalize(vec3(-0.45, 0.75, 0.8))));
      result = vec4(color.rgb * light * color.a, color.a);
    }`;
  function shader(kind, source) {
    const made = gl.createShader(kind);
    gl.shaderSource(made, source);
    gl.compileShader(made);
    if (!gl.getShaderParameter(made, gl.COMPILE_STATUS)) throw gl.getShaderInfoLog(made);
    return made;
  }
  const program = gl.createProgram();
  gl.attachShader(program, shader(gl.VERTEX_SHADER, vertexShader));
  gl.attachShader(program, shader(gl.FRAGMENT_SHADER, fragmentShader));
  gl.linkProgram(program);
  gl.useProgram(program);
  const at = (name) => gl.getUniformLocation(program, name);
  const place = { body: at("body"), view: at("view"), lens: at("lens"), color: at("color") };

  const pieces = data.pieces.map((piece) => {
    const array = gl.createVertexArray();
    gl.bindVertexArray(array);
    gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ARRAY_BUFFER, bytes(piece.vertices), gl.STATIC_DRAW);
    gl.enableVertexAttribArray(0);
    gl.vertexAttribPointer(gl.getAttribLocation(program, "position"), 3, gl.FLOAT, false, 0, 0);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
    const faces = bytes(piece.faces);
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, faces, gl.STATIC_DRAW);
    return { ...piece, array, count: faces.length / 4, shown: true };
  });
  // What can be seen through comes last.
  pieces.sort((a, b) => b.color[3] - a.color[3]);

  // Poses are seven numbers: a unit quaternion (x, y, z, w) and a place in metres.
  function matrix(p) {
    const [x, y, z, w] = p;
    return new Float32Array([
      1 - 2 * (y * y + z * z), 2 * (x * y + z * w), 2 * (x * z - y * w), 0,
      2 * (x * y - z * w), 1 - 2 * (x * x + z * z), 2 * (y * z + x * w), 0,
      2 * (x * z + y * w), 2 * (y * z - x * w), 1 - 2 * (x * x + y * y), 0,
      p[4], p[5], p[6], 1,
    ]);
  }
  function between(a, b, t) {
    const sign = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3] < 0 ? -1 : 1;
    const p = a.map((value, i) => value * (1 - t) + (i < 4 ? sign : 1) * b[i] * t);
    const norm = Math.hypot(p[0], p[1], p[2], p[3]);
    return p.map((value, i) => (i < 4 ? value / norm : value));
  }

  const poses = data.poses.map((p) => p);
  let turn = data.camera.rotation, zoom = 1, motion = null, time = 0, playing = false, way = 1;

  function pose() {
    for (let i = 0; i < poses.length; i++) poses[i] = data.poses[i];
    if (!motion) return;
    const last = motion.values.length - 1;
    const k = Math.min(Math.floor(time), last), t = time - k;
    const next = k < last ? k + 1 : motion.cyclic ? 0 : last;
    motion.nodes.forEach((node, i) => {
      poses[node] = between(motion.frames[k][i], motion.frames[next][i], t);
    });
  }

  let asked = false;
  function redraw() {
    if (asked) return;
    asked = true;
    requestAnimationFrame(draw);
  }
  function draw() {
    asked = false;
    const ratio = window.devicePixelRatio || 1;
    const width = Math.max(1, Math.round(stage.clientWidth * ratio));
    const height = Math.max(1, Math.round(stage.clientHeight * ratio));
    if (canvas.width !== width || canvas.height !== height) {
      canvas.width = width;
      canvas.height = height;
    }
    pose();
    gl.viewport(0, 0, width, height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.enable(gl.DEPTH_TEST);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    const distance = 3.6 * data.camera.radius * zoom, c = data.camera.center, r = turn;
    const shift = r.map((row) => -(row[0] * c[0] + row[1] * c[1] + row[2] * c[2]));
    const view = new Float32Array([
      r[0][0], r[1][0], r[2][0], 0, r[0][1], r[1][1], r[2][1], 0, r[0][2], r[1][2], r[2][2], 0,
      shift[0], shift[1], shift[2] - distance, 1,
    ]);
    const focus = 3.7 * Math.min(1, width / height / 1.2);
    const near = 0.02 * distance, far = distance + 40 * data.camera.radius;
    const lens = [
      (focus * height) / width, focus,
      (far + near) / (far - near), (2 * far * near) / (far - near),
    ];
    gl.uniformMatrix4fv(place.view, false, view);
    gl.uniform4fv(place.lens, lens);
    const bodies = poses.map(matrix);
    for (const piece of pieces) {
      if (!piece.shown) continue;
      gl.depthMask(piece.color[3] > 0.99);
      gl.uniformMatrix4fv(place.body, false, bodies[piece.node]);
      gl.uniform4fv(place.color, piece.color);
      gl.bindVertexArray(piece.array);
      gl.drawElements(gl.TRIANGLES, piece.count, gl.UNSIGNED_INT, 0);
    }
    gl.depthMask(true);
    // A name that would cover another one waits until there is room for it.
    const taken = [];
    for (const name of names) {
      const b = bodies[name.node], p = name.point;
      const g = [0, 1, 2].map((i) => b[i] * p[0] + b[4 + i] * p[1] + b[8 + i] * p[2] + b[12 + i]);
      const s = [0, 1, 2].map((i) => view[i] * g[0] + view[4 + i] * g[1] + view[8 + i] * g[2]
        + view[12 + i]);
      const x = 0.5 + (0.5 * s[0] * lens[0]) / -s[2], y = 0.5 - (0.5 * s[1] * lens[1]) / -s[2];
      const left = x * stage.clientWidth + 9, top = y * stage.clientHeight - 18;
      const wide = 7.5 * name.text.length;
      const covered = taken.some((o) => left < o[0] + o[2] && o[0] < left + wide
        && Math.abs(top - o[1]) < 14);
      if (!covered) taken.push([left, top, wide]);
      name.element.style.visibility = covered ? "hidden" : "visible";
      name.element.style.transform = `translate(${left.toFixed(1)}px, ${top.toFixed(1)}px)`;
    }
  }

  // Names of the joints lie over the drawing as text, so that they stay sharp and can be read out.
  const layer = document.createElement("div");
  layer.className = "names";
  const names = data.labels.map((label) => {
    const element = document.createElement("span");
    element.textContent = label.text;
    if (label.cut) element.className = "cut";
    if (label.color) element.style.color = `rgb(${label.color})`;
    layer.append(element);
    return { ...label, element };
  });
  names.sort((a, b) => Number(b.cut) - Number(a.cut));

  function rotated(axis, angle) {
    const [x, y, z] = axis, c = Math.cos(angle), s = Math.sin(angle), u = 1 - c;
    const m = [
      [c + x * x * u, x * y * u - z * s, x * z * u + y * s],
      [y * x * u + z * s, c + y * y * u, y * z * u - x * s],
      [z * x * u - y * s, z * y * u + x * s, c + z * z * u],
    ];
    turn = turn.map((row) => [0, 1, 2].map((j) => row[0] * m[0][j] + row[1] * m[1][j]
      + row[2] * m[2][j]));
    redraw();
  }
  const orbit = (dx, dy) => { rotated(data.camera.up, dx); rotated(turn[0], dy); };
  const nearer = (factor) => { zoom = Math.min(6, Math.max(0.1, zoom * factor)); redraw(); };
  const fingers = new Map();
  canvas.addEventListener("pointerdown", (e) => {
    canvas.setPointerCapture(e.pointerId);
    fingers.set(e.pointerId, e);
  });
  for (const end of ["pointerup", "pointercancel"])
    canvas.addEventListener(end, (e) => fingers.delete(e.pointerId));
  canvas.addEventListener("pointermove", (e) => {
    const before = fingers.get(e.pointerId);
    if (!before) return;
    const others = [...fingers.values()].filter((f) => f.pointerId !== e.pointerId);
    if (others.length) {
      const o = others[0], far = (f) => Math.hypot(f.clientX - o.clientX, f.clientY - o.clientY);
      nearer(far(before) / Math.max(1, far(e)));
    } else orbit(0.008 * (e.clientX - before.clientX), 0.008 * (e.clientY - before.clientY));
    fingers.set(e.pointerId, e);
  });
  canvas.addEventListener("wheel", (e) => {
    e.preventDefault();
    nearer(Math.exp(0.001 * e.deltaY));
  }, { passive: false });
  canvas.addEventListener("keydown", (e) => {
    const keys = {
      ArrowLeft: () => orbit(-0.1, 0), ArrowRight: () => orbit(0.1, 0),
      ArrowUp: () => orbit(0, -0.1), ArrowDown: () => orbit(0, 0.1),
      "+": () => nearer(0.9), "-": () => nearer(1.1),
    };
    if (keys[e.key]) { e.preventDefault(); keys[e.key](); }
  });

  const layers = document.getElementById("layers");
  layers.addEventListener("change", () => {
    const on = new Set([...layers.querySelectorAll("input:checked")].map((box) => box.value));
    for (const piece of pieces) piece.shown = on.has(piece.layer);
    layer.hidden = !on.has("names");
    redraw();
  });
  layers.hidden = false;

  const controls = document.getElementById("motion"), slider = document.getElementById("time");
  const choice = document.getElementById("driver"), play = document.getElementById("play");
  const shown = document.getElementById("value");
  function tell() {
    const k = Math.round(time) % motion.values.length;
    shown.textContent = `${motion.values[k].toFixed(1)} ${motion.unit}`;
    slider.setAttribute("aria-valuetext", `${motion.name} ${shown.textContent}`);
  }
  function go(t) {
    time = t;
    slider.value = String(t);
    tell();
    redraw();
  }
  function choose(i) {
    motion = data.motions[i];
    slider.max = String(motion.cyclic ? motion.values.length : motion.values.length - 1);
    go(motion.start);
  }
  let clock = 0;
  function step(now) {
    if (!playing) return;
    const last = Number(slider.max), passed = Math.min(0.1, (now - clock) / 1000);
    clock = now;
    let t = time + way * 20 * passed;
    if (motion.cyclic) t %= last;
    else if (t >= last || t <= 0) { way = -way; t = Math.min(last, Math.max(0, t)); }
    go(t);
    requestAnimationFrame(step);
  }
  if (data.motions.length) {
    choice.addEventListener("change", () => choose(choice.selectedIndex));
    slider.addEventListener("input", () => go(Number(slider.value)));
    play.addEventListener("click", () => {
      playing = !playing;
      play.textContent = playing ? "Pause" : "Play";
      play.setAttribute("aria-pressed", String(playing));
      clock = performance.now();
      if (playing) requestAnimationFrame(step);
    });
    choose(0);
    controls.hidden = false;
  }

  canvas.tabIndex = 0;
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", stage.dataset.label
    + ". Drag or use the arrow keys to turn it, the wheel or plus and minus to come nearer.");
  stage.append(canvas, layer);
  stage.classList.add("live");
  new ResizeObserver(redraw).observe(stage);
  draw();
})();
