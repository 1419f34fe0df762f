// Bodies, joints and redundant directions by WebGL, and what lies under a pixel.

const vertexShader = `#version 300 es
  in vec3 position; uniform mat4 body, view; uniform vec3 low, extent, lens; out vec3 seen;
  void main() {
    vec4 p = view * body * vec4(low + extent * position, 1.0);
    seen = p.xyz;
    gl_Position = vec4(p.xy * lens.xy, -p.z * lens.z, 1.0);
  }`;
const fragmentShader = `#version 300 es
  precision highp float; in vec3 seen; uniform vec4 color; uniform float flat_; out vec4 result;
  void main() {
    float light = 1.0; // lines have no normal
    if (flat_ < 1.0) {
      vec3 n = normalize(cross(dFdx(seen), dFdy(seen)));
      light = 0.5 + 0.45 * max(0.0, dot(n, normalize(vec3(-0.45, 0.75, 0.8))))
        + 0.14 * max(0.0, dot(n, normalize(vec3(0.8, -0.2, 0.5))));
      light = mix(light, 1.0, flat_);
    }
    result = vec4(min(color.rgb * light, 1.0) * color.a, color.a);
  }`;

class Scene {
  constructor(canvas, data, camera) {
    this.canvas = canvas;
    this.camera = camera;
    const gl = canvas.getContext("webgl2", { antialias: true, preserveDrawingBuffer: true });
    if (!gl) throw new Error("there is no WebGL");
    this.gl = gl;
    this.begin(data);
  }

