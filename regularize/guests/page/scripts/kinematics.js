// The mechanism as a product of exponentials. Transforms are 12 numbers, the rows of [R | p].
// Twists are (v, w), linear part first. Everything is in metres and radians, in the world frame.

const lie = {
  identity: () => [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0],

  product(a, b) {
    const c = new Array(12);
    for (let i = 0; i < 12; i += 4)
      for (let j = 0; j < 4; j++)
        c[i + j] = a[i] * b[j] + a[i + 1] * b[4 + j] + a[i + 2] * b[8 + j] + (j === 3 ? a[i + 3] : 0);
    return c;
  },

  inverse(a) {
    const p = [a[3], a[7], a[11]], c = new Array(12);
    for (let i = 0; i < 3; i++) {
      for (let j = 0; j < 3; j++) c[4 * i + j] = a[4 * j + i];
      c[4 * i + 3] = -(a[i] * p[0] + a[4 + i] * p[1] + a[8 + i] * p[2]);
    }
    return c;
  },

  cross: (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]],

  turned: (T, v) => [0, 4, 8].map((i) => T[i] * v[0] + T[i + 1] * v[1] + T[i + 2] * v[2]),
  turnedBack: (T, v) => [0, 1, 2].map((i) => T[i] * v[0] + T[4 + i] * v[1] + T[8 + i] * v[2]),
  moved: (T, v) => [0, 4, 8].map((i) => T[i] * v[0] + T[i + 1] * v[1] + T[i + 2] * v[2] + T[i + 3]),

  // The twist of frame b in frame a, given T_a_b.
  adjoint(T, s) {
    const v = lie.turned(T, s), w = lie.turned(T, s.slice(3));
    const moment = lie.cross([T[3], T[7], T[11]], w);
    return [v[0] + moment[0], v[1] + moment[1], v[2] + moment[2], ...w];
  },

  exp(s, q = 1) {
    const v = [s[0] * q, s[1] * q, s[2] * q], w = [s[3] * q, s[4] * q, s[5] * q];
    const angle = Math.hypot(...w), small = angle < 1e-4;
    const a = small ? 1 - angle ** 2 / 6 : Math.sin(angle) / angle;
    const b = small ? 0.5 - angle ** 2 / 24 : (1 - Math.cos(angle)) / angle ** 2;
    const c = small ? 1 / 6 - angle ** 2 / 120 : (angle - Math.sin(angle)) / angle ** 3;
    const T = new Array(12), wv = lie.cross(w, v), wwv = lie.cross(w, wv);
    const W = [0, -w[2], w[1], w[2], 0, -w[0], -w[1], w[0], 0];
    for (let i = 0; i < 3; i++) {
      for (let j = 0; j < 3; j++)
        T[4 * i + j] = (i === j ? 1 - b * angle ** 2 : 0) + a * W[3 * i + j] + b * w[i] * w[j];
      T[4 * i + 3] = v[i] + b * wv[i] + c * wwv[i];
    }
    return T;
  },

  log(T) {
    let w = [T[9] - T[6], T[2] - T[8], T[4] - T[1]].map((x) => x / 2);
    const sine = Math.hypot(...w), cosine = (T[0] + T[5] + T[10] - 1) / 2;
    let angle = Math.atan2(sine, cosine);
    if (cosine < -0.9) {
      // Near half a turn the sine says little: take the longest column of R + R' + (1 - tr R) 1.
      const d = [0, 1, 2].map((i) => 2 * T[5 * i] + 1 - (T[0] + T[5] + T[10]));
      const k = d.indexOf(Math.max(...d));
      const u = [0, 1, 2].map((i) => (i === k ? d[k] : T[4 * i + k] + T[4 * k + i]));
      const size = Math.hypot(...u), sign = w[k] < 0 ? -1 : 1;
      w = u.map((x) => (sign * angle * x) / size);
    } else if (sine > 1e-9) w = w.map((x) => (x * angle) / sine);
    angle = Math.hypot(...w);
    const p = [T[3], T[7], T[11]], wp = lie.cross(w, p), wwp = lie.cross(w, wp);
    const f = angle < 1e-3 ? 1 / 12 + angle ** 2 / 720
      : 1 / angle ** 2 - Math.cos(angle / 2) / (2 * angle * Math.sin(angle / 2));
    return [...p.map((x, i) => x - wp[i] / 2 + f * wwp[i]), ...w];
  },
};

