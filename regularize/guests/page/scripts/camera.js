// A parallel projection: rows right, up and back of the rotation, a point in the middle of the
// picture and a scale in pixels per metre.

const vector = {
  dot: (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2],
  plus: (a, b, k = 1) => a.map((x, i) => x + k * b[i]),
  unit: (a) => { const n = Math.hypot(...a) || 1; return a.map((x) => x / n); },
};

class Camera {
  constructor(data) {
    this.up = data.up;
    this.rotation = data.rotation;
    this.center = data.center;
    this.scale = 100;
    this.size = [300, 200];
    const first = Math.abs(this.up[0]) < 0.9 ? [1, 0, 0] : [0, 1, 0];
    const e2 = vector.unit(lie.cross(this.up, first)), e1 = lie.cross(e2, this.up);
    const eye = vector.unit(vector.plus(vector.plus(e1, e2, -1), this.up));
    const right = vector.unit(lie.cross(this.up, eye));
    this.views = {
      home: data.rotation,
      front: [e1, this.up, lie.cross(e1, this.up)],
      side: [e2, this.up, e1],
      top: [e1, e2, this.up],
      iso: [right, lie.cross(eye, right), eye],
    };
  }

  // Place on the screen in pixels, and depth in metres, larger in front.
  project(point) {
    const d = vector.plus(point, this.center, -1), r = this.rotation;
    return [
      this.size[0] / 2 + this.scale * vector.dot(r[0], d),
      this.size[1] / 2 - this.scale * vector.dot(r[1], d),
      vector.dot(r[2], d),
    ];
  }

  // The point at a pixel, so deep.
  unproject(x, y, deep) {
    const [right, up, back] = this.rotation;
    let point = vector.plus(this.center, right, (x - this.size[0] / 2) / this.scale);
    point = vector.plus(point, up, (this.size[1] / 2 - y) / this.scale);
    return vector.plus(point, back, deep);
  }

  turn(axis, angle) {
    const T = lie.exp([0, 0, 0, ...axis], angle);
    this.rotation = this.rotation.map((row) => lie.turnedBack(T, row));
  }

  orbit(dx, dy) {
    this.turn(this.up, dx);
    this.turn(this.rotation[0], dy);
  }

  pan(dx, dy) {
    this.center = vector.plus(this.center, this.rotation[0], -dx / this.scale);
    this.center = vector.plus(this.center, this.rotation[1], dy / this.scale);
  }

  // Nearer by a factor, the point under a pixel staying where it is.
  zoom(factor, x = this.size[0] / 2, y = this.size[1] / 2) {
    const dx = x - this.size[0] / 2, dy = y - this.size[1] / 2;
    this.pan(-dx, -dy);
    this.scale *= factor;
    this.pan(dx, dy);
  }

  // All points in the picture, with margins in pixels: left, top, right, bottom.
  fit(points, margins) {
    if (!points.length) return;
    const seen = points.map((p) => this.rotation.map((row) => vector.dot(row, p)));
    const low = [0, 1, 2].map((i) => Math.min(...seen.map((s) => s[i])));
    const high = [0, 1, 2].map((i) => Math.max(...seen.map((s) => s[i])));
    const [left, top, right, bottom] = margins;
    const room = [this.size[0] - left - right, this.size[1] - top - bottom];
    const wide = Math.max(high[0] - low[0], 1e-9), tall = Math.max(high[1] - low[1], 1e-9);
    this.scale = Math.min(room[0] / wide, room[1] / tall);
    this.center = [0, 0, 0];
    for (let i = 0; i < 3; i++)
      this.center = vector.plus(this.center, this.rotation[i], (low[i] + high[i]) / 2);
    this.pan((left - right) / 2, (top - bottom) / 2);
  }

  // Nearer, until what moves takes two fifths of the frame's width or height; within its margins.
  near(points, [left, top, right, bottom]) {
    const low = [Infinity, Infinity], high = [-Infinity, -Infinity];
    for (const point of points)
      this.project(point).slice(0, 2).forEach((x, i) => {
        low[i] = Math.min(low[i], x);
        high[i] = Math.max(high[i], x);
      });
    const span = [0, 1].map((i) => high[i] - low[i]), { size } = this;
    const share = Math.max(span[0] / size[0], span[1] / size[1]);
    if (share > 0.42 || !(span[0] > 0)) return;
    const rest = [size[0] - left - right, size[1] - top - bottom];
    const still = [left, top].map((edge, i) => low[i] + (low[i] - edge) * span[i] / Math.max(rest[i] - span[i], 1));
    this.zoom(0.42 / share, ...still);
  }
}