  // All that lives in the graphics context, which may be lost and come back empty.
  begin(data) {
    const gl = this.gl, program = gl.createProgram();
    for (const [kind, source] of [[gl.VERTEX_SHADER, vertexShader], [gl.FRAGMENT_SHADER, fragmentShader]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.bindAttribLocation(program, 0, "position");
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(program));
    gl.useProgram(program);
    this.at = {};
    for (const name of ["body", "view", "low", "extent", "lens", "color", "flat_"])
      this.at[name] = gl.getUniformLocation(program, name);
    this.spot = this.pixel();
    this.data = data;
    this.hidden = this.hidden || new Set();
    this.pieces = data.pieces.map((piece) => this.uploaded(piece));
    // What can be seen through comes last.
    this.pieces.sort((a, b) => b.color[3] - a.color[3]);
    this.shapes = Object.fromEntries(Object.entries(data.glyphs).map(([k, mesh]) => [k, this.uploaded(mesh)]));
    this.grid = this.lines(data.grid);
  }

  uploaded(piece) {
    const gl = this.gl, array = gl.createVertexArray();
    const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    const corners = new Uint16Array(bytes(piece.vertices).buffer);
    gl.bindVertexArray(array);
    gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ARRAY_BUFFER, corners, gl.STATIC_DRAW);
    gl.enableVertexAttribArray(0);
    gl.vertexAttribPointer(0, 3, gl.UNSIGNED_SHORT, true, 0, 0);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, bytes(piece.faces), gl.STATIC_DRAW);
    const kind = piece.wide ? gl.UNSIGNED_INT : gl.UNSIGNED_SHORT;
    return { ...piece, array, corners, kind, mode: gl.TRIANGLES };
  }

  // A square grid through a point, across the vertical.
  lines(grid) {
    if (!grid) return null;
    const gl = this.gl, points = [], [a, b] = grid.axes;
    for (let k = -grid.count; k <= grid.count; k++)
      for (const [along, across] of [[a, b], [b, a]])
        for (const side of [-grid.count, grid.count])
          points.push(...vector.plus(
            vector.plus(grid.center, along, k * grid.step), across, side * grid.step));
    const array = gl.createVertexArray();
    gl.bindVertexArray(array);
    gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(points), gl.STATIC_DRAW);
    gl.enableVertexAttribArray(0);
    gl.vertexAttribPointer(0, 3, gl.FLOAT, false, 0, 0);
    return { array, count: points.length / 3, mode: gl.LINES, low: [0, 0, 0], size: [1, 1, 1] };
  }

  // A picture of one pixel, to read what is drawn there.
  pixel() {
    const gl = this.gl, frame = gl.createFramebuffer();
    gl.bindFramebuffer(gl.FRAMEBUFFER, frame);
    for (const [place, format] of [[gl.COLOR_ATTACHMENT0, gl.RGBA8], [gl.DEPTH_ATTACHMENT, gl.DEPTH_COMPONENT16]]) {
      const buffer = gl.createRenderbuffer();
      gl.bindRenderbuffer(gl.RENDERBUFFER, buffer);
      gl.renderbufferStorage(gl.RENDERBUFFER, format, 1, 1);
      gl.framebufferRenderbuffer(gl.FRAMEBUFFER, place, gl.RENDERBUFFER, buffer);
    }
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    return frame;
  }

  resize(width, height, ratio) {
    const [w, h] = [Math.max(1, Math.round(width * ratio)), Math.max(1, Math.round(height * ratio))];
    if (this.canvas.width !== w || this.canvas.height !== h) {
      this.canvas.width = w;
      this.canvas.height = h;
    }
    this.camera.size = [width, height];
  }

  look() {
    const gl = this.gl, { rotation: r, center: c, scale, size } = this.camera;
    const shift = r.map((row) => -vector.dot(row, c));
    gl.uniformMatrix4fv(this.at.view, false, new Float32Array([
      r[0][0], r[1][0], r[2][0], 0, r[0][1], r[1][1], r[2][1], 0, r[0][2], r[1][2], r[2][2], 0,
      ...shift, 1,
    ]));
    const deep = 8 * this.data.camera.radius + Math.hypot(...vector.plus(c, this.data.camera.center, -1));
    gl.uniform3f(this.at.lens, (2 * scale) / size[0], (2 * scale) / size[1], 1 / deep);
  }

  matrix(T) {
    return new Float32Array([
      T[0], T[4], T[8], 0, T[1], T[5], T[9], 0, T[2], T[6], T[10], 0, T[3], T[7], T[11], 1]);
  }

  put(piece, matrix, color, plain = 0) {
    const gl = this.gl;
    gl.uniformMatrix4fv(this.at.body, false, matrix);
    gl.uniform3fv(this.at.low, piece.low);
    gl.uniform3fv(this.at.extent, piece.size);
    gl.uniform4fv(this.at.color, color);
    gl.uniform1f(this.at.flat_, plain);
    gl.bindVertexArray(piece.array);
    if (piece.mode === gl.LINES) gl.drawArrays(gl.LINES, 0, piece.count);
    else gl.drawElements(gl.TRIANGLES, piece.count, piece.kind, 0);
  }

  // poses: of the nodes; marks: {color(piece) -> rgba, glyphs: [{shape, T, size, color}],
  // ghosts: [{piece, T, color}], grid: rgba}
  draw(poses, marks) {
    const gl = this.gl, bodies = poses.map((T) => this.matrix(T));
    gl.viewport(0, 0, this.canvas.width, this.canvas.height);
    gl.clearColor(...marks.paper, 1);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.enable(gl.DEPTH_TEST);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    this.look();
    const shown = this.pieces.filter((piece) => !this.hidden.has(piece.layer));
    const shade = (c, piece) => (piece.vast ? [...c.slice(0, 3), Math.min(c[3], 0.05)] : c);
    const solids = shown.filter((piece) => piece.layer !== "joints" && piece.layer !== "axes");
    const joints = shown.filter((piece) => piece.layer === "joints" || piece.layer === "axes");
    if (this.grid && !this.hidden.has("ground")) {
      gl.depthMask(false);
      this.put(this.grid, this.matrix(lie.identity()), marks.grid, 1);
    }
    for (const piece of solids) {
      const color = shade(marks.color(piece), piece);
      gl.depthMask(color[3] > 0.99);
      this.put(piece, bodies[piece.node], color);
    }
    gl.depthMask(true);
    for (const piece of joints) this.put(piece, bodies[piece.node], marks.color(piece));
    // Joints inside of bodies show through them.
    gl.depthFunc(gl.GREATER);
    gl.depthMask(false);
    for (const piece of joints) {
      const [r, g, b] = marks.color(piece);
      this.put(piece, bodies[piece.node], [r, g, b, 0.28], 1);
    }
    gl.depthFunc(gl.LESS);
    for (const { piece, T, color } of marks.ghosts) this.put(piece, this.matrix(T), color, 0.2);
    gl.depthMask(true);
    gl.clear(gl.DEPTH_BUFFER_BIT);
    for (const { shape, T, size, color } of marks.glyphs) {
      const M = this.matrix(T);
      for (const i of [0, 1, 2, 4, 5, 6, 8, 9, 10]) M[i] *= size;
      this.put(this.shapes[shape], M, color, 0.45);
    }
  }

  // The body under a point of the stage, or null; and the node that it moves with.
  pick(poses, x, y) {
    const piece = this.drawnAt(poses, x, y);
    return piece && piece.ref;
  }

  under(poses, x, y) {
    const piece = this.drawnAt(poses, x, y);
    return piece && piece.layer === "bodies" ? piece.node : null;
  }

  drawnAt(poses, x, y) {
    const gl = this.gl, ratio = this.canvas.width / this.camera.size[0];
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.spot);
    gl.viewport(-Math.round(x * ratio), Math.round(y * ratio) - this.canvas.height + 1,
      this.canvas.width, this.canvas.height);
    gl.disable(gl.BLEND);
    gl.enable(gl.DEPTH_TEST);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    this.look();
    this.pieces.forEach((piece, i) => {
      if (this.hidden.has(piece.layer) || !piece.ref || piece.vast) return;
      const id = i + 1;
      const color = [(id & 255) / 255, ((id >> 8) & 255) / 255, ((id >> 16) & 255) / 255, 1];
      this.put(piece, this.matrix(poses[piece.node]), color, 1);
    });
    const found = new Uint8Array(4);
    gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, found);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    const id = found[0] + 256 * found[1] + 65536 * found[2];
    return id ? this.pieces[id - 1] : null;
  }

  // Corners of the boxes around what makes up the mechanism, in the world.
  corners(poses) {
    const { ground } = this.data;
    const own = this.pieces.filter((p) => p.layer !== "axes" && p.layer !== "branches" && !p.vast);
    // What stands still may be a hall: the picture is of what moves, and of the joints.
    const moving = own.filter((p) => p.layer !== "bodies" || p.node !== ground);
    return (moving.length ? moving : own).flatMap((piece) => [0, 1, 2, 3, 4, 5, 6, 7].map((i) =>
      lie.moved(poses[piece.node], piece.low.map((x, k) => x + ((i >> k) & 1) * piece.size[k]))));
  }

  // Every point of the moving bodies, in the world.
  *points(poses) {
    for (const { layer, node, vast, low, size, corners } of this.pieces)
      if (layer === "bodies" && node !== this.data.ground && !vast)
        for (let i = 0; i < corners.length; i += 3)
          yield lie.moved(poses[node], low.map((x, k) => x + size[k] * corners[i + k] / 65535));
  }
}