class Kinematics {
  constructor(data) {
    this.data = data;
    this.units = data.turns.map((turns) => (turns ? 1 : data.length));
    this.back = data.joints.map((joint) => lie.inverse(joint.after));
    this.cellOf = new Map();
    data.cells.forEach((cell) => cell.columns.forEach((column) => this.cellOf.set(column, cell)));
    const alone = (column) => ({ columns: this.jointOf(column).columns, loops: [], couplings: [] });
    data.q.forEach((_, k) => this.cellOf.has(k) || this.cellOf.set(k, alone(k)));
  }

  jointOf(column) {
    return this.data.joints.find((joint) => joint.columns.includes(column));
  }

  // Motion of a joint, and of the frame in which each of its screws is constant.
  jointMotion(joint, q) {
    if (joint.group) {
      const twist = [0, 1, 2, 3, 4, 5].map((i) =>
        joint.columns.reduce((sum, column, k) => sum + q[column] * joint.screws[k][i], 0));
      const T = lie.exp(twist);
      return [T, joint.columns.map(() => T)];
    }
    let T = lie.identity();
    const carried = joint.columns.map((column, k) => {
      const before = T;
      T = lie.product(T, lie.exp(joint.screws[k], q[column]));
      return before;
    });
    return [T, carried];
  }

  state(q) {
    const { nodes, joints, tree, loops } = this.data;
    const poses = Array.from({ length: nodes }, lie.identity);
    const motions = joints.map((joint) => this.jointMotion(joint, q));
    for (const [edge, from, to] of tree) {
      const joint = joints[edge];
      const step = lie.product(lie.product(joint.before, motions[edge][0]), this.back[edge]);
      poses[to] = lie.product(poses[from], joint.child === to ? step : lie.inverse(step));
    }
    const screws = new Array(q.length);
    joints.forEach((joint, e) => {
      const frame = lie.product(poses[joint.parent], joint.before);
      joint.columns.forEach((column, k) => {
        screws[column] = lie.adjoint(lie.product(frame, motions[e][1][k]), joint.screws[k]);
      });
    });
    // What is left open at the closing joint of each loop, as a twist.
    const gaps = loops.map((loop) => {
      const joint = joints[loop.joint];
      const frame = lie.product(lie.product(poses[joint.parent], joint.before), motions[loop.joint][0]);
      return lie.log(lie.product(lie.product(poses[joint.child], joint.after), lie.inverse(frame)));
    });
    return { q, poses, screws, gaps };
  }

  // Largest closure error of the six equations of every loop, implied ones included, lengths in
  // sizes of the loop; and of the couplings.
  error(state) {
    let worst = 0;
    this.data.loops.forEach((loop, i) => {
      const seen = this.onCut(state, loop, state.gaps[i]);
      worst = Math.max(worst, ...seen.map(Math.abs));
    });
    for (const row of this.data.couplings)
      if (!row.implied) worst = Math.max(worst, Math.abs(this.coupled(row, state.q)));
    return worst;
  }

  onCut(state, loop, twist) {
    const frame = lie.inverse(lie.product(state.poses[loop.node], loop.frame));
    const seen = lie.adjoint(frame, twist);
    return seen.map((x, i) => (i < 3 ? x / loop.length : x));
  }

  coupled(row, q) {
    const size = Math.hypot(...row.coefficients) || 1;
    return row.columns.reduce((sum, _, k) => sum + this.term(row, k, q)[0], -row.offset) / size;
  }

  // Value and slope of a coupling's term; the last one may be a function in polynomial pieces.
  term({ columns, coefficients, curve }, k, q) {
    const x = q[columns[k]];
    if (!curve || k < columns.length - 1) return [coefficients[k] * x, coefficients[k]];
    const piece = curve.breaks.filter((end) => end <= x).length;
    const d = x - curve.origins[piece];
    return curve.pieces[piece].reduceRight(([value, slope], c) => [value * d + c, slope * d + value], [0, 0]);
  }

