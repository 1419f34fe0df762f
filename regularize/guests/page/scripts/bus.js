// What happens on the page, so that its parts need not know each other. Events:
//   select, hover  a part by its reference, or null
//   pose           the state of the mechanism, after any motion
//   view           the camera has moved

// An element of HTML with properties and children, and one of SVG with attributes.
const made = (tag, properties, ...children) => {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
};
const drawn = (tag, attributes = {}) => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
};

// A number with so many digits, and no minus before nothing.
const digits = (x, count) => x.toFixed(count).replace(/^-(?=[0.]*$)/, "");

// A long name around the letters in which it differs from the one most like it.
const shortened = (name, names, most) => {
  if (name.length <= most) return name;
  let at = 0;
  for (const other of names) {
    let same = 0;
    while (same < name.length && other[same] === name[same]) same += 1;
    if (other !== name) at = Math.max(at, same);
  }
  const start = Math.min(Math.max(0, at - 8), name.length - most + 1), end = start + most - 2;
  return `${start > 0 ? "…" : ""}${name.slice(start, end)}${end < name.length ? "…" : ""}`;
};

class Bus {
  constructor() {
    this.listeners = new Map();
  }

  on(name, listener) {
    if (!this.listeners.has(name)) this.listeners.set(name, []);
    this.listeners.get(name).push(listener);
  }

  emit(name, detail) {
    for (const listener of this.listeners.get(name) || []) listener(detail);
  }
}

// Names of parts: joints, bodies, loops and findings by their place in the lists of the data, as
// "j3", "b0", "l1", "f2". A part touches others: a loop its bodies and joints, a finding its joints.
class Parts {
  constructor(data) {
    this.data = data;
    this.lists = { j: data.joints, b: data.bodies, l: data.loops, f: data.findings };
  }

  get(ref) {
    return ref ? this.lists[ref[0]][Number(ref.slice(1))] : null;
  }

  touched(ref) {
    if (!ref) return new Set();
    const part = this.get(ref), kind = ref[0];
    if (kind === "j") return new Set([ref, ...part.bodies]);
    if (kind === "f") {
      const found = new Set(part.refs);
      for (const other of part.refs)
        if (other[0] === "l" && part.refs.length === 1) this.touched(other).forEach((r) => found.add(r));
      return found.add(ref);
    }
    return new Set([ref, ...(part.refs || [])]);
  }
}