  // Rows and errors of a cell's equations on its coordinates, held ones left out.
  equations(state, cell, free, every) {
    const rows = [], errors = [];
    const place = new Map(free.map((column, i) => [column, i]));
    for (const index of cell.loops) {
      const loop = this.data.loops[index];
      const covectors = [...loop.kept, ...loop.own, ...(every ? loop.implied : [])];
      const gap = this.onCut(state, loop, state.gaps[index]);
      const around = loop.signs.filter(([column]) => place.has(column)).map(([column, sign]) => [
        place.get(column), this.onCut(state, loop, state.screws[column]), sign * this.units[column],
      ]);
      const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);
      for (const covector of covectors) {
        const row = new Float64Array(free.length);
        for (const [i, seen, size] of around) row[i] += size * dot(covector, seen);
        rows.push(row);
        errors.push(dot(covector, gap));
      }
    }
    for (const index of cell.couplings) {
      const coupling = this.data.couplings[index];
      if (every && coupling.implied) continue;
      const row = new Float64Array(free.length), size = Math.hypot(...coupling.coefficients) || 1;
      coupling.columns.forEach((column, k) => {
        const slope = this.term(coupling, k, state.q)[1];
        if (place.has(column)) row[place.get(column)] += (slope * this.units[column]) / size;
      });
      rows.push(row);
      errors.push(this.coupled(coupling, state.q));
    }
    return { rows, errors };
  }

  integrate(q, change) {
    const next = q.slice();
    for (const joint of this.data.joints) {
      if (!joint.group) {
        for (const column of joint.columns) next[column] += change[column] || 0;
      } else if (joint.columns.some((column) => change[column])) {
        const twist = (x) => [0, 1, 2, 3, 4, 5].map((i) =>
          joint.columns.reduce((sum, column, k) => sum + (x[column] || 0) * joint.screws[k][i], 0));
        const moved = lie.log(lie.product(lie.exp(twist(q)), lie.exp(twist(change))));
        joint.columns.forEach((column, k) => {
          next[column] = joint.screws[k].reduce((sum, x, i) => sum + x * moved[i], 0);
        });
      }
    }
    return next;
  }

  // Newton's method on the kept rows of one cell with some coordinates held; null where it fails.
  close(q, cell, held, every = false) {
    const free = cell.columns.filter((column) => !held.has(column));
    let last = Infinity;
    for (let round = 0; round < 20; round++) {
      const state = this.state(q);
      const { rows, errors } = this.equations(state, cell, free, every);
      const worst = errors.reduce((most, x) => Math.max(most, Math.abs(x)), 0);
      if (worst < 1e-11) break;
      if (!(worst < 10) || !free.length || (round > 5 && worst > 0.7 * last)) return null;
      last = worst;
      const step = shortest(rows, errors);
      if (!step) return null;
      const change = {};
      free.forEach((column, i) => { change[column] = -step[i] * this.units[column]; });
      q = this.integrate(q, change);
    }
    const state = this.state(q);
    if (!(this.error(state) < 1e-8)) return every ? null : this.close(q, cell, held, true);
    return state;
  }

  // Moves one coordinate to a value, the held ones staying where they are, or where that is not
  // possible at all, going along as little as they need. Returns the last state that closes, and
  // whether it got there.
  drive(q, column, held, value, longest = 0.1) {
    const begin = this.state(q), found = this.follow(begin, column, held, value, longest);
    const way = Math.abs(found.state.q[column] - q[column]) / this.units[column];
    if (found.reached || way > 0.01 || !held.length) return found;
    return this.follow(begin, column, [], value, longest);
  }

  // In steps that are short enough not to jump to another way of assembly.
  follow(state, column, held, value, longest) {
    const cell = this.cellOf.get(column), unit = this.units[column];
    let step = longest;
    for (let tries = 0; tries < 200; tries++) {
      const left = (value - state.q[column]) / unit;
      if (Math.abs(left) < 1e-12) return { state, reached: true };
      const by = Math.sign(left) * Math.min(Math.abs(left), step);
      const start = state.q.slice();
      start[column] = Math.abs(left) <= step ? value : start[column] + by * unit;
      const next = this.close(start, cell, new Set([column, ...held]));
      const far = next ? this.apart(state, next, cell) : Infinity;
      if (far > Math.max(0.35, 1.5 * Math.abs(by))) {
        step = Math.abs(by) / 2;
        if (step < 1e-4) return { state, reached: false };
        continue;
      }
      state = next;
      step = Math.min(longest, 1.6 * step);
    }
    return { state, reached: false };
  }

  // A closed state with a point of a body nearer to where it should be; null where there is none.
  // Of all velocities that the loops allow, those that take the point there, damped: the rows of
  // the loops, and three of the point, are solved together.
  toward(state, node, point, to, freedoms) {
    const at = lie.moved(state.poses[node], point), miss = vector.plus(to, at, -1);
    const far = Math.hypot(...miss);
    if (far < 1e-4 * this.data.length) return null;
    const cells = [...new Set([...this.cellOf.values()])], free = cells.flatMap((cell) => cell.columns);
    const limits = new Map(freedoms.map((f) => [f.column, f.limits]));
    const moved = this.pathOf(node);
    const rows = [], errors = [];
    for (const cell of cells) {
      const own = this.equations(state, cell, free, true);
      rows.push(...own.rows);
      errors.push(...own.errors.map((x) => -x));
    }
    const step = Math.min(1, (0.1 * this.data.length) / far);
    for (let i = 0; i < 3; i++) {
      const row = new Float64Array(free.length);
      free.forEach((column, j) => {
        const sign = moved.get(column);
        if (!sign) return;
        const s = state.screws[column], w = lie.cross(s.slice(3), at);
        row[j] = (sign * this.units[column] * (s[i] + w[i])) / this.data.length;
      });
      rows.push(row);
      errors.push((step * miss[i]) / this.data.length);
    }
    const found = shortest(rows, errors, (i) => (i >= rows.length - 3 ? 0.0004 : 0));
    if (!found) return null;
    let q = state.q;
    for (let share = 1; share > 0.05; share /= 2) {
      const change = {};
      free.forEach((column, j) => { change[column] = share * found[j] * this.units[column]; });
      q = this.integrate(state.q, change);
      for (const cell of cells) {
        const closed = cell.loops.length || cell.couplings.length ? this.close(q, cell, new Set()) : null;
        if (closed) q = closed.q;
      }
      const stays = [...limits].every(([c, [low, high]]) => (low === null || q[c] >= low) && (high === null || q[c] <= high));
      const next = this.state(q), gone = vector.plus(to, lie.moved(next.poses[node], point), -1);
      if (stays && this.error(next) < 1e-8 && Math.hypot(...gone) < far) return next;
    }
    return null;
  }

  // Signs of the columns that move a node in the tree.
  pathOf(node) {
    const found = new Map(), up = new Map();
    for (const [edge, from, to] of this.data.tree) up.set(to, [edge, from]);
    for (let at = node; up.has(at); at = up.get(at)[1]) {
      const joint = this.data.joints[up.get(at)[0]], sign = joint.child === at ? 1 : -1;
      for (const column of joint.columns) found.set(column, sign);
    }
    return found;
  }

  // Largest turn of a body between two states, or way in sizes of the mechanism.
  apart(a, b) {
    let most = 0;
    a.poses.forEach((pose, i) => pose.forEach((x, k) => {
      most = Math.max(most, Math.abs(x - b.poses[i][k]) / (k % 4 === 3 ? this.data.length : 1));
    }));
    return most;
  }
}

// The shortest solution of rows x = errors, dependent rows allowed: Cholesky factors of the Gram
// matrix with a trace of damping; with more of it rows count less where they ask for much.
function shortest(rows, errors, more = () => 0) {
  const m = rows.length, n = m ? rows[0].length : 0;
  const G = Array.from({ length: m }, () => new Float64Array(m));
  let largest = 0;
  for (let i = 0; i < m; i++)
    for (let j = 0; j <= i; j++) {
      let sum = 0;
      for (let k = 0; k < n; k++) sum += rows[i][k] * rows[j][k];
      G[i][j] = sum;
      if (i === j) largest = Math.max(largest, sum);
    }
  for (let i = 0; i < m; i++) {
    G[i][i] += 1e-13 * largest + 1e-300 + more(i);
    for (let j = 0; j <= i; j++) {
      let sum = G[i][j];
      for (let k = 0; k < j; k++) sum -= G[i][k] * G[j][k];
      if (i === j) {
        if (!(sum > 0)) return null;
        G[i][i] = Math.sqrt(sum);
      } else G[i][j] = sum / G[j][j];
    }
  }
  const y = Float64Array.from(errors);
  for (let i = 0; i < m; i++) {
    for (let k = 0; k < i; k++) y[i] -= G[i][k] * y[k];
    y[i] /= G[i][i];
  }
  for (let i = m - 1; i >= 0; i--) {
    for (let k = i + 1; k < m; k++) y[i] -= G[k][i] * y[k];
    y[i] /= G[i][i];
  }
  const x = new Float64Array(n);
  for (let i = 0; i < m; i++) for (let k = 0; k < n; k++) x[k] += y[i] * rows[i][k];
  return x;
}
